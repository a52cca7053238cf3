"""Sums over neighbors that are read from a table, against dense products."""

import pytest
import torch
from torch import Tensor

from clipgnn.ops.gather_sum import Neighbors, gather_rows, gather_sum

CHANNELS = 3
BLOCKS = torch.tensor(
    [
        [[0, 1, 0], [2, 0, 0], [1, 1, 1]],
        [[0, 0, 3], [0, 0, 0], [0, 1, 0]],
    ]
)
"""Number of edges to each target (row) from each source (column) in two graphs of three nodes."""

with_and_without_weights = pytest.mark.parametrize("weighted", [False, True])


def entries() -> tuple[Tensor, Tensor, Tensor]:
    """Graph, target and source of each edge."""
    graph, target, source = BLOCKS.nonzero().t()
    times = BLOCKS[graph, target, source]
    return tuple(values.repeat_interleave(times) for values in (graph, target, source))


def table(end: str, weight: Tensor | None) -> Neighbors:
    """The neighbors of each node of a batch: graph 1, two rows of padding, graph 0, graph 1."""
    graph, target, source = entries()
    own, other = (target, source) if end == "target" else (source, target)
    node = graph * 3 + own
    order = torch.argsort(node, stable=True)
    count = torch.bincount(node, minlength=6)
    chosen = torch.tensor([3, 4, 5, 0, 0, 0, 1, 2, 3, 4, 5])
    inside = torch.tensor([1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1])
    return Neighbors(
        begin=(count.cumsum(0) - count)[chosen],
        count=count[chosen] * inside,
        first=torch.tensor([0, 0, 0, 3, 3, 5, 5, 5, 8, 8, 8]),
        col=other[order],
        weight=None if weight is None else weight[order],
    )


def example(weighted: bool) -> tuple[Neighbors, Neighbors, Tensor, Tensor]:
    """Incoming and outgoing neighbors, the dense matrix, and rows to sum."""
    graph, target, source = entries()
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(graph.numel(), generator=generator, dtype=torch.float64)
    weight = drawn if weighted else torch.ones_like(drawn)
    matrix = torch.zeros(11, 11, dtype=torch.float64)
    for first, number in ((0, 1), (5, 0), (8, 1)):
        own = graph == number
        matrix.index_put_((first + target[own], first + source[own]), weight[own], accumulate=True)
    x = torch.randn(11, CHANNELS, generator=generator, dtype=torch.float64, requires_grad=True)
    given = drawn if weighted else None
    return table("target", given), table("source", given), matrix, x


@with_and_without_weights
def test_the_sum_is_a_dense_product(weighted: bool) -> None:
    incoming, outgoing, matrix, x = example(weighted)
    torch.testing.assert_close(gather_sum(x, incoming, outgoing), matrix @ x)
    torch.testing.assert_close(gather_sum(x, outgoing, incoming), matrix.t() @ x)
    assert not torch.allclose(matrix @ x, matrix.t() @ x)


@with_and_without_weights
def test_gradients_of_the_sum(weighted: bool) -> None:
    incoming, outgoing, _, x = example(weighted)

    def total(x: Tensor) -> Tensor:
        return gather_sum(x.sin(), incoming, outgoing)

    assert torch.autograd.gradcheck(total, x)
    assert torch.autograd.gradgradcheck(total, x)


def test_rows_of_padding_are_zero() -> None:
    incoming, outgoing, _, x = example(weighted=True)
    assert not gather_sum(x, incoming, outgoing)[3:5].any()


@with_and_without_weights
def test_the_sparse_matrix_is_the_dense_one(weighted: bool) -> None:
    incoming, _, matrix, _ = example(weighted)
    rowptr, col, weight = incoming.csr
    assert (weight is not None) is weighted
    row = torch.arange(11).repeat_interleave(rowptr.diff())
    values = torch.ones(col.numel(), dtype=torch.float64) if weight is None else weight
    dense = torch.zeros_like(matrix).index_put_((row, col), values, accumulate=True)
    torch.testing.assert_close(dense, matrix)


def readers(index: Tensor, rows: int) -> Neighbors:
    """The rows that read each column."""
    order = torch.argsort(index, stable=True)
    count = torch.bincount(index, minlength=rows)
    zeros = torch.zeros(rows, dtype=torch.int64)
    return Neighbors(count.cumsum(0) - count, count, zeros, order, None)


def test_rows_and_their_gradients() -> None:
    index = torch.tensor([2, 0, 2, 2, 4])
    transposed = readers(index, 5)
    x = torch.randn(5, CHANNELS, dtype=torch.float64, requires_grad=True)
    assert torch.equal(gather_rows(x, index, transposed), x[index])
    assert torch.autograd.gradcheck(lambda x: gather_rows(x, index, transposed), x)


def gpu(neighbors: Neighbors) -> Neighbors:
    return Neighbors(*(None if part is None else part.cuda() for part in neighbors.tensors))  # type: ignore[arg-type]


@pytest.mark.gpu
@with_and_without_weights
def test_the_sum_on_a_gpu(weighted: bool) -> None:
    incoming, outgoing, matrix, x = example(weighted)
    moved = x.detach().cuda().requires_grad_()
    total = gather_sum(moved, gpu(incoming), gpu(outgoing))
    torch.testing.assert_close(total.cpu(), matrix @ x)
    factors = torch.randn_like(total)
    (gradient,) = torch.autograd.grad((total * factors).sum(), moved)
    torch.testing.assert_close(gradient.cpu(), matrix.t() @ factors.cpu())


@pytest.mark.gpu
def test_rows_on_a_gpu() -> None:
    index = torch.tensor([2, 0, 2, 2, 4])
    x = torch.randn(5, CHANNELS, dtype=torch.float64, device="cuda", requires_grad=True)
    rows = gather_rows(x, index.cuda(), gpu(readers(index, 5)))
    assert torch.equal(rows, x[index.cuda()])
    factors = torch.randn_like(rows)
    (gradient,) = torch.autograd.grad((rows * factors).sum(), x)
    expected = torch.zeros_like(x).index_add_(0, index.cuda(), factors)
    torch.testing.assert_close(gradient, expected)
