"""The catalog: the published tables that exist."""

from clipgnn.experiments import catalog
from clipgnn.report.published import PAPER_NUMBERS


def test_the_catalog_knows_the_tables_of_the_paper():
    assert set(catalog.PUBLISHED) == set(PAPER_NUMBERS)
