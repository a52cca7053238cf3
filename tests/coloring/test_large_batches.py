"""Group numbers near the end of int64, and batches whose graphs differ much in size."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from clipgnn.coloring import all_colorings, log_num_colorings, num_colorings, sample_colorings
from clipgnn.coloring.enumerate import colorings_by_number
from clipgnn.coloring.groups import Partition, color_groups
from clipgnn.errors import InvalidGraphError

LARGE = (2**33, 2**60, 2**61, 2**62, 2**63 - 1)


@pytest.mark.parametrize("large", LARGE)
def test_large_group_numbers_do_not_overflow(large: int) -> None:
    batch = torch.tensor([0, 0, 0, 1, 1, 5, 5, 5])
    groups = torch.tensor([0, large, large, large, large, 3, large, 3])
    assert num_colorings(groups, batch) == [2, 2, 1, 1, 1, 2]
    assert log_num_colorings(groups, batch).exp().round().tolist() == [2, 2, 1, 1, 1, 2]
    colors = sample_colorings(groups, 2, batch)
    assert colors[:, 0].tolist() == colors[:, 6].tolist() == [0, 0]
    for pair in ([1, 2], [3, 4], [5, 7]):
        assert sorted(map(tuple, colors[:, pair].tolist())) == [(0, 1), (1, 0)]
    assert next(all_colorings(groups[:3])).tolist() == [[0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("large", LARGE)
def test_large_labels_do_not_overflow(large: int) -> None:
    batch = torch.tensor([0, 0, 0, 1, 1, 1])
    labels = torch.tensor([large, 0, large, 0, large, 1])
    assert color_groups(labels, batch).tolist() == [1, 0, 1, 0, 2, 1]


@pytest.mark.parametrize("graph", [10**9, 2**40, 2**62])
def test_graph_numbers_that_would_need_all_memory_are_refused(graph: int) -> None:
    batch, groups = torch.tensor([0, graph]), torch.tensor([0, 0])
    for read in (num_colorings, log_num_colorings, color_groups):
        with pytest.raises(InvalidGraphError, match=f"Got graph {graph} "):
            read(groups, batch)
    with pytest.raises(InvalidGraphError, match=f"batch_size {graph} for 2 nodes"):
        Partition.of(groups, torch.tensor([0, 1]), graph)


class LargestTensor(TorchDispatchMode):
    """The number of elements of the largest tensor that was made."""

    elements = 0

    def __torch_dispatch__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor):
                self.elements = max(self.elements, leaf.numel())
        return result


def uneven(large: int, small: int) -> tuple[Tensor, Tensor]:
    """One graph of many nodes, all different but two pairs, among graphs of two equal nodes."""
    groups = torch.cat([torch.arange(large) // 2 * 2, torch.zeros(2 * small, dtype=torch.int64)])
    groups[4:large] = torch.arange(4, large)
    batch = torch.cat([torch.zeros(large).long(), 1 + torch.arange(small).repeat_interleave(2)])
    return groups, batch


def test_memory_is_linear_in_nodes() -> None:
    """As a table of graphs by nodes of the largest graph, place values would have 4e8 entries."""
    groups, batch = uneven(20_000, 20_000)
    partition = Partition.of(groups, batch)
    nodes = groups.numel()
    with LargestTensor() as largest:
        colors = colorings_by_number(partition, torch.zeros(1, 20_001, dtype=torch.int64))
        sample_colorings(groups, 2, batch)
    assert largest.elements < 20 * nodes
    assert int(colors.max()) == 1


def test_colorings_of_uneven_graphs_are_those_of_each_graph_alone() -> None:
    groups, batch = uneven(50, 3)
    groups[20:23] = 20
    partition = Partition.of(groups, batch)
    counts = num_colorings(groups, batch)
    assert counts == [2 * 2 * 6, 2, 2, 2]
    numbers = torch.arange(counts[0])[:, None] % torch.tensor(counts)
    together = colorings_by_number(partition, numbers)
    assert len(set(map(tuple, together[:, :50].tolist()))) == counts[0]
    for graph in range(4):
        alone = torch.cat(list(all_colorings(groups[batch == graph])))
        assert torch.equal(together[:, batch == graph], alone[numbers[:, graph]])


def test_a_graph_of_many_pairs_has_every_coloring_once() -> None:
    """Ten pairs and a group of four: the radixes of many nodes in one product."""
    groups = torch.cat([torch.arange(10).repeat(2), torch.full((4,), 10)])
    total = math.factorial(4) * 2**10
    assert num_colorings(groups) == [total]
    colors = torch.cat(list(all_colorings(groups, chunk_size=10_000)))
    assert colors.shape[0] == total
    assert colors.unique(dim=0).shape[0] == total
