"""Look-up of rows of a table, with a gradient that can be made reproducible."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional


def look_up(
    table: Float[Tensor, "members entries channels"], index: Int[Tensor, "members rows"]
) -> Float[Tensor, "members rows channels"]:
    """Look up rows of the table of each member."""
    members, entries, channels = table.shape
    if members > 1:
        # Indices into the tables of all members, [members * entries, channels].
        index = index + entries * torch.arange(members, device=index.device)[:, None]
    rows = table.reshape(-1, channels)
    if torch.compiler.is_compiling() and torch.are_deterministic_algorithms_enabled():
        return _repeatable_rows(rows, index)
    if rows.device.type == "cpu":  # its gradient is three times as fast as that of an embedding
        return rows.index_select(0, index.flatten()).view(*index.shape, channels)
    return functional.embedding(index, rows)


# torch.compile computes the gradient of a look-up with atomic additions, or much more slowly in
# deterministic mode. It does not trace these operators, and the eager gradient is reproducible.


@torch.library.custom_op("clipgnn::repeatable_rows", mutates_args=())
def _repeatable_rows(table: Tensor, index: Tensor) -> Tensor:
    return functional.embedding(index, table)


@_repeatable_rows.register_fake
def _(table: Tensor, index: Tensor) -> Tensor:
    return table.new_empty(*index.shape, table.shape[1])


@torch.library.custom_op("clipgnn::repeatable_sums", mutates_args=())
def _repeatable_sums(grad: Tensor, index: Tensor, entries: int) -> Tensor:
    no_padding, by_frequency = -1, False
    return torch.ops.aten.embedding_dense_backward(grad, index, entries, no_padding, by_frequency)


@_repeatable_sums.register_fake
def _(grad: Tensor, index: Tensor, entries: int) -> Tensor:
    return grad.new_empty(entries, grad.shape[-1])


def _rows_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    table, index = inputs
    ctx.save_for_backward(index)
    ctx.entries = table.shape[0]


def _rows_backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
    return _repeatable_sums(grad, *ctx.saved_tensors, ctx.entries), None


torch.library.register_autograd(
    "clipgnn::repeatable_rows", _rows_backward, setup_context=_rows_context
)
