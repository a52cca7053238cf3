"""Anonymous walks against plain enumeration, samples against the paper's bound."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from tests.training.examples import rings, some_graphs
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

from clipgnn.baselines import anonymous_walks
from clipgnn.baselines.anonymous_walks import bell_number, walk_distributions, walks_needed
from clipgnn.baselines.awl import AWL
from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs

BELL = [1, 1, 2, 5, 15, 52, 203, 877, 4140, 21147, 115975]


def anonymous(walk: tuple[int, ...]) -> tuple[int, ...]:
    first = list(dict.fromkeys(walk))
    return tuple(first.index(node) for node in walk)


def enumerated(graphs: PackedGraphs, length: int) -> list[Counter[tuple[int, ...]]]:
    """The probability of every anonymous walk, from every sequence of nodes there is."""
    result = []
    for data in graphs.to_data_list():
        neighbors: dict[int, set[int]] = {node: set() for node in range(data.num_nodes)}
        for a, b in data.edge_index.t().tolist():
            if a != b:
                neighbors[a].add(b)
        probabilities: Counter[tuple[int, ...]] = Counter()
        for walk in product(range(data.num_nodes), repeat=length + 1):
            probability = 1 / data.num_nodes
            for here, there in pairwise(walk):
                choices = neighbors[here] or {here}
                probability *= (there in choices) / len(choices)
            if probability:
                probabilities[anonymous(walk)] += probability
        result.append(probabilities)
    return result


def inner_products(distributions: list[Counter[tuple[int, ...]]]) -> np.ndarray:
    return np.array(
        [[sum(a[walk] * b[walk] for walk in a) for b in distributions] for a in distributions]
    )


@pytest.mark.parametrize("walks_at_once", [3, 2**16])
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_all_walks(length: int, walks_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anonymous_walks, "WALKS_PER_CHUNK", walks_at_once)
    graphs = some_graphs(6, seed=5)
    found = walk_distributions(graphs, length, 0.1, 0.05, "never", 0)
    expected = enumerated(graphs, length)
    np.testing.assert_allclose(
        (found @ found.T).toarray(), inner_products(expected), rtol=0, atol=1e-12
    )
    # and each by itself: the same probabilities, whatever the order of the columns
    for row, own in zip(found.toarray(), expected, strict=True):
        np.testing.assert_allclose(sorted(row[row > 0]), sorted(own.values()), atol=1e-12)


def test_the_paper_counts_anonymous_walks_so() -> None:
    assert [bell_number(number) for number in range(11)] == BELL
    everything = from_networkx(nx.complete_graph(6))
    everything.y = torch.tensor([0])
    graphs = PackedGraphs.from_data_list([everything])
    for length in range(1, 6):
        assert walk_distributions(graphs, length, 1.0, 0.5, "never", 0).shape == (1, BELL[length])


def test_the_bound_on_samples() -> None:
    # the first two are the paper's own examples
    assert walks_needed(877, epsilon=0.5, delta=0.05) == 4888
    assert walks_needed(877, epsilon=0.1, delta=0.01) == 122500
    assert walks_needed(3, epsilon=1.0, delta=0.5) == int(np.ceil(2 * (np.log(6) - np.log(0.5))))
    assert walks_needed(1, epsilon=0.1, delta=0.05) == 1
    assert walks_needed(115975, epsilon=1.0, delta=0.5) == 160777  # 2^η is no float


def test_samples_are_within_the_bound() -> None:
    graphs = some_graphs(10, seed=7)
    length, epsilon = 4, 0.15
    exact = walk_distributions(graphs, length, epsilon, 0.01, "never", 0)
    products = (exact @ exact.T).toarray()
    for seed in range(3):
        sampled = walk_distributions(graphs, length, epsilon, 0.01, "always", seed)
        # the columns are sorted by number, and rare walks may be missing among the sampled ones
        assert sampled.shape == exact.shape
        errors = abs(sampled - exact).sum(axis=1)
        assert 0 < errors.max() < epsilon
        np.testing.assert_allclose(sampled.sum(axis=1), 1)
        np.testing.assert_allclose((sampled @ sampled.T).toarray(), products, atol=epsilon)


def test_samples_repeat_and_do_not_depend_on_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = some_graphs(5)

    def sampled(seed: int) -> np.ndarray:
        walk_distributions.cache_clear()
        return walk_distributions(graphs, 3, 0.5, 0.1, "always", seed).toarray()

    first = sampled(1)
    np.testing.assert_array_equal(sampled(1), first)
    monkeypatch.setattr(anonymous_walks, "WALKS_PER_CHUNK", 7)
    np.testing.assert_allclose(sampled(1), first, rtol=1e-12)
    assert not np.array_equal(sampled(2), first)


def test_only_graphs_with_more_walks_than_samples_are_sampled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dense, sparse = nx.complete_graph(12), nx.cycle_graph(12)
    graphs = PackedGraphs.from_data_list(
        [
            Data(edge_index=from_networkx(graph).edge_index, num_nodes=12, y=torch.tensor([0]))
            for graph in (dense, sparse)
        ]
    )
    monkeypatch.setattr(anonymous_walks, "MAX_EXACT_WALKS", 100)
    # walks of 5 steps: 12 · 11^5 and 12 · 2^5 = 384; samples for ε = 1: 79, for ε = 0.4: 491
    for epsilon, exact in ((1.0, False), (0.4, True)):
        dense_row, sparse_row = walk_distributions(graphs, 5, epsilon, 0.05, "auto", 0).toarray()
        assert np.allclose(sparse_row[sparse_row > 0], 1 / 16) == exact
        samples = dense_row * walks_needed(52, epsilon, 0.05)
        np.testing.assert_allclose(samples, samples.round(), atol=1e-9)
    walk_distributions.cache_clear()
    monkeypatch.setattr(anonymous_walks, "MAX_EXACT_WALKS", 384)
    _, sparse_row = walk_distributions(graphs, 5, 1.0, 0.05, "auto", 0).toarray()
    np.testing.assert_allclose(sparse_row[sparse_row > 0], 1 / 16)


def test_isolated_nodes_stay_and_loops_are_no_roads() -> None:
    loop_and_edge = torch.tensor([[0, 1, 2], [1, 0, 2]])
    nothing = torch.empty(2, 0, dtype=torch.int64)
    graphs = PackedGraphs.from_data_list(
        [
            Data(edge_index=loop_and_edge, num_nodes=4, y=torch.tensor([0])),
            Data(edge_index=nothing, num_nodes=2, y=torch.tensor([0])),
            Data(edge_index=loop_and_edge[:, :2], num_nodes=2, y=torch.tensor([0])),
        ]
    )
    for sampling in ("never", "always"):
        found = walk_distributions(graphs, 3, 0.2, 0.05, sampling, 0).toarray()
        # standing still, and 0, 1, 0, 1
        np.testing.assert_allclose(found, [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]], atol=0.1)


@pytest.mark.parametrize("sampling", ["auto", "never", "always"])
def test_graphs_without_nodes_have_no_walks(sampling: str) -> None:
    nothing = Data(edge_index=torch.empty(2, 0, dtype=torch.int64), num_nodes=0)
    edge = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    for graph in (nothing, edge):
        graph.y = torch.tensor([0])
    graphs = PackedGraphs.from_data_list([nothing, edge, nothing])
    found = walk_distributions(graphs, 3, 0.5, 0.05, sampling, 0)
    np.testing.assert_allclose(found.sum(1).ravel().tolist()[0], [0.0, 1.0, 0.0])


def test_kernels() -> None:
    graphs = some_graphs(6)
    products = inner_products(enumerated(graphs, 3))
    chosen: Any = {"length": 3, "sampling": "never"}
    np.testing.assert_allclose(AWL(kernel="linear", **chosen).gram(graphs), products)
    polynomial = AWL(kernel="polynomial", degree=3, offset=0.5, **chosen).gram(graphs)
    np.testing.assert_allclose(polynomial, (products + 0.5) ** 3)
    squares = np.diag(products)
    distances = squares[:, None] + squares[None] - 2 * products
    rbf = AWL(kernel="rbf", sigma=0.3, **chosen).gram(graphs)
    np.testing.assert_allclose(rbf, np.exp(-distances / 0.18), rtol=1e-9)
    np.testing.assert_allclose(np.diag(AWL(sigma=1e-5, **chosen).gram(graphs)), 1.0)


def test_walks_tell_apart_what_refinement_cannot() -> None:
    gram = AWL(length=3, kernel="rbf", sigma=0.1, sampling="never").gram(rings(2))
    assert gram[0, 1] < 0.9


def test_labels_are_ignored() -> None:
    graphs = some_graphs(6)
    other = replace(graphs, x=torch.zeros_like(graphs.x))
    np.testing.assert_array_equal(AWL(length=3).gram(graphs), AWL(length=3).gram(other))


def test_too_many_walks() -> None:
    with pytest.raises(InvalidParameterError, match="'epsilon' larger"):
        AWL(length=14, sampling="always").gram(some_graphs(2))


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"length": 0}, "'length'"),
        ({"length": 16}, "'length' parameter of AWL must be an integer from 1 to 15"),
        ({"kernel": "polynom"}, "Did you mean 'polynomial'"),
        ({"sampling": "sometimes"}, "'sampling'"),
        ({"sigma": 0.0}, "'sigma'"),
        ({"degree": 1.5}, "'degree'"),
        ({"offset": -1.0}, "'offset'"),
        ({"epsilon": float("nan")}, "'epsilon'"),
        ({"delta": 1.0}, "'delta'"),
        ({"seed": -1}, "'seed'"),
    ],
)
def test_parameters(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        AWL(**wrong)  # type: ignore[arg-type]
