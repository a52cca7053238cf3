"""A fingerprint changes with all that a network reads of a data set, and with nothing else."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from clipgnn.graphs.packed import PackedGraphs

GRAPHS = PackedGraphs(
    name="two",
    x=torch.tensor([0, 1, 1, 0, 0]),
    in_channels=2,
    edge_index=torch.tensor([[0, 1, 1, 2, 0, 1], [1, 0, 2, 1, 1, 0]]),
    node_pointers=torch.tensor([0, 3, 5]),
    edge_pointers=torch.tensor([0, 4, 6]),
    y=torch.tensor([0, 1]),
    edge_attr=torch.arange(12.0).view(6, 2),
)


def test_it_is_the_same_on_every_machine() -> None:
    """The first one is that of the version that had no weights, graph attributes and colorings."""
    assert GRAPHS.fingerprint == "5630ad9e2607d15c"
    assert CHANGES["weights"](GRAPHS).fingerprint == "1ed2ebeb17f1f3ad"


def test_names_devices_and_strides_change_nothing() -> None:
    assert GRAPHS.edge_attr is not None
    strided = GRAPHS.edge_attr.t().contiguous().t()
    assert not strided.is_contiguous()
    assert replace(GRAPHS, name="other", edge_attr=strided).fingerprint == GRAPHS.fingerprint
    assert GRAPHS.to("cpu").fingerprint == GRAPHS.fingerprint


CHANGES: dict[str, Callable[[PackedGraphs], PackedGraphs]] = {
    "a label": lambda graphs: replace(graphs, x=torch.tensor([0, 1, 1, 0, 1])),
    "channels": lambda graphs: replace(graphs, in_channels=3),
    "an edge": lambda graphs: replace(graphs, edge_index=graphs.edge_index.flip(1)),
    "a node's graph": lambda graphs: replace(
        graphs,
        edge_index=torch.tensor([[0, 1, 1, 0, 0, 1], [1, 0, 0, 1, 1, 0]]),
        node_pointers=torch.tensor([0, 2, 5]),
    ),
    "the same nodes": lambda graphs: replace(
        graphs, edge_index=torch.tensor([[0, 1, 1, 0, 0, 1], [1, 0, 0, 1, 1, 0]])
    ),
    "an edge's graph": lambda graphs: replace(
        graphs,
        edge_index=torch.tensor([[0, 1, 1, 0, 0, 1], [1, 0, 0, 1, 1, 0]]),
        edge_pointers=torch.tensor([0, 2, 6]),
    ),
    "a target": lambda graphs: replace(graphs, y=torch.tensor([1, 0])),
    "kind of targets": lambda graphs: replace(graphs, y=graphs.targets.double()),
    "an edge attribute": lambda graphs: replace(
        graphs, edge_attr=torch.arange(12.0).view(2, 6).t()
    ),
    "shape of attributes": lambda graphs: replace(graphs, edge_attr=torch.arange(6.0).view(6, 1)),
    "precision": lambda graphs: replace(graphs, edge_attr=torch.arange(12.0).view(6, 2).bfloat16()),
    "no attributes": lambda graphs: replace(graphs, edge_attr=None),
    "no targets": lambda graphs: replace(graphs, y=None),
    "neither": lambda graphs: replace(graphs, edge_attr=None, y=None),
    "weights": lambda graphs: replace(graphs, edge_weight=torch.ones(6)),
    "a weight": lambda graphs: replace(graphs, edge_weight=torch.arange(6.0)),
    "graph attributes": lambda graphs: replace(graphs, graph_attr=torch.ones(2, 3)),
    "attributes of the size of weights": lambda graphs: replace(
        graphs, graph_attr=torch.ones(2, 3), edge_weight=torch.ones(6)
    ),
    "colorings": lambda graphs: replace(graphs, colorings=torch.zeros(1, 5).long()),
    "a color": lambda graphs: replace(graphs, colorings=torch.tensor([[0, 0, 1, 0, 0]])),
    "two colorings": lambda graphs: replace(graphs, colorings=torch.zeros(2, 5).long()),
}


def test_every_part_of_the_content_changes_it() -> None:
    changed = [change(GRAPHS).fingerprint for change in CHANGES.values()]
    assert len({GRAPHS.fingerprint, *changed}) == len(CHANGES) + 1


@pytest.mark.gpu
def test_it_is_the_same_on_a_gpu() -> None:
    assert GRAPHS.to("cuda").fingerprint == GRAPHS.fingerprint
