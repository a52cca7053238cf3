"""Color refinement and lexicographic ranks against slow and obvious implementations."""

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from clipgnn.ops.refinement import (
    lexicographic_ranks,
    refine_colors,
    refine_within_graphs,
    refinement_rounds,
)

SEQUENCES = st.lists(st.lists(st.integers(0, 2), max_size=4), min_size=1, max_size=10)


def _flat(sequences: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    values = torch.tensor([value for sequence in sequences for value in sequence])
    pointers = torch.tensor([0, *map(len, sequences)]).cumsum(0)
    return values.long(), pointers


@given(SEQUENCES)
def test_ranks_are_numbers_of_smaller_sequences(sequences: list[list[int]]) -> None:
    expected = [sum(other < own for other in sequences) for own in sequences]
    assert lexicographic_ranks(*_flat(sequences)).tolist() == expected


@given(SEQUENCES, st.randoms(use_true_random=False))
def test_first_values_are_compared_before_all_others(sequences, random) -> None:
    first = [random.randint(0, 2) for _ in sequences]
    whole = [(own, *sequence) for own, sequence in zip(first, sequences, strict=True)]
    expected = [sum(other < own for other in whole) for own in whole]
    ranks = lexicographic_ranks(*_flat(sequences), first=torch.tensor(first))
    assert ranks.tolist() == expected


def _reference(graph: nx.Graph, colors: dict[int, int]) -> list[int]:
    """The definition, with tuples and dictionaries."""
    while True:
        keys = {
            node: (colors[node], sorted((colors[other] for other in graph[node]), reverse=True))
            for node in graph
        }
        ordered = sorted({(own, tuple(others)) for own, others in keys.values()})
        refined = {
            node: ordered.index((own, tuple(others))) for node, (own, others) in keys.items()
        }
        if len(set(refined.values())) == len(set(colors.values())):
            return [refined[node] for node in sorted(graph)]
        colors = refined


@pytest.mark.parametrize("seed", range(20))
def test_refinement_against_its_definition(seed: int) -> None:
    graph = nx.gnp_random_graph(9, 0.3, seed=seed)
    start = {node: (node * seed) % 2 for node in graph}
    edges = torch.tensor([*graph.edges, *((b, a) for a, b in graph.edges)]).view(-1, 2).t().long()
    found = refine_colors(torch.tensor([start[node] for node in sorted(graph)]), edges)
    assert found.tolist() == _reference(graph, start)


def test_regular_graphs_are_not_told_apart() -> None:
    ring, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    both = nx.disjoint_union(ring, triangles)
    edges = torch.tensor([*both.edges, *((b, a) for a, b in both.edges)]).t()
    assert refine_colors(torch.zeros(12, dtype=torch.int64), edges).tolist() == [0] * 12


def test_rounds_end_with_the_stable_colors() -> None:
    path = nx.path_graph(7)
    edges = torch.tensor([*path.edges, *((b, a) for a, b in path.edges)]).t()
    rounds = list(refinement_rounds(torch.zeros(7, dtype=torch.int64), edges))
    assert [int(own.max()) + 1 for own in rounds] == [1, 2, 3, 4]
    assert rounds[-1].equal(refine_colors(torch.zeros(7, dtype=torch.int64), edges))
    nothing = torch.zeros(0, dtype=torch.int64)
    assert refine_colors(nothing, torch.zeros(2, 0, dtype=torch.int64)).numel() == 0


def test_ranks_of_large_values() -> None:
    sequences = [[2**62, 1], [-(2**62)], [2**62], [0, 2**61]]
    expected = [sum(other < own for other in sequences) for own in sequences]
    assert lexicographic_ranks(*_flat(sequences)).tolist() == expected


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 10**6)), max_size=5),
    st.booleans(),
)
def test_graphs_that_leave_have_the_same_classes(sizes: list[tuple[int, int]], directed) -> None:
    """Classes and their order, in each graph, are those of all graphs refined together."""
    made = [nx.gnp_random_graph(n, 0.35, seed=seed, directed=directed) for n, seed in sizes]
    alone = nx.gnp_random_graph(1, 0, directed=directed)
    whole = nx.disjoint_union_all([alone, *made])
    both = [*whole.edges, *(() if directed else ((b, a) for a, b in whole.edges))]
    edges = torch.tensor(both).view(-1, 2).t().long()
    counts = torch.tensor([1, *(n for n, _ in sizes)])
    graph = torch.arange(counts.numel()).repeat_interleave(counts)
    start = torch.arange(graph.numel()) % 7 // 5
    before = start.clone()
    found, expected = refine_within_graphs(start, edges, graph), refine_colors(start, edges)
    assert start.equal(before)
    assert [int((found < own).sum()) for own in found] == found.tolist()
    for number in range(counts.numel()):
        own, other = found[graph == number], expected[graph == number]
        assert (own[:, None] < own).equal(other[:, None] < other)
        assert number == 0 or not own.numel() or int(own.min()) > int(found[graph < number].max())


def test_nothing_to_refine() -> None:
    nothing = torch.zeros(0, dtype=torch.int64)
    assert refine_within_graphs(nothing, nothing.view(2, 0), nothing).numel() == 0


@pytest.mark.parametrize("rounds", [0, 1, 3, 8])
def test_a_limited_number_of_rounds(rounds: int) -> None:
    """Each round distinguishes two more nodes of a path, from both ends."""
    path = nx.path_graph(12)
    edges = torch.tensor([*path.edges, *((b, a) for a, b in path.edges)]).t()
    nodes = torch.zeros(12, dtype=torch.int64)
    found = refine_within_graphs(nodes, edges, nodes, rounds)
    expected = list(refinement_rounds(nodes, edges))[: rounds + 1][-1]
    assert (found[:, None] < found).equal(expected[:, None] < expected)
    assert found.unique().numel() == min(rounds + 1, 6)


def test_long_sequences_are_compared_while_their_rank_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The center of a star has many neighbors, which no other node has."""
    sorts, unique = [], torch.unique

    def counted(values: torch.Tensor, **named: bool) -> object:
        sorts.append(values.numel())
        return unique(values, **named)

    monkeypatch.setattr(torch, "unique", counted)
    leaves = torch.arange(1, 2000)
    edges = torch.stack([leaves, torch.zeros_like(leaves)])
    edges = torch.cat([edges, edges.flip(0)], 1)
    nodes = torch.zeros(2000, dtype=torch.int64)
    assert refine_within_graphs(nodes, edges, nodes).tolist() == [1999, *[0] * 1999]
    assert len(sorts) < 20
