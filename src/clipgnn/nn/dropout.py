"""Dropout with separate masks for each member, which do not depend on the other members."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from clipgnn.coloring.hashed import hashed_integers
from clipgnn.nn.members import Drawn


class Dropout(Drawn):
    """Dropout on `[members, graphs, …]`, in training only.

    By itself it is torch's dropout. Where members' weights are drawn from generators of their own,
    as training does, a mask is hashed from the member's seed, drawn there too, and the number of
    masks before it: the same on every device, and new at every replay of a recorded step.

    Args:
        num_members: networks side by side.
        share: share of the entries that are set to zero; the others grow by as much.
    """

    seeds: Tensor
    masks: Tensor

    def __init__(self, num_members: int, share: float) -> None:
        super().__init__()
        self.share = share
        self.seeded = False
        self.register_buffer("seeds", torch.zeros(num_members, dtype=torch.int64), persistent=False)
        self.register_buffer("masks", torch.zeros((), dtype=torch.int64), persistent=False)
        self.reset_parameters()

    def reset_parameters(self, generators: Sequence[torch.Generator] | None = None) -> None:
        """Draw a seed for each member; nothing without dropout, or without generators."""
        self.seeded = generators is not None
        self.masks.zero_()
        if generators is not None and self.share > 0:
            for member, generator in enumerate(generators):
                self.seeds[member] = torch.randint(2**62, (), generator=generator)

    def forward(self, x: Float[Tensor, "members graphs *more"]) -> Tensor:
        """What is kept, scaled so that the expectation stays."""
        if not self.training or self.share == 0:
            return x
        if not self.seeded:
            return functional.dropout(x, self.share)
        self.masks.add_(1)
        random = hashed_integers(self.seeds, self.masks, 1, x[0].numel())[0]
        kept = (random & (2**32 - 1)) >= int(self.share * 2**32)
        return x * kept.view(x.shape) / (1 - self.share)
