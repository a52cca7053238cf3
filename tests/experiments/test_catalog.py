"""The catalog: the data sets and published tables that exist."""

from clipgnn.datasets.registry import DATASET_NAMES
from clipgnn.experiments import catalog
from clipgnn.report.published import PAPER_NUMBERS


def test_the_catalog_knows_the_data_sets():
    assert set(catalog.DATASETS) == set(DATASET_NAMES)


def test_the_catalog_knows_the_tables_of_the_paper():
    assert set(catalog.PUBLISHED) == set(PAPER_NUMBERS)
