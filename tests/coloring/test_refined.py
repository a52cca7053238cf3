"""Colorings by color refinement."""

from typing import Any

import networkx as nx
import pytest
import torch
from tests.coloring.invariant_examples import atlas, colored_graphs, relabeled

from clipgnn import CLIP, PackedGraphs
from clipgnn.coloring import refined
from clipgnn.coloring.individualized import Individualized
from clipgnn.coloring.labeling import canonical_colors
from clipgnn.coloring.precomputed import All
from clipgnn.coloring.refined import Refined, stable_colors
from clipgnn.coloring.stream import AllColorings
from clipgnn.graphs.exact import ExactBatch
from clipgnn.ops.numbering import order_rows


def test_numbers_of_colorings() -> None:
    """A path has pairs of nodes that 1-WL does not distinguish, and a cycle only such nodes."""
    asymmetric = nx.Graph([(0, 1), (1, 2), (2, 3), (1, 3), (3, 4), (4, 5)])
    graphs = [nx.path_graph(5), nx.cycle_graph(4), nx.star_graph(3), asymmetric]
    batch = PackedGraphs.from_networkx(graphs).to_batch()
    assert Refined().partition(batch).exact_counts() == [4, 24, 6, 1]


def test_rows_are_ordered_lexicographically() -> None:
    x = torch.tensor([[1.0, 2.0], [0.0, 3.0], [1.0, -0.0], [1.0, 0.0], [0.0, 3.0]])
    assert order_rows(x).tolist() == [2, 0, 1, 1, 0]
    assert order_rows(torch.tensor([5, 3, 5])).tolist() == [0, 1, 0]


def test_stable_colors_do_not_depend_on_the_order_of_nodes() -> None:
    batch = atlas(6).to_batch()
    other, number = relabeled(batch, 0)
    assert torch.equal(stable_colors(other)[number], stable_colors(batch))


def all_colored_graphs(batch: ExactBatch) -> list[set[Any]]:
    stream = AllColorings(Refined().partition(batch))
    found: list[set[Any]] = [set() for _ in range(batch.num_graphs)]
    for colors in stream.all():
        for own, graph in zip(found, colored_graphs(batch, colors), strict=True):
            own.add(graph)
    return found


def test_isomorphic_graphs_have_the_same_colorings_and_others_different_ones() -> None:
    batch = atlas(4).to_batch()
    found = all_colored_graphs(batch)
    assert all_colored_graphs(relabeled(batch, 1)[0]) == found
    everything = [graph for own in found for graph in own]
    assert len(everything) == len(set(everything))


def test_the_maximum_over_all_refined_colorings_is_invariant() -> None:
    batch = atlas(5).to_batch()
    model = CLIP(1, 3, num_colors=5, hidden_channels=8).double().eval()
    outputs = []
    for own in (batch, relabeled(batch, 2)[0]):
        colorings = AllColorings(Refined().partition(own)).all()
        outputs.append(model(own.x, own.edge_index, own.graph_of_node, colorings=colorings))
    assert torch.allclose(outputs[0], outputs[1], rtol=0, atol=1e-12)


def test_colorings_are_valid_for_all() -> None:
    """Refined colorings are some of all colorings, Eq. (4)."""
    batch = PackedGraphs.from_networkx([nx.path_graph(5)]).to_batch()
    everything = {tuple(own) for own in AllColorings(All().partition(batch)).all().tolist()}
    some = {tuple(own) for own in AllColorings(Refined().partition(batch)).all().tolist()}
    assert some < everything
    assert len(some) == 4


def test_refinement_of_long_paths_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colors that are not stable are valid too: they do not depend on the order of the nodes."""
    monkeypatch.setattr(refined, "MAX_ROUNDS", 2)
    batch = PackedGraphs.from_networkx([nx.path_graph(9), nx.cycle_graph(4)]).to_batch()
    assert Refined().partition(batch).exact_counts() == [2 * 2 * 120, 24]
    other, number = relabeled(batch, 0)
    assert torch.equal(stable_colors(other)[number], stable_colors(batch))
    for scheme in (Individualized(), Refined()):
        [drawn] = scheme.stream(batch, scheme.partition(batch), 1, None).all()
        assert drawn[:9].sort().values.tolist() == [*range(9)]


@pytest.mark.needs("igraph")
def test_canonical_colorings_need_no_stable_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = PackedGraphs.from_networkx([nx.path_graph(9), nx.cycle_graph(5)]).to_batch()
    monkeypatch.setattr(refined, "MAX_ROUNDS", 1)
    other, _ = relabeled(batch, 0)
    first, second = (colored_graphs(own, canonical_colors(own)) for own in (batch, other))
    assert first == second
