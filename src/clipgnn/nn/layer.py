"""The interface of layers with a members axis, and their initialization."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

Generators = Sequence[torch.Generator] | None
"""A generator for each member; None for the global generator of torch."""


class Layer(nn.Module, ABC):
    """A module with parameters or buffers that can be initialized again."""

    @abstractmethod
    def reset_parameters(self, generators: Generators = None) -> None:
        """Initialize the layer's own parameters and buffers, not those of layers inside it.

        Args:
            generators: a generator for each member; the global generator of torch by default.
        """


def draw_uniform(parameter: Tensor, bound: float, generators: Generators) -> None:
    """Fill `[members, …]` uniformly within ±bound, each member from its generator."""
    if generators is None:
        nn.init.uniform_(parameter, -bound, bound)
        return
    for own, generator in zip(parameter, generators, strict=True):
        nn.init.uniform_(own, -bound, bound, generator=generator)
