"""The catalog, which knows no torch, names what the networks of training take."""

import pytest

from clipgnn.experiments.catalog import MODELS
from clipgnn.training.models import NETWORKS


@pytest.mark.parametrize("name", sorted(NETWORKS.keys() - {"clip"}))
def test_the_catalog_knows_the_parameters_of(name: str) -> None:
    assert set(MODELS[name].parameters) == set(NETWORKS[name].parameters)
    assert MODELS[name].trained
