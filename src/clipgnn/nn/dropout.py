"""Dropout with independent masks for each member."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from clipgnn.nn.layer import Generators, Layer
from clipgnn.ops.hashing import hashed_integers


class Dropout(Layer):
    """Dropout on `[members, graphs, …]`, in training only.

    Without generators it is the dropout of torch. After `reset_parameters` with a generator for
    each member, as in training, masks are hashed from the seed of the member and a counter: they
    are the same on every device, and new at every replay of a recorded step.

    Args:
        num_members: networks that are computed together.
        probability: probability that an entry is set to zero.

    Attributes:
        process: number of the process, among those that train together: each has masks of its own.

    Shapes:
        - input, output: `[members, graphs, …]`
    """

    seeds: Tensor
    masks: Tensor

    def __init__(self, num_members: int, probability: float) -> None:
        super().__init__()
        self.probability = probability
        self.seeded = False
        self.process = 0
        self.register_buffer("seeds", torch.zeros(num_members, dtype=torch.int64), persistent=False)
        self.register_buffer("masks", torch.zeros((), dtype=torch.int64), persistent=False)
        self.reset_parameters()

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw a seed for each member from its generator, if dropout is used."""
        self.seeded = generators is not None
        self.masks.zero_()
        if generators is not None and self.probability > 0:
            for member, generator in enumerate(generators):
                self.seeds[member] = torch.randint(2**62, (), generator=generator)

    def next_masks(self) -> tuple[Tensor, Tensor]:
        """Seeds and counter of the next masks."""
        self.masks.add_(1)
        return self.seeds, self.masks + (self.process << 40) if self.process else self.masks

    def forward(self, x: Float[Tensor, "members graphs *more"]) -> Tensor:
        """Set entries to zero and scale the others by 1 / (1 - probability)."""
        if not self.training or self.probability == 0:
            return x
        if not self.seeded:
            return functional.dropout(x, self.probability)
        # [members, graphs * ...]
        random = hashed_integers(*self.next_masks(), 1, x[0].numel())[0]
        kept = (random & (2**32 - 1)) >= int(self.probability * 2**32)
        return x * kept.view(x.shape) / (1 - self.probability)
