"""Groups of identical attributes: exact, per graph, and the same as a dictionary's."""

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from clipgnn.coloring.groups import Partition, color_groups, number_by_first_node
from clipgnn.coloring.random import Random


def slow_groups(rows: list[Any], batch: list[int]) -> list[tuple[int, int]]:
    """Graph and first node with the same row in that graph: a name for each node's group."""
    first: dict[Any, int] = {}
    return [
        (graph, first.setdefault((graph, row), node))
        for node, (row, graph) in enumerate(zip(rows, batch, strict=True))
    ]


def assert_same_partition(groups: Tensor, rows: list[Any], batch: list[int]) -> None:
    """Nodes share a group exactly if their rows are equal; numbers run from 0 in each graph."""
    assert groups.dtype == torch.int64
    assert groups.shape == (len(rows),)
    names = slow_groups(rows, batch)
    number_of = dict(zip(names, groups.tolist(), strict=True))
    assert [number_of[name] for name in names] == groups.tolist()
    for graph in set(batch):
        numbers = sorted(number for name, number in number_of.items() if name[0] == graph)
        assert numbers == list(range(len(numbers)))


values = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, 0.30000000000000004, 0.3, 1e-300, 2.0**60])


@given(st.data(), st.integers(0, 4), st.sampled_from([torch.float32, torch.float64]))
def test_groups_are_those_of_a_dictionary(
    data: st.DataObject, channels: int, dtype: torch.dtype
) -> None:
    row = st.tuples(*[values] * channels)
    rows = data.draw(st.lists(row, min_size=1, max_size=12))
    graphs = st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))
    batch = sorted(data.draw(graphs))
    x = torch.tensor(rows, dtype=dtype).view(len(rows), channels)
    seen = [tuple(values) for values in x.tolist()]
    assert_same_partition(color_groups(x, torch.tensor(batch)), seen, batch)
    assert_same_partition(color_groups(x), seen, [0] * len(rows))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=15))
def test_groups_of_labels_are_those_of_a_dictionary(nodes: list[tuple[int, int]]) -> None:
    batch, labels = (list(column) for column in zip(*sorted(nodes), strict=True))
    groups = color_groups(torch.tensor(labels), torch.tensor(batch))
    assert_same_partition(groups, labels, batch)


@pytest.mark.parametrize("channels", [1, 2, 5])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_neighboring_floats_are_told_apart(channels: int, dtype: torch.dtype) -> None:
    x = torch.ones(4, channels, dtype=dtype)
    x[1, -1] = torch.nextafter(x[1, -1], torch.tensor(2.0, dtype=dtype))
    x[3, -1] = torch.nextafter(x[3, -1], torch.tensor(2.0, dtype=dtype))
    groups = color_groups(x).tolist()
    assert groups[0] == groups[2] != groups[1] == groups[3]


@pytest.mark.parametrize("channels", [1, 3])
def test_minus_zero_is_zero(channels: int) -> None:
    x = torch.zeros(3, channels)
    x[1] = -0.0
    x[2, 0] = 1.0
    groups = color_groups(x).tolist()
    assert groups[0] == groups[1] != groups[2]


def test_nodes_without_channels_are_all_equal() -> None:
    batch = torch.tensor([0, 0, 1])
    assert color_groups(torch.zeros(3, 0), batch).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("decimals", "expected"),
    [(None, [0, 1, 2, 3]), (3, [0, 0, 1, 2]), (1, [0, 0, 0, 1]), (0, [0, 0, 0, 1])],
)
@pytest.mark.parametrize("channels", [1, 2])
def test_decimals(decimals: int | None, expected: list[int], channels: int) -> None:
    noisy = torch.tensor([0.99999, 1.00001, 1.04, 1.7], dtype=torch.float64)
    groups = color_groups(noisy[:, None].expand(4, channels).contiguous(), decimals=decimals)
    assert_same_partition(groups, expected, [0] * 4)


@pytest.mark.parametrize(
    "x",
    [
        torch.tensor([[1e38], [2e38]]),
        torch.tensor([[1e38, 0.0], [2e38, 0.0]]),
        torch.tensor([[1e300], [2e300]], dtype=torch.float64),
    ],
    ids=["one channel", "two channels", "double"],
)
def test_decimals_do_not_make_large_attributes_equal(x: Tensor) -> None:
    """Rounding to decimals multiplies by a power of ten first, which must not overflow."""
    groups = color_groups(x, decimals=10).tolist()
    assert groups[0] != groups[1]


def test_groups_are_numbered_in_the_order_of_attributes_in_each_graph() -> None:
    batch = torch.tensor([0, 0, 0, 1, 1, 1])
    expected = [1, 0, 1, 2, 0, 1]
    assert color_groups(torch.tensor([7, 3, 7, 9, 3, 5]), batch).tolist() == expected
    x = torch.tensor([[0.5], [-2.0], [0.5], [4.0], [-3.0], [1.0]])
    assert color_groups(x, batch).tolist() == expected


@pytest.mark.parametrize("channels", [1, 3])
def test_numbers_do_not_depend_on_the_order_of_nodes(channels: int) -> None:
    rows = torch.randn(4, channels, generator=torch.Generator().manual_seed(0))
    x = rows[torch.tensor([0, 1, 2, 1, 3, 0])]
    for order in itertools.islice(itertools.permutations(range(6)), 0, 720, 37):
        assert torch.equal(color_groups(x[list(order)]), color_groups(x)[list(order)])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=15))
def test_labels_and_their_rows_have_equal_groups_by_first_node(
    nodes: list[tuple[int, int]],
) -> None:
    graphs, values = (list(column) for column in zip(*sorted(nodes), strict=True))
    batch, labels = torch.tensor(graphs), torch.tensor(values)
    groups = number_by_first_node(color_groups(labels, batch), batch)
    rows = torch.nn.functional.one_hot(labels, 6).float()
    assert torch.equal(number_by_first_node(color_groups(rows, batch), batch), groups)
    assert torch.equal(Random().groups(rows, torch.empty(2, 0).long(), batch), groups)
    assert_same_partition(groups, values, graphs)
    for graph in set(graphs):
        numbers = groups[batch == graph].tolist()
        assert list(dict.fromkeys(numbers)) == list(range(max(numbers) + 1))


def test_equal_rows_of_different_graphs_are_numbered_apart() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [3.0, 4.0], [3.0, 4.0], [1.0, 2.0]])
    groups = color_groups(x, torch.tensor([0, 0, 1, 3, 3]))
    assert groups[2] == 0
    assert sorted(groups[:2].tolist()) == sorted(groups[3:].tolist()) == [0, 1]


@pytest.mark.parametrize("one_hot", [False, True])
def test_many_channels(one_hot: bool) -> None:
    """More distinct rows than a small fingerprint could hold, with one-hot rows as the hard case:
    all their numbers are 0 and 1."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.eye(300) if one_hot else torch.randn(300, 300, generator=generator)
    labels = torch.randint(300, (2000,), generator=generator)
    batch = torch.randint(5, (2000,), generator=generator).sort().values
    groups = color_groups(rows[labels], batch)
    assert_same_partition(groups, labels.tolist(), batch.tolist())


def test_rows_whose_fingerprints_meet_are_still_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """All factors of the fingerprint equal: then rows with the same numbers in another order meet.

    Rows are compared for equality, whatever their fingerprints are.
    """
    drawn = []

    def constant(low: int, high: int, size: tuple[int, ...], **_: Any) -> Tensor:
        drawn.append(size)
        return torch.zeros(size, dtype=torch.int64)

    monkeypatch.setattr(torch, "randint", constant)
    x = torch.tensor([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [0.0, -0.0], [-0.0, 0.0]])
    rows = [tuple(row) for row in x.tolist()]
    assert_same_partition(color_groups(x), rows, [0] * 5)
    assert_same_partition(color_groups(x, torch.tensor([0, 0, 0, 1, 1])), rows, [0, 0, 0, 1, 1])
    assert drawn, "fingerprints are no longer made this way: rewrite this test"


def test_attributes_with_gradients() -> None:
    x = torch.ones(3, 2, requires_grad=True)
    assert color_groups(x).tolist() == [0, 0, 0]


def test_partition_numbers_groups_across_the_batch() -> None:
    groups = torch.tensor([5, 0, 5, 0, 0, 7])
    partition = Partition.of(groups, torch.tensor([0, 0, 0, 2, 2, 2]), num_graphs=4)
    assert partition.groups.tolist() == [1, 0, 1, 2, 2, 3]
    assert partition.sizes.tolist() == [1, 2, 2, 1]
    assert partition.graph_of_group.tolist() == [0, 0, 2, 2]
    assert partition.position.tolist() == [0, 0, 1, 0, 1, 0]
    assert partition.exact_counts() == [2, 1, 2, 1]
    assert partition.log_counts.exp().tolist() == pytest.approx([2, 1, 2, 1])


def test_subset_of_a_partition() -> None:
    batch = torch.tensor([0, 0, 1, 1, 1, 2])
    partition = Partition.of(torch.tensor([0, 1, 0, 0, 1, 0]), batch)
    kept = partition.subset(torch.tensor([False, True, True]))
    assert kept.num_graphs == 2
    assert kept.graph_of_node.tolist() == [0, 0, 0, 1]
    assert kept.groups.tolist() == [0, 0, 1, 2]
    assert kept.exact_counts() == [2, 1]
