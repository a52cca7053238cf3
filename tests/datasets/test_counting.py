"""The counting tasks: sizes, targets and names."""

from typing import Any

import pytest
import torch

from clipgnn.datasets import load_dataset, substructure_counts
from clipgnn.datasets.pairs import canonical_forms
from clipgnn.datasets.substructures import SUBSTRUCTURES
from clipgnn.errors import InvalidParameterError
from clipgnn.parameters.datasets import COUNTING_TASKS


def test_sizes_and_targets() -> None:
    graphs = load_dataset("substructure-counts")
    assert len(graphs) == 5000
    assert graphs.node_pointers.diff().unique().tolist() == [10]
    assert graphs.edge_index.shape[1] / (5000 * 90) == pytest.approx(0.3, abs=0.005)
    assert graphs.targets.shape == (5000, 7)
    assert torch.allclose(graphs.targets.std(0, correction=0), torch.ones(7))


def test_every_name_has_one_column_of_the_same_graphs() -> None:
    everything = load_dataset("substructure-counts", seed=3)
    assert list(COUNTING_TASKS.values()) == [*SUBSTRUCTURES, None]
    for column, name in enumerate(SUBSTRUCTURES):
        graphs = load_dataset(f"count-{name}", seed=3)
        assert graphs.name == f"count-{name}"
        assert torch.equal(graphs.edge_index, everything.edge_index)
        assert torch.equal(graphs.targets, everything.targets[:, column])
    assert not torch.equal(everything.edge_index, load_dataset("count-stars").edge_index)


def test_targets_are_multiples_of_a_count() -> None:
    graphs = substructure_counts(num_graphs=50, num_nodes=6, probability=0.5, substructure="stars")
    degree = torch.bincount(graphs.global_edge_index[0], minlength=300).view(50, 6)
    counts = (degree * (degree - 1) * (degree - 2) // 6).sum(1).double()
    torch.testing.assert_close(graphs.targets.double(), counts / counts.std(correction=0))


def test_all_seeds_have_the_scale_of_seed_0() -> None:
    first, other = load_dataset("count-triangles"), load_dataset("count-triangles", seed=1)
    unit = first.targets[first.targets > 0].min()  # of one triangle
    counts = (other.targets / unit).double()
    torch.testing.assert_close(counts, counts.round(), rtol=0, atol=1e-5)
    assert counts.round().int().unique()[:3].tolist() == [0, 1, 2]
    assert float(other.targets.std(correction=0)) == pytest.approx(1, abs=0.03)
    assert not torch.equal(first.edge_index, other.edge_index)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"substructure": "triangle"}, "Did you mean 'triangles'"),
        ({"substructure": 3}, "substructure must be one of"),
        ({"num_graphs": 0}, "num_graphs must be an integer of at least 1"),
        ({"num_nodes": True}, "num_nodes must be an integer of at least 1"),
        ({"probability": 1.5}, "probability must be a number from 0 to 1. Got 1.5"),
        ({"probability": 0.0}, "different numbers of triangles. Got 0 for each of 5000"),
        ({"seed": -1}, "seed must be an integer from 0"),
    ],
)
@pytest.mark.usefixtures("without_shape_checks")
def test_parameters_that_cannot_be(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        substructure_counts(**parameters)


@pytest.mark.slow
@pytest.mark.needs("igraph")
def test_few_fresh_graphs_are_known() -> None:
    """The number in docs/substructures.md."""
    known, fresh = (canonical_forms(load_dataset("count-stars", seed=seed)) for seed in (0, 1))
    distinct = set(known)
    assert sum(form in distinct for form in fresh) == 365
