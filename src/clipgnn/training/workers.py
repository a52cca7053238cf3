"""Processes that train one network together, each on a part of every batch."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist


@dataclass(frozen=True)
class Workers:
    """This process among those that train together.

    Attributes:
        rank: number of this process, from 0.
        size: number of processes.
        local_statistics: whether batch statistics are those of the part of a process.
    """

    rank: int = 0
    size: int = 1
    local_statistics: bool = False

    @property
    def alone(self) -> bool:
        """Whether there is one process."""
        return self.size == 1

    @property
    def synchronized(self) -> bool:
        """Whether batch statistics are those of all processes."""
        return self.size > 1 and not self.local_statistics

    def total(self, values: Tensor) -> Tensor:
        """Sum of the values of all processes, with gradients."""
        if self.alone:
            return values
        summed: Tensor = _Total.apply(values)  # type: ignore[no-untyped-call]
        return summed

    def own_part(self, chosen: Tensor) -> Tensor:
        """Graphs of a batch `[members, graphs]` that belong to this process."""
        return chosen if self.alone else chosen[:, self.rank :: self.size]


ALONE = Workers()
"""One process."""


def current_workers(*, local_statistics: bool = False) -> Workers:
    """The processes of `torch.distributed`, if it is initialized; otherwise this process alone."""
    if not (dist.is_available() and dist.is_initialized()):
        return ALONE
    return Workers(dist.get_rank(), dist.get_world_size(), local_statistics)


class _Total(torch.autograd.Function):
    """Sum over processes. The gradient of a process is the sum of those of all of them."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        summed = values.clone()
        dist.all_reduce(summed)
        return summed

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        summed = grads[0].clone()
        dist.all_reduce(summed)
        return summed
