"""What training asks of a network: members side by side, each with weights from its own seed."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clipgnn.graphs.padded import PaddedBatch
from clipgnn.shapes import Colorings, GraphFeatures


class Members(nn.Module, ABC):
    """Networks that train side by side, each on its own batch."""

    def colorings_wanted(self, *, training: bool) -> int:
        """Colorings of every graph that `classify` wants; none for networks without colors."""
        return 0

    def rows_of_graph(self, nodes: float, *, training: bool) -> float:
        """Rows of channels that a graph of this many nodes takes in a layer: what a step costs."""
        return nodes * max(1, self.colorings_wanted(training=training))

    @abstractmethod
    def classify(self, graphs: PaddedBatch, colorings: Colorings | None) -> GraphFeatures:
        """The output for each graph of each member's own batch.

        Args:
            graphs: a batch for each member.
            colorings: `[colorings, nodes]`; None where none are wanted.

        Returns:
            `[members, graphs, out_channels]`; anything for graphs that are padding.
        """


class Drawn(nn.Module, ABC):
    """A part of a network that has weights to draw."""

    @abstractmethod
    def reset_parameters(self, generators: Sequence[torch.Generator] | None = None) -> None:
        """Draw all weights again.

        Args:
            generators: a source of randomness for each member; torch's global one without them.
        """


def draw_uniform(
    parameter: Tensor, bound: float, generators: Sequence[torch.Generator] | None
) -> None:
    """Fill `[members, …]` uniformly within ±bound, each member from its own generator."""
    if generators is None:
        nn.init.uniform_(parameter, -bound, bound)
        return
    for own, generator in zip(parameter, generators, strict=True):
        nn.init.uniform_(own, -bound, bound, generator=generator)
