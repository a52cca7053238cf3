"""Colorings of schemes that are stored with a data set."""

from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch

from clipgnn import CLIP, PackedGraphs
from clipgnn.coloring import Scheme, with_colorings
from clipgnn.errors import InvalidColoringError, InvalidGraphError, InvalidParameterError
from clipgnn.parameters import Recipe
from clipgnn.training import ModelSpec, Split, train


def rings() -> PackedGraphs:
    """One ring, or two, of equal numbers of nodes."""
    graphs = [nx.cycle_graph(nodes) for nodes in range(6, 12)]
    graphs += [
        nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(nodes - 3)) for nodes in range(6, 12)
    ]
    return PackedGraphs.from_networkx(graphs, y=[0] * 6 + [1] * 6)


@pytest.mark.needs("igraph")
def test_a_training_with_stored_canonical_colorings_is_the_same(tmp_path: Path) -> None:
    graphs = rings()
    with_colorings(graphs, "canonical").save(tmp_path / "rings")
    stored = PackedGraphs.open(tmp_path / "rings").load()
    split = [Split(train=range(0, 12, 2), test=range(1, 12, 2))]
    curves = []
    for own, coloring in ((graphs, "canonical"), (stored, "precomputed")):
        size = {"num_colorings": 1, "hidden_channels": 8, "num_layers": 2}
        spec = ModelSpec("clip", {**size, "coloring": coloring})
        [trained] = train(own, spec, Recipe(epochs=3), split, [0])
        curves.append((trained.history.train_loss, trained.model.predict(own)))
    assert curves[0][0] == curves[1][0]
    assert torch.equal(curves[0][1], curves[1][1])


@pytest.mark.parametrize("coloring", ["random", "refined", "individualized"])
def test_random_colorings_are_those_of_predict(coloring: str) -> None:
    graphs = rings()
    network = CLIP.from_graphs(graphs, coloring=coloring, num_colorings=3, hidden_channels=8)
    network.eval()
    stored = with_colorings(graphs, coloring, 3, seed=5)
    assert stored.colorings is not None
    assert stored.colorings.shape == (3, graphs.x.shape[0])
    expected = network.predict(graphs, seed=5)
    batch = (graphs.x, graphs.global_edge_index, graphs.graph_of_node)
    torch.testing.assert_close(network(*batch, colorings=stored.colorings), expected)
    other = with_colorings(graphs, coloring, 3, seed=6).colorings
    assert other is not None
    assert not torch.equal(stored.colorings, other)


@pytest.mark.parametrize(
    ("coloring", "k", "message"),
    [
        ("all", 2, r"Every graph must have k=2 colorings\. Got 720"),
        ("random", 0, "k must be an integer from 1"),
        ("precomputed", 1, "Choose another scheme to compute them"),
        pytest.param("canonical", 2, "with k=1", marks=pytest.mark.needs("igraph")),
    ],
)
def test_other_numbers_of_colorings(coloring: str | Scheme, k: int, message: str) -> None:
    with pytest.raises(InvalidColoringError, match=message):
        with_colorings(rings().subset(torch.tensor([0, 6])), coloring, k)


@pytest.mark.parametrize(("coloring", "k"), [("all", 6), ("orbits", 3)])
@pytest.mark.needs("igraph")
def test_all_graphs_must_have_the_number_of_colorings(coloring: str, k: int) -> None:
    """Paths of 3 and 2 nodes have 6 and 2 colorings, and half as many classes of them."""
    paths = PackedGraphs.from_networkx([nx.path_graph(3), nx.path_graph(2)])
    with pytest.raises(InvalidColoringError, match=rf"must have k={k} colorings\. Got {k // 3} "):
        with_colorings(paths, coloring, k)
    alone = with_colorings(paths.subset(torch.tensor([0])), coloring, k)
    assert alone.colorings is not None
    assert alone.colorings.shape == (k, 3)


def test_unknown_schemes_and_seeds() -> None:
    with pytest.raises(InvalidParameterError, match="Did you mean 'random'"):
        with_colorings(rings(), "ramdom")
    with pytest.raises(InvalidParameterError, match="seed"):
        with_colorings(rings(), "random", seed=-1)


@pytest.mark.usefixtures("without_shape_checks")
def test_graphs_on_disk_are_refused(tmp_path: Path) -> None:
    rings().save(tmp_path / "rings")
    stored: Any = PackedGraphs.open(tmp_path / "rings")
    with pytest.raises(InvalidGraphError, match=r"Got StoredGraphs\..*load\(\) of graphs on disk"):
        with_colorings(stored, "random")
