"""Canonical colorings: complete, and independent of the order of nodes and edges."""

import itertools
import sys
import threading
import warnings
from collections.abc import Iterator

import networkx as nx
import pytest
import torch
from tests.coloring.invariant_examples import atlas, colored_graphs, relabeled

from clipgnn import CLIP, PackedGraphs
from clipgnn.coloring import labeling
from clipgnn.coloring.labeling import canonical_colors
from clipgnn.errors import MissingDependencyError
from clipgnn.graphs.exact import ExactBatch

pytestmark = pytest.mark.needs("igraph")

Pairs = list[tuple[int, int]]
Values = list[float] | None


@pytest.fixture(autouse=True)
def without_cached_graphs() -> Iterator[None]:
    labeling._caches.clear()
    yield
    labeling._caches.clear()


def test_the_atlas() -> None:
    """Relabeled graphs give the same colored graph, and different graphs different ones."""
    batch = atlas(6).to_batch()
    expected = colored_graphs(batch, canonical_colors(batch))
    assert len(set(expected)) == 208
    for seed in range(3):
        other, _ = relabeled(batch, seed)
    expected = colored_graphs(batch, canonical_colors(batch))
    assert colored_graphs(other, canonical_colors(other)) == expected


def test_graphs_that_differ_in_the_direction_of_one_edge() -> None:
    cyclic, other = [[0, 1, 2], [1, 2, 0]], [[0, 1, 0], [1, 2, 2]]
    found = [
        colored_graphs(batch, canonical_colors(batch))
        for batch in (
            ExactBatch.from_tensors(torch.ones(3, 1), torch.tensor(edges))
            for edges in (cyclic, other)
        )
    ]
    assert found[0] != found[1]


def test_outputs_do_not_depend_on_the_order_of_nodes() -> None:
    batch = atlas(5).to_batch()
    model = CLIP(1, 3, coloring="canonical", num_colors=5, hidden_channels=8).double().eval()
    outputs = [
        model(own.x, own.edge_index, own.graph_of_node) for own in (batch, relabeled(batch, 4)[0])
    ]
    assert torch.allclose(outputs[0], outputs[1], rtol=0, atol=1e-12)
    distances = torch.cdist(outputs[0], outputs[0]).fill_diagonal_(1.0)
    assert float(distances.min().detach()) > 1e-6


def test_a_graph_is_labeled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = atlas(5).to_batch()
    expected = canonical_colors(batch)

    def check_nothing_is_missing(_: object, given: list[object]) -> list[object]:
        assert not given
        return []

    monkeypatch.setattr(labeling, "_apply", check_nothing_is_missing)
    assert torch.equal(canonical_colors(batch), expected)


def test_processes_give_the_same_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = atlas(5).to_batch()
    expected = canonical_colors(batch)
    labeling._caches.clear()
    monkeypatch.setattr(labeling, "PARALLEL_FROM", 1)
    monkeypatch.setattr(labeling, "UNLIMITED_VERTICES", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # loky, about resources of other processes
        assert torch.equal(canonical_colors(batch), expected)
        labeling._caches.clear()
        found = []
        thread = threading.Thread(target=lambda: found.append(canonical_colors(batch)))
        thread.start()
        thread.join()
    assert torch.equal(found[0], expected)


def test_a_time_limit_is_followed_by_a_coloring_and_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Latin square graph takes longer than the limit; the triangle beside it does not."""
    n = 24
    cells = [(i, j) for i in range(n) for j in range(n)]
    latin = nx.Graph(
        (a, b)
        for a, b in itertools.combinations(cells, 2)
        if a[0] == b[0] or a[1] == b[1] or sum(a) % n == sum(b) % n
    )
    batch = PackedGraphs.from_networkx([nx.complete_graph(3), latin]).to_batch()
    monkeypatch.setattr(labeling, "TIME_LIMIT", 0.002)
    with pytest.warns(UserWarning, match=r"1 graph \(number 1\) took more than 0.002 s"):
        colors = canonical_colors(batch)
    assert sorted(colors[3:].tolist()) == list(range(n * n))
    assert sorted(colors[:3].tolist()) == [0, 1, 2]


def test_without_igraph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs whose nodes 1-WL distinguishes do not need it."""
    monkeypatch.setitem(sys.modules, "igraph", None)
    model = CLIP(1, 2, coloring="canonical", num_colors=8, hidden_channels=4).eval()
    asymmetric = nx.Graph([(0, 1), (1, 2), (2, 3), (1, 3), (3, 4), (4, 5)])
    known = PackedGraphs.from_networkx([asymmetric]).to_batch()
    model(known.x, known.edge_index)
    cycle = PackedGraphs.from_networkx([nx.cycle_graph(4)]).to_batch()
    with pytest.raises(MissingDependencyError, match=r"clipgnn\[canonical\]"):
        model(cycle.x, cycle.edge_index)
