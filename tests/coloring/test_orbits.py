"""Orbits: the maximum of ∞-CLIP with |Aut| times fewer colorings."""

import math
import random
import sys
from dataclasses import replace

import networkx as nx
import pytest
import torch
from tests.coloring.invariant_examples import atlas, batch_of, colored_graphs, random_graph

from clipgnn import CLIP, PackedGraphs
from clipgnn.coloring import labeling, orbits
from clipgnn.coloring.orbits import NumberedColorings, Orbits
from clipgnn.coloring.precomputed import All
from clipgnn.coloring.stream import AllColorings
from clipgnn.errors import MissingDependencyError, TooManyColoringsError
from clipgnn.training import ModelSpec, Recipe, Split, train

pytestmark = pytest.mark.needs("igraph")


def test_the_maximum_is_that_of_all_colorings() -> None:
    """On all graphs of up to 6 nodes."""
    graphs = atlas(6)
    torch.manual_seed(0)
    model = CLIP(1, 4, num_colors=6, hidden_channels=8, num_layers=2).double().eval()
    arguments = (graphs.x, graphs.global_edge_index, graphs.graph_of_node)
    with torch.no_grad():
        everything = model.embed(*arguments, coloring="all")
        assert torch.allclose(
            model.embed(*arguments, coloring="orbits"), everything, rtol=0, atol=1e-12
        )


def test_one_coloring_of_each_class() -> None:
    """As many as |C| / |Aut|, and no two of them give the same colored graph."""
    graphs = atlas(5)
    batch = graphs.to_batch()
    partition = Orbits().partition(batch)
    stream = Orbits().stream(batch, partition, 1, None)
    for number, own in enumerate(stream.counts.tolist()):
        graph = graphs[number].to_networkx()[0]
        matcher = nx.isomorphism.GraphMatcher(nx.Graph(graph), nx.Graph(graph))
        automorphisms = sum(1 for _ in matcher.isomorphisms_iter())
        assert own == math.factorial(len(graph)) // automorphisms
        keep = torch.arange(len(graphs)) == number
        edges = graphs[number].edge_index
        colored = {
            tuple(sorted(map(tuple, colors[edges].t().tolist())))
            for colors in stream.part(keep, 0, own)
        }
        assert len(colored) == own


def test_attributes_restrict_automorphisms() -> None:
    """The ends of a path exchange their colors only if their attributes are equal."""
    counts = []
    for last in (1.0, 2.0):
        graph = nx.path_graph(3)
        nx.set_node_attributes(graph, {0: 1.0, 1: 1.0, 2: last}, "size")
        batch = PackedGraphs.from_networkx([graph]).to_batch()
        stream = Orbits().stream(batch, Orbits().partition(batch), 1, None)
        counts.append(stream.counts.tolist())
    assert counts == [[3], [2]]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("attributes", [False, True])
def test_classes_of_directed_graphs_with_weights_and_attributes(
    weighted: bool, attributes: bool
) -> None:
    """Colorings of different classes are different colored graphs, and all of those that exist."""
    generator = random.Random(1)
    given = [random_graph(generator, most_nodes=4) for _ in range(60)]
    batch = batch_of(given, weighted=weighted, attributes=attributes)
    partition = Orbits().partition(batch)
    orbits, everything = Orbits().stream(batch, partition, 1, None), AllColorings(partition)
    classes = zip(*(colored_graphs(batch, own) for own in orbits.all()), strict=True)
    colored = zip(*(colored_graphs(batch, own) for own in everything.all()), strict=True)
    for count, own, expected in zip(orbits.counts.tolist(), classes, colored, strict=True):
        assert len(set(own[:count])) == count
        assert set(own) == set(expected)
    assert bool((orbits.counts < everything.counts).any())


@pytest.mark.parametrize(
    ("both_directions", "values", "count"),
    [
        (True, [1.0, 1.0, 1.0, 1.0], 3),
        (False, [1.0, 1.0, 1.0, 1.0], 6),
        (True, [1.0, 2.0, 1.0, 2.0], 6),
        (False, [1.0, 2.0, 1.0, 2.0], 12),
        (True, [1.0, 1.0, 1.0, 2.0], 12),
        (False, [1.0, 1.0, 1.0, 2.0], 24),
    ],
)
@pytest.mark.parametrize("kind", ["weighted", "attributes"])
def test_numbers_of_classes_of_a_cycle(
    kind: str, both_directions: bool, values: list[float], count: int
) -> None:
    """Rotations and reflections that keep the directions and values of the edges of a square."""
    edges = [(node, (node + 1) % 4) for node in range(4)]
    if both_directions:
        edges, values = edges + [(target, source) for source, target in edges], 2 * values
    options = {"weighted": kind == "weighted", "attributes": kind == "attributes"}
    batch = batch_of([([0] * 4, edges, values, values)], **options)
    stream = Orbits().stream(batch, Orbits().partition(batch), 1, None)
    assert stream.counts.tolist() == [count]


def test_random_classes() -> None:
    """Every class of each graph is drawn, and graphs are drawn by themselves."""
    graphs = PackedGraphs.from_networkx([nx.path_graph(3), nx.star_graph(3), nx.path_graph(3)])
    batch = graphs.to_batch()
    stream = Orbits().stream(batch, Orbits().partition(batch), 1, None)
    drawn = stream.sample(100, torch.Generator().manual_seed(0))
    parts = graphs.node_pointers.diff().tolist()
    assert stream.counts.tolist() == [3, 4, 3]
    for own, classes in zip(drawn.split(parts, 1), stream.all().split(parts, 1), strict=True):
        assert set(map(tuple, own.tolist())) == set(map(tuple, classes.tolist()))
    assert not torch.equal(drawn[:, :3], drawn[:, 7:])
    again = stream.sample(100, torch.Generator().manual_seed(0))
    assert torch.equal(again, drawn)


def test_training_equals_that_with_all_colorings() -> None:
    graphs = atlas(4)
    graphs = replace(graphs, y=torch.arange(len(graphs)) % 2)
    losses = []
    for scheme in (All.name, Orbits.name):
        spec = ModelSpec(
            "clip", {"coloring": scheme, "hidden_channels": 4, "num_layers": 1, "norm": None}
        )
        split = [Split(range(len(graphs) - 2), [len(graphs) - 2, len(graphs) - 1])]
        [trained] = train(graphs, spec, Recipe(epochs=3, batch_size=8), split, [0])
        losses.append(torch.tensor(trained.history.train_loss))
    assert torch.allclose(losses[0], losses[1], atol=1e-5)


def test_graphs_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    large = PackedGraphs.from_networkx([nx.cycle_graph(12)]).to_batch()
    with pytest.raises(TooManyColoringsError, match=r'479,001,600\. Use coloring="canonical"'):
        Orbits().stream(large, Orbits().partition(large), 1, None)
    graphs = PackedGraphs.from_networkx([nx.cycle_graph(8)])
    with pytest.raises(TooManyColoringsError, match=r"1,024 classes .* has 2,520"):
        Orbits().sampler(graphs, Orbits().partition(graphs.to_batch()))
    monkeypatch.setattr(labeling, "_computed", lambda *_: [None])
    small = PackedGraphs.from_networkx([nx.cycle_graph(5)]).to_batch()
    with pytest.raises(TooManyColoringsError, match="not found within"):
        Orbits().stream(small, Orbits().partition(small), 1, None)


def test_classes_are_counted_before_they_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of ten nodes has up to 3,628,800 of them."""

    def fail(*arguments: object) -> None:
        raise AssertionError("computed")

    monkeypatch.setattr(orbits, "_representatives", fail)
    graphs = PackedGraphs.from_networkx([nx.cycle_graph(3), nx.cycle_graph(10)])
    with pytest.raises(TooManyColoringsError, match="Graph 1 has 181,440"):
        Orbits().sampler(graphs, Orbits().partition_of(graphs))


def test_graphs_without_automorphisms_use_all_colorings() -> None:
    """Their numbers are not stored, beside those of graphs with automorphisms."""
    asymmetric = nx.Graph([(0, 1), (1, 2), (2, 3), (1, 3), (3, 4), (4, 5)])
    graphs = [nx.cycle_graph(4), asymmetric, nx.path_graph(3)]
    batch = PackedGraphs.from_networkx(graphs).to_batch()
    stream = NumberedColorings.of(batch, Orbits().partition(batch))
    assert stream.counts.tolist() == [3, 720, 3]
    assert stream.numbers.numel() == 6
    drawn = stream.all()
    for number, count in enumerate((3, 720, 3)):
        own = drawn[:, batch.graph_of_node == number]
        assert len({tuple(colors) for colors in own.tolist()}) == count


def test_too_large_graphs_of_predictions_have_their_number_in_the_data_set() -> None:
    graphs = PackedGraphs.from_networkx([nx.path_graph(2)] * 5 + [nx.cycle_graph(11)])
    for coloring in ("orbits", "all"):
        model = CLIP(1, 2, coloring=coloring, num_colors=11, hidden_channels=4)
        with pytest.raises(TooManyColoringsError, match="Graph 5 has 39,916,800"):
            model.predict(graphs, batch_size=2)


def test_without_igraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    graphs = PackedGraphs.from_networkx([nx.cycle_graph(4)])
    model = CLIP(1, 2, coloring="orbits", num_colors=4, hidden_channels=4)
    for call in (lambda: Orbits().check_training(graphs), lambda: model.predict(graphs)):
        labeling._caches.clear()
        with pytest.raises(MissingDependencyError, match=r"clipgnn\[canonical\]"):
            call()
