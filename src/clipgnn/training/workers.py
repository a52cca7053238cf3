"""Processes that train one network together, each on a part of every batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

GATHERED = 2**16
"""Largest number of values that all processes send to each other, and each of them adds in the same
order. For more values an all-reduce sends less, but it has several times the latency with gloo."""


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

    @torch.no_grad()
    def total(self, values: Tensor) -> Tensor:
        """Sum of the values of all processes."""
        if self.alone:
            return values
        if values.numel() <= GATHERED:
            return torch.stack(_all(values)).sum(0)
        summed = values.clone()
        dist.all_reduce(summed)
        return summed

    def from_first(self, numbers: Sequence[int]) -> list[int]:
        """The integers of the first process, which random numbers of the others replace."""
        if self.alone:
            return list(numbers)
        on_gpu = dist.get_backend() == "nccl"
        shared = torch.tensor(numbers, device="cuda" if on_gpu else "cpu")
        dist.broadcast(shared, 0)
        return [int(own) for own in shared]

    def gather(self, values: Tensor) -> Tensor:
        """Values of all processes, `[processes, …]`, with gradients."""
        gathered: Tensor = _Gather.apply(values)  # type: ignore[no-untyped-call]
        return gathered

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


class _Gather(torch.autograd.Function):
    """Values of all processes. Their gradient is the sum of those of all processes."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        return torch.stack(_all(values))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        own = dist.get_rank()
        return torch.stack([grad[own] for grad in _all(grads[0])]).sum(0)


def _all(values: Tensor) -> list[Tensor]:
    """Values of each process."""
    gathered = [torch.empty_like(values) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, values.contiguous())
    return gathered
