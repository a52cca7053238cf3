"""Permutation-equivariant linear maps and normalization of n×n tensors."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clipgnn.nn.layer import Generators, Layer
from clipgnn.nn.linear import Linear

Entries = Float[Tensor, "members graphs channels nodes nodes"]
"""Values of pairs of nodes; zero where a node is padding."""

Mapped = Float[Tensor, "members graphs out_channels nodes nodes"]
"""Values of pairs of nodes after a layer."""

NodeValues = Float[Tensor, "members graphs diagonal_channels nodes"]
"""Values of nodes; zero for padding."""

NodeMask = Float[Tensor, "members graphs 1 nodes"]
"""Padding mask: 1 for nodes, 0 for padding."""


class EquivariantLinear(nn.Module):
    r"""Every equivariant linear map of n×n tensors: 15 basis operations and 2 biases.

    From `"Invariant and equivariant graph networks" <https://arxiv.org/abs/1812.09902>`_, Theorem 1
    for k = 2. With the vectors diagonal, row means and column means of the input X, and the numbers
    mean of the diagonal and mean of all entries,

    .. math::
        L(X)_{ij} = W_1 X_{ij} + W_2 X_{ji} + r_i + c_j + s + \delta_{ij} (d_i + t)

    where r, c and d are linear maps of the channels of the three vectors, and s and t of those of
    the two numbers, with a bias each. Only the first two operations have n×n entries.

    Differs from the paper: means over the nodes of the graph replace sums, as in the released code,
    so that values do not grow with the number of nodes. Channels that are zero outside the diagonal
    can be passed as vectors. For them the 15 operations reduce to 5 (the vector on the diagonal, in
    rows, in columns; its mean on the diagonal, everywhere) with 5 weights.

    Args:
        num_members: networks that are computed together.
        in_channels: channels of the n×n tensor.
        out_channels: channels of the output.
        diagonal_channels: channels that are passed as vectors.

    Shapes:
        - x: `[members, graphs, in_channels, nodes, nodes]`
        - diagonal: `[members, graphs, diagonal_channels, nodes]`, or None
        - mask: `[members, graphs, 1, nodes]`
        - output: `[members, graphs, out_channels, nodes, nodes]`
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

    def forward(self, x: Entries, diagonal: NodeValues | None, mask: NodeMask) -> Mapped:
        """Apply the map; entries of padding remain zero.

        Args:
            x: values of pairs of nodes.
            diagonal: channels that are zero outside the diagonal, as vectors.
            mask: 1 for nodes, 0 for padding.
        """
        sizes = mask.sum(3, keepdim=True).clamp(min=1)  # [members, graphs, 1, 1]
        # Each [members, graphs, channels, nodes].
        vectors = [x.diagonal(dim1=3, dim2=4), x.sum(4) / sizes, x.sum(3) / sizes]
        sources = [vectors[0], vectors[1]]
        if diagonal is not None:
            vectors.append(diagonal)
            sources.append(diagonal)
        # [members, graphs, channels, 1]
        means = torch.cat(sources, dim=2).sum(3, keepdim=True) / sizes
        numbers = _map_channels(self.numbers, means)
        diagonal_number, number = numbers.chunk(2, dim=2)
        diagonals, rows, columns = _map_channels(self.vectors, torch.cat(vectors, dim=2)).chunk(
            3, dim=2
        )
        with_transpose = torch.cat([x, x.transpose(3, 4)], dim=2)
        # [members, graphs, channels, nodes * nodes] -> [members, graphs, channels, nodes, nodes]
        result = _map_channels(self.entries, with_transpose.flatten(3)).unflatten(3, x.shape[3:])
        # Products with `mask` instead of broadcasting keep the padding zero at no extra cost.
        result = torch.addcmul(result, ((rows + number) * mask)[..., None], mask[..., None, :])
        result = torch.addcmul(result, mask[..., None], columns[..., None, :])
        return result + torch.diag_embed((diagonals + diagonal_number) * mask)


class GraphNorm(Layer):
    """Normalization of every channel of every graph over its entries, with learned scale and bias.

    The entries that distinguish two similar graphs can be few among n² and small against the mean
    of the channel. Statistics are those of the graph itself, in training and in evaluation.

    Args:
        num_members: networks that are computed together.
        channels: channels of the n×n tensor.
        epsilon: added to the variance.

    Shapes:
        - x: `[members, graphs, channels, nodes, nodes]`
        - mask: `[members, graphs, 1, nodes]`
        - output: `[members, graphs, channels, nodes, nodes]`
    """

    def __init__(self, num_members: int, channels: int, *, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.empty(num_members, channels))
        self.bias = nn.Parameter(torch.empty(num_members, channels))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, generators: Generators = None) -> None:
        """Set scales to 1 and biases to 0."""
        self.weight.fill_(1)
        self.bias.zero_()

    def forward(self, x: Entries, mask: NodeMask) -> Entries:
        """Normalize; entries of padding remain zero."""
        pairs = mask[..., None] * mask[..., None, :]  # [members, graphs, 1, nodes, nodes]
        count = pairs.sum((3, 4), keepdim=True).clamp(min=1)
        centered = (x - x.sum((3, 4), keepdim=True) / count) * pairs
        variance = centered.square().sum((3, 4), keepdim=True) / count
        scale = self.weight[:, None, :, None, None] * torch.rsqrt(variance + self.epsilon)
        return torch.addcmul(self.bias[:, None, :, None, None] * pairs, centered, scale)


def _map_channels(
    linear: Linear, x: Float[Tensor, "members graphs channels entries"]
) -> Float[Tensor, "members graphs out_channels entries"]:
    """Apply an affine map to the channels of every entry."""
    # [members, 1, out_channels, channels] @ [members, graphs, channels, entries]
    product = linear.weight.transpose(1, 2)[:, None] @ x
    return product if linear.bias is None else product + linear.bias[:, None, :, None]
