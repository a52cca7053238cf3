"""Canonical colorings: complete, and independent of the order of nodes and edges."""

import itertools
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import networkx as nx
import pytest
import torch
from tests.coloring.invariant_examples import (
    Given,
    atlas,
    batch_of,
    canonical_graphs,
    colored_graphs,
    random_graph,
    relabeled,
)

from clipgnn import CLIP, PackedGraphs
from clipgnn.coloring import bliss, labeling
from clipgnn.coloring.labeling import canonical_colors
from clipgnn.coloring.refined import stable_colors
from clipgnn.coloring.structures import Integers, Structure, structures
from clipgnn.errors import MissingDependencyError
from clipgnn.graphs.exact import ExactBatch
from clipgnn.training import ModelSpec, Recipe, Split, train

pytestmark = pytest.mark.needs("igraph")


@pytest.fixture(autouse=True)
def without_cached_graphs() -> Iterator[None]:
    labeling._caches.clear()
    labeling._late.clear()
    yield
    labeling._caches.clear()
    labeling._late.clear()


def test_the_atlas() -> None:
    """Relabeled graphs give the same colored graph, and different graphs different ones."""
    assert len(set(canonical_graphs(atlas(6).to_batch()))) == 208


def test_strongly_regular_graphs() -> None:
    """The rook's graph and Shrikhande's, which have the same parameters."""
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    steps = [(0, 1), (1, 0), (1, 1)]
    shrikhande = nx.Graph(
        ((i, j), ((i + a) % 4, (j + b) % 4)) for i in range(4) for j in range(4) for a, b in steps
    )
    batch = PackedGraphs.from_networkx([rook, shrikhande]).to_batch()
    first, second = colored_graphs(batch, canonical_colors(batch))
    assert first != second
    other, _ = relabeled(batch, 1)
    assert colored_graphs(other, canonical_colors(other)) == [first, second]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("attributes", [False, True])
def test_directions_weights_attributes_loops_and_parallel_edges(
    weighted: bool, attributes: bool
) -> None:
    """Relabeled, and alone instead of in a batch, each graph is the same colored graph."""
    generator = random.Random(0)
    given = [random_graph(generator) for _ in range(300)]
    batch = batch_of(given, weighted=weighted, attributes=attributes)
    expected = colored_graphs(batch, canonical_colors(batch))
    for seed in range(2):
        other, _ = relabeled(batch, seed)
        assert colored_graphs(other, canonical_colors(other)) == expected
    for graph, colored in zip(given[:60], expected, strict=False):
        alone = batch_of([graph], weighted=weighted, attributes=attributes)
        assert colored_graphs(alone, canonical_colors(alone)) == [colored]


@pytest.mark.parametrize("attributes", [False, True])
def test_loops_of_isolated_nodes(attributes: bool) -> None:
    """Only the weights or attributes of their loops distinguish the two nodes."""
    found = set()
    for first, second in itertools.permutations([1.0, 2.0]):
        loops: Given = ([0, 0], [(0, 0), (1, 1)], [first, second], [first, second])
        batch = batch_of([loops], weighted=not attributes, attributes=attributes)
        found.update(colored_graphs(batch, canonical_colors(batch)))
    assert len(found) == 1


@pytest.mark.parametrize(
    "edges", [[(1, 0), (2, 0)], [(2, 0), (2, 1)], [(0, 1), (1, 2)], [(0, 1), (1, 0), (0, 2)]]
)
def test_every_order_of_nodes_of_small_weighted_directed_graphs(
    edges: list[tuple[int, int]],
) -> None:
    """Alone in a batch, where few classes of edges exist, and some in one direction only."""
    found = set()
    for order in itertools.permutations(range(3)):
        renumbered = torch.tensor([[order[a], order[b]] for a, b in edges]).t()
        weight = torch.arange(1.0, len(edges) + 1)
        batch = ExactBatch.from_tensors(torch.zeros(3, dtype=torch.int64), renumbered, None, weight)
        found.update(colored_graphs(batch, canonical_colors(batch)))
    assert len(found) == 1


def test_many_different_weights() -> None:
    """More pairs of classes than bliss has colors."""
    count, nodes = 60_000, 10
    generator = torch.Generator().manual_seed(0)
    node = torch.arange(count)
    edges = torch.stack([node, node + 1 - nodes * ((node + 1) % nodes == 0)])
    weight = torch.rand(count, generator=generator)
    batch = ExactBatch.from_tensors(
        torch.zeros(count, dtype=torch.int64), edges, node // nodes, weight
    )
    assert canonical_colors(batch.subset(node[: count // nodes] < 3)).tolist()
    colors = structures(batch, torch.zeros(count, dtype=torch.int64))
    assert max(int(own.colors.max()) for own in colors) < 2 * nodes + 1


def test_labels_and_one_hot_rows_have_the_same_colors() -> None:
    generator = random.Random(1)
    batch = batch_of([random_graph(generator) for _ in range(50)], weighted=False, attributes=False)
    one_hot = replace(batch, x=torch.nn.functional.one_hot(batch.x, 2).float())
    assert torch.equal(canonical_colors(one_hot), canonical_colors(batch))
    assert torch.equal(stable_colors(one_hot), stable_colors(batch))


def test_attributes_without_channels() -> None:
    batch = atlas(4).to_batch()
    empty = replace(batch, x=torch.zeros(batch.num_nodes, 0))
    assert torch.equal(canonical_colors(empty), canonical_colors(batch))


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


@pytest.mark.slow
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


def test_the_limit_is_one_of_cpu_time() -> None:
    """Other programs that use the machine do not change which graphs are labeled."""

    def work() -> str:
        began = time.thread_time()
        while time.thread_time() - began < 0.2:
            pass
        return "done"

    def wait() -> str:
        time.sleep(0.05)
        return "done"

    assert bliss._within(0.01, wait) == "done"
    assert bliss._within(0.01, work) is None
    assert bliss._within(5.0, work) == "done"


@pytest.mark.parametrize("daemon", [False, True])
def test_threads_label_large_graphs_in_processes(
    monkeypatch: pytest.MonkeyPatch, daemon: bool
) -> None:
    """Only the main thread can limit the time; daemonic processes cannot start others."""
    sizes: list[int] = []

    def in_processes(compute: Any, given: list[Structure]) -> list[Any]:
        sizes.extend(own.num_nodes for own in given)
        return [compute(own, 10.0) for own in given]

    graphs = [nx.cycle_graph(5), nx.cycle_graph(201), nx.cycle_graph(200)]
    batch = PackedGraphs.from_networkx(graphs).to_batch()
    expected = canonical_colors(batch)
    labeling._caches.clear()
    monkeypatch.setattr(labeling, "_in_processes", in_processes)
    process = SimpleNamespace(daemon=daemon)
    monkeypatch.setattr("multiprocessing.current_process", lambda: process)
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(canonical_colors, batch).result()
    assert torch.equal(found, expected)
    assert sizes == ([] if daemon else [201])


def test_graphs_that_take_too_long_are_colored_from_their_first_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nodes at equal distances from the first one have consecutive colors; others are as usual."""
    hexagons = []
    for order in ([0, 3, 1, 4, 2, 5], [2, 4, 3, 0, 5, 1]):
        hexagon: nx.Graph[int] = nx.empty_graph(6)
        nx.add_cycle(hexagon, order)
        hexagons.append(hexagon)
    given = [hexagons[0], nx.cycle_graph(4), nx.empty_graph(1), hexagons[1], nx.star_graph(3)]
    batch = PackedGraphs.from_networkx(given).to_batch()
    usual = canonical_colors(batch)
    labeling._caches.clear()

    def canonical_order(structure: Structure, limit: float) -> Integers | None:
        return None if structure.num_nodes == 6 else bliss.canonical_order(structure, limit)

    monkeypatch.setattr(labeling, "canonical_order", canonical_order)
    with pytest.warns(UserWarning, match=r"2 graphs \(number 0 and 3\) took more than 10 s"):
        colors = canonical_colors(batch)
    for number, graph in enumerate(given):
        own = colors[batch.graph_of_node == number].tolist()
        if len(graph) < 6:
            assert own == usual[batch.graph_of_node == number].tolist()
            continue
        distance = nx.single_source_shortest_path_length(graph, 0)
        ordered = [distance[node] for node in sorted(graph, key=own.__getitem__)]
        blocks = [block for block, _ in itertools.groupby(ordered)]
        assert sorted(blocks) == [0, 1, 2, 3]


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graphs that were labeled first are labeled again."""
    monkeypatch.setattr(labeling, "CACHED_GRAPHS", 3)
    graphs = PackedGraphs.from_networkx([nx.cycle_graph(size) for size in range(3, 8)])
    expected = canonical_colors(graphs.to_batch())
    assert {name: len(own) for name, own in labeling._caches.items()} == {"canonical_order": 3}
    labeled: list[int] = []

    def canonical_order(structure: Structure, limit: float) -> Integers | None:
        labeled.append(structure.num_nodes)
        return bliss.canonical_order(structure, limit)

    monkeypatch.setattr(labeling, "canonical_order", canonical_order)
    assert torch.equal(canonical_colors(graphs.to_batch()), expected)
    assert labeled == [3, 4]
    assert len(labeling._caches["canonical_order"]) == 3


def test_a_labeling_that_took_too_long_is_tried_again_with_more_time_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch = atlas(4).to_batch()
    monkeypatch.setattr(labeling, "_apply", lambda compute, given: [None for _ in given])
    with pytest.warns(UserWarning, match="took more than 10 s"):
        colors = canonical_colors(batch)
    monkeypatch.undo()
    with pytest.warns(UserWarning, match="took more than 10 s"):
        assert torch.equal(canonical_colors(batch), colors)
    assert labeling.canonical_labeling(batch).late[0] == 1  # of two nodes without an edge
    monkeypatch.setattr(labeling, "TIME_LIMIT", 20.0)
    assert len(set(colored_graphs(batch, canonical_colors(batch)))) == batch.num_graphs


def test_predictions_label_each_graph_once_and_number_it_in_the_data_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graphs = PackedGraphs.from_networkx([nx.path_graph(1)] * 7 + [nx.cycle_graph(6)])
    model = CLIP(1, 2, coloring="canonical", num_colors=6, hidden_channels=4)
    at_once: list[int] = []

    def apply(compute: Any, given: list[Structure]) -> list[None]:
        at_once.append(len(given))
        return [None for _ in given]

    monkeypatch.setattr(labeling, "_GRAPHS_AT_ONCE", 5)
    monkeypatch.setattr(labeling, "_apply", apply)
    with pytest.warns(UserWarning, match="took more than") as warned:
        model.predict(graphs, batch_size=3)
    assert [str(own.message).split(" took")[0] for own in warned] == [
        "The canonical labeling of 1 graph (number 7)"
    ]
    assert at_once[0] == 1
    assert sum(at_once) == 1


def test_an_alarm_of_the_user_is_kept() -> None:
    rang = []
    before = signal.signal(signal.SIGALRM, lambda *_: rang.append(True))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        canonical_colors(atlas(5).to_batch())
        signal.pause() if not rang else None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rang


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


def test_networks_without_colors_need_no_labeling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    graphs = replace(
        PackedGraphs.from_networkx([nx.cycle_graph(4), nx.cycle_graph(5)] * 2),
        y=torch.arange(4) % 2,
    )
    spec = ModelSpec("clip", {"coloring": "canonical", "num_colorings": 0, "hidden_channels": 2})
    [trained] = train(graphs, spec, Recipe(epochs=1), [Split([0, 1], [2, 3])], [0])
    assert trained.model.predict(graphs).shape == (4, 2)
