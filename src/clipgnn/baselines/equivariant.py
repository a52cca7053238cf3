"""Linear maps of n×n tensors that commute with every relabelling of the nodes."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clipgnn.nn.linear import Linear

Entries = Float[Tensor, "members graphs channels nodes nodes"]
"""A value for each pair of nodes; zero where a node is padding."""

Mapped = Float[Tensor, "members graphs out_channels nodes nodes"]
"""The same after a map of the channels."""

NodeValues = Float[Tensor, "members graphs diagonal_channels nodes"]
"""A value for each node; zero for padding."""

Real = Float[Tensor, "members graphs 1 nodes"]
"""One for each node, zero for padding."""


class EquivariantLinear(nn.Module):
    """The 15 operations of Maron et al. and their 2 biases, each with a weight of its own.

    "Invariant and equivariant graph networks" (ICLR 2019, https://arxiv.org/abs/1812.09902),
    Theorem 1 and its basis for k = 2. Written out, the operations are: the entries and their
    transpose; diagonal, means of rows and means of columns, each put on the diagonal, into rows or
    into columns; mean of the diagonal and mean of all entries, each put on the diagonal or
    everywhere. All but the first two pass through a vector or a number, and channels are mixed
    there: no operation but those two ever has n×n entries of its own.

    Differs from the paper: sums are means over the nodes of the graph itself, as in the released
    code, so that values do not grow with its size. Channels that lie on the diagonal may be given
    as vectors: on them the 15 operations are only 5 different ones (the vector on the diagonal, in
    rows, in columns; its mean on the diagonal, everywhere), and have only 5 weights.

    Args:
        num_members: networks side by side.
        in_channels: channels of the entries.
        out_channels: channels of the result.
        diagonal_channels: channels given as vectors.
    """

    def __init__(
        self,
        num_members: int,
        in_channels: int,
        out_channels: int,
        *,
        diagonal_channels: int = 0,
    ) -> None:
        super().__init__()
        vectors, numbers = 3 * in_channels + diagonal_channels, 2 * in_channels + diagonal_channels
        self.entries = Linear(num_members, 2 * in_channels, out_channels, bias=False)
        self.vectors = Linear(num_members, vectors, 3 * out_channels, bias=False)
        self.numbers = Linear(num_members, numbers, 2 * out_channels)

    def forward(self, x: Entries, diagonal: NodeValues | None, real: Real) -> Mapped:
        """Apply the map; entries of padding stay zero.

        Args:
            x: the entries.
            diagonal: the channels that lie on the diagonal.
            real: which nodes are not padding.
        """
        sizes = real.sum(3, keepdim=True).clamp(min=1)
        vectors = [x.diagonal(dim1=3, dim2=4), x.sum(4) / sizes, x.sum(3) / sizes]
        sources = [vectors[0], vectors[1]]
        if diagonal is not None:
            vectors.append(diagonal)
            sources.append(diagonal)
        means = torch.cat(sources, dim=2).sum(3, keepdim=True) / sizes
        numbers = _mixed(self.numbers, means)
        diagonal_number, number = numbers.chunk(2, dim=2)
        diagonals, rows, columns = _mixed(self.vectors, torch.cat(vectors, dim=2)).chunk(3, dim=2)
        both_ways = torch.cat([x, x.transpose(3, 4)], dim=2)
        result = _mixed(self.entries, both_ways.flatten(3)).unflatten(3, x.shape[3:])
        # Products with `real` instead of plain broadcasts keep the padding zero at no cost.
        result = torch.addcmul(result, ((rows + number) * real)[..., None], real[..., None, :])
        result = torch.addcmul(result, real[..., None], columns[..., None, :])
        return result + torch.diag_embed((diagonals + diagonal_number) * real)


class GraphNorm(nn.Module):
    """Every channel of every graph brought to mean 0 and variance 1, then scaled and shifted.

    The mean of a channel is what graphs of one kind share, and all that tells them apart may be a
    few entries among n². No other graph takes part, so that training and testing see the same.
    """

    def __init__(self, num_members: int, channels: int, *, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(num_members, channels))
        self.bias = nn.Parameter(torch.zeros(num_members, channels))

    def forward(self, x: Entries, real: Real) -> Entries:
        """Normalise; entries of padding stay zero."""
        pairs = real[..., None] * real[..., None, :]
        count = pairs.sum((3, 4), keepdim=True).clamp(min=1)
        centred = (x - x.sum((3, 4), keepdim=True) / count) * pairs
        variance = centred.square().sum((3, 4), keepdim=True) / count
        scale = self.weight[:, None, :, None, None] * torch.rsqrt(variance + self.epsilon)
        return torch.addcmul(self.bias[:, None, :, None, None] * pairs, centred, scale)


def _mixed(
    linear: Linear, x: Float[Tensor, "members graphs channels places"]
) -> Float[Tensor, "members graphs out_channels places"]:
    """An affine map of the channels, which stand before the places."""
    product = linear.weight.transpose(1, 2)[:, None] @ x
    return product if linear.bias is None else product + linear.bias[:, None, :, None]
