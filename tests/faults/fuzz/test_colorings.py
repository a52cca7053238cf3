"""Groups and colorings of anything: counted by sorting, enumerated by itertools."""

import itertools
import math
from collections import Counter
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.fuzz.oracle import budget, judge
from tests.faults.fuzz.strategies import INTEGERS, almost, asks_for_memory, odd_objects
from torch import Tensor

from clipgnn.coloring import all_colorings, color_groups, num_colorings, sample_colorings

LARGE = (0, 1, 2, 5, 2**31, 2**53 + 1, 2**61, 2**62, 2**63 - 1)


@st.composite
def batches(draw: st.DrawFn, num_nodes: int) -> Tensor | None:
    """The graph of each node, ascending; graphs without nodes may lie between."""
    if draw(st.booleans()):
        return None
    steps = draw(st.lists(st.sampled_from([0, 0, 0, 1, 1, 3]), min_size=num_nodes))
    return torch.tensor(list(itertools.accumulate(steps[:num_nodes])), dtype=torch.int64)


@st.composite
def attributes(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments of `color_groups`, good or almost."""
    nodes, channels = draw(st.integers(1, 7)), draw(st.integers(0, 3))
    floats = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-23, 1e30, -1e30, 1e-30, 0.1, 0.10004])
    if draw(st.booleans()):
        rows = st.lists(floats, min_size=channels, max_size=channels)
        x = torch.tensor(draw(st.lists(rows, min_size=nodes, max_size=nodes)))
        x = x.reshape(nodes, channels).to(draw(st.sampled_from([torch.float32, torch.float64])))
    else:
        x = torch.tensor(draw(st.lists(st.sampled_from(LARGE), min_size=nodes, max_size=nodes)))
    arguments: dict[str, Any] = {"x": x, "batch": draw(batches(nodes)), "decimals": None}
    if draw(st.booleans()):
        arguments["decimals"] = draw(st.sampled_from([0, 1, 3, -2, 17, 400, -400]))
    return draw(_spoiled(arguments))


@st.composite
def group_arguments(draw: st.DrawFn, option: str, values: tuple[Any, ...]) -> dict[str, Any]:
    """Groups of a few nodes, a batch vector, and another option; good or almost."""
    nodes = draw(st.integers(1, 6))
    pool = st.sampled_from(draw(st.sampled_from([(0,), (0, 1), (0, 1, 2), LARGE])))
    arguments = {
        "groups": torch.tensor(draw(st.lists(pool, min_size=nodes, max_size=nodes))),
        "batch": draw(batches(nodes)),
        option: draw(st.sampled_from(values)),
    }
    return draw(_spoiled(arguments))


@st.composite
def _spoiled(draw: st.DrawFn, arguments: dict[str, Any]) -> dict[str, Any]:
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        name = draw(st.sampled_from(sorted(arguments)))
        value = draw(almost(arguments[name]))
        if name in ("x", "groups") or not asks_for_memory(value):
            arguments = {**arguments, name: value}
    return arguments


def _graph_of_node(batch: Tensor | None, nodes: int) -> list[int]:
    return [0] * nodes if batch is None else batch.tolist()


def _rows(x: Tensor) -> list[tuple[Any, ...]]:
    return [tuple(row) if isinstance(row, list) else (row,) for row in x.tolist()]


@budget("color_groups")
@given(attributes())
def test_color_groups(arguments: dict[str, Any]) -> None:
    def check(groups: Tensor) -> None:
        rows = _rows(arguments["x"])
        graphs = _graph_of_node(arguments["batch"], len(rows))
        decimals = arguments["decimals"]
        found = groups.tolist()
        assert groups.dtype == torch.int64
        assert len(found) == len(rows)
        for graph in set(graphs):
            own = {found[node] for node in range(len(rows)) if graphs[node] == graph}
            assert own == set(range(len(own))), "groups are numbered from 0 in each graph"
        for one, other in itertools.combinations(range(len(rows)), 2):
            if graphs[one] != graphs[other]:
                continue
            together = found[one] == found[other]
            if rows[one] == rows[other]:
                assert together
            elif decimals is None:
                assert not together
            elif -300 < decimals < 300 and not all(
                abs(a - b) <= 1.001 * 10.0**-decimals
                for a, b in zip(rows[one], rows[other], strict=True)
            ):
                assert not together, "they differ by more than rounding"

    judge("color_groups", arguments, lambda: color_groups(**arguments), check)


@budget("num_colorings")
@given(group_arguments("unused", (None,)))
def test_num_colorings(arguments: dict[str, Any]) -> None:
    given_arguments = {"groups": arguments["groups"], "batch": arguments["batch"]}

    def check(counts: list[int]) -> None:
        assert counts == _counts(**given_arguments)

    judge("num_colorings", given_arguments, lambda: num_colorings(**given_arguments), check)


def _counts(groups: Tensor, batch: Tensor | None) -> list[int]:
    """Sort the nodes by graph and group; a run of s equal ones counts s!."""
    graphs = _graph_of_node(batch, groups.numel())
    counts = [1] * (graphs[-1] + 1)
    for (graph, _), run in itertools.groupby(sorted(zip(graphs, groups.tolist(), strict=True))):
        counts[graph] *= math.factorial(len(list(run)))
    return counts


def _check_colorings(colorings: list[list[int]], groups: list[int], graphs: list[int]) -> None:
    members: dict[tuple[int, int], list[int]] = {}
    for node, key in enumerate(zip(graphs, groups, strict=True)):
        members.setdefault(key, []).append(node)
    for coloring in colorings:
        for nodes in members.values():
            assert sorted(coloring[node] for node in nodes) == list(range(len(nodes)))


@budget("sample_colorings")
@given(group_arguments("k", (1, 2, 3, 7, 24, 50)), st.integers(0, 9), odd_objects())
def test_sample_colorings(arguments: dict[str, Any], seed: int, odd: Any) -> None:
    generator = odd if seed == 9 else torch.Generator().manual_seed(seed)

    def check(colorings: Tensor) -> None:
        groups = arguments["groups"].tolist()
        graphs = _graph_of_node(arguments["batch"], len(groups))
        assert colorings.shape == (arguments["k"], len(groups))
        _check_colorings(colorings.tolist(), groups, graphs)
        counts = _counts(arguments["groups"], arguments["batch"])
        for graph in set(graphs):
            own = [node for node in range(len(groups)) if graphs[node] == graph]
            distinct = {tuple(row[node] for node in own) for row in colorings.tolist()}
            assert len(distinct) == min(arguments["k"], counts[graph])

    given_arguments = {**arguments, "generator": generator}
    judge("sample_colorings", given_arguments, lambda: sample_colorings(**given_arguments), check)


@budget("all_colorings")
@given(group_arguments("chunk_size", (1, 2, 5, 4096)))
def test_all_colorings(arguments: dict[str, Any]) -> None:
    given_arguments = {"groups": arguments["groups"], "chunk_size": arguments["chunk_size"]}

    def check(chunks: list[Tensor]) -> None:
        groups = arguments["groups"].tolist()
        found = [tuple(row) for chunk in chunks for row in chunk.tolist()]
        assert all(len(chunk) <= arguments["chunk_size"] for chunk in chunks)
        members = [
            [node for node, own in enumerate(groups) if own == group] for group in set(groups)
        ]
        expected = set()
        for orders in itertools.product(*(itertools.permutations(nodes) for nodes in members)):
            coloring = [0] * len(groups)
            for order in orders:
                for color, node in enumerate(order):
                    coloring[node] = color
            expected.add(tuple(coloring))
        assert Counter(found) == Counter(expected)

    judge("all_colorings", given_arguments, lambda: list(all_colorings(**given_arguments)), check)


def test_the_references_can_fail() -> None:
    """Large group numbers are among the inputs, and the count is the one of Eq. (6)."""
    assert max(INTEGERS) == max(LARGE) == 2**63 - 1
    assert _counts(torch.tensor([3, 3, 3, 2**62]), torch.tensor([0, 0, 0, 2])) == [6, 1, 1]
