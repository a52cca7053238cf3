"""2-layer MLPs φ and ψ: affine map, normalization, activation, affine map."""

import torch
from torch import Tensor, nn

from clipgnn.nn.activation import activation_named
from clipgnn.nn.linear import Linear
from clipgnn.nn.norm import BatchNorm, Moments
from clipgnn.shapes import MemberRows


class MLP(nn.Module):
    """A 2-layer MLP, a universal approximator of continuous functions (Theorem 1).

    `Aggregation` does not call `forward`: there, each affine map is adjacent to another affine map,
    and their weights are multiplied with each other; see `maps.py`.

    Args:
        num_members: networks that are computed together.
        in_channels: channels of the input.
        hidden_channels: channels between the two maps.
        out_channels: channels of the output.
        activation: name of a continuous non-polynomial function.
        norm: "batch" or None.
        out_bias: whether the second map has a bias.
        initialization: initial weights of both maps; see `Linear`.

    Shapes:
        - input: `[members, rows, in_channels]`
        - output: `[members, rows, out_channels]`
    """

    def __init__(
        self,
        num_members: int,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        activation: str,
        norm: str | None,
        out_bias: bool = True,
        initialization: str = "uniform",
    ) -> None:
        super().__init__()
        self.activation = activation_named(activation)
        self.first = Linear(
            num_members, in_channels, hidden_channels, initialization=initialization
        )
        self.norm = BatchNorm(num_members, hidden_channels) if norm == "batch" else None
        self.second = Linear(
            num_members, hidden_channels, out_channels, bias=out_bias, initialization=initialization
        )

    def forward(
        self, x: MemberRows, moments: Moments | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Apply the MLP; see `BatchNorm` for `moments` and `mask`."""
        return self.second(self.activate(self.first(x), moments, mask))

    def activate(
        self,
        x: MemberRows,
        moments: Moments | None = None,
        mask: Tensor | None = None,
        counts: Tensor | None = None,
    ) -> MemberRows:
        """Normalize and activate the output of the first map, which can be overwritten.

        See `BatchNorm` for the arguments.
        """
        if self.norm is not None:
            # Under autocast rows have a lower precision than the statistics require.
            x = x.to(torch.promote_types(x.dtype, self.norm.weight.dtype))
            overwrite = not (torch.is_grad_enabled() or torch.compiler.is_compiling())
            x = self.norm(x, moments, mask, counts, overwrite=overwrite)
            if self.activation is torch.relu:
                return torch.relu_(x)  # in place, since the gradient of the norm needs its input
        return self.activation(x)

    def activate_normalized(self, x: MemberRows, mask: Tensor | None = None) -> MemberRows:
        """Activate normalized rows, which can be overwritten.

        Args:
            x: the rows.
            mask: which rows are not padding, which is zero before the activation; None without it.
        """
        if mask is not None:
            x = torch.where(mask[:, :, None], x, 0)
        return torch.relu_(x) if self.activation is torch.relu else self.activation(x)
