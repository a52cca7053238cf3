"""Best epoch of each member, its state, and early stopping."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class BestEpoch:
    """Tracks the best epoch of each member, without synchronization with the device.

    Args:
        num_members: number of members.
        patience: number of epochs without improvement after which a member stops. Later epochs have
            no effect on it. None for no limit.
        device: device of the values.

    Attributes:
        epochs: number of epochs so far.
        best_epoch: `[members]`, from 1; 0 before the first finite value.
        stopped_after: `[members]`, number of epochs after which a member stopped; 0 if it has not.
    """

    def __init__(self, num_members: int, patience: int | None, device: torch.device) -> None:
        self.patience = patience
        self.epochs = 0
        self.best = torch.full((num_members,), torch.inf, device=device)
        self.best_epoch = torch.zeros(num_members, dtype=torch.int64, device=device)
        self.stopped_after = torch.zeros_like(self.best_epoch)
        self._kept: dict[str, Tensor] = {}

    def update(
        self, values: Float[Tensor, "members"], state: dict[str, Tensor]
    ) -> Bool[Tensor, "members"]:
        """Update the best epoch with the values of an epoch; lower is better.

        Args:
            values: value of each member; NaN is never better.
            state: tensors `[members, …]` to keep from the best epoch of each member.

        Returns:
            Which members have stopped.
        """
        self.epochs += 1
        active = self.stopped_after == 0
        improved = (values < self.best) & active
        self.best = torch.where(improved, values, self.best)
        self.best_epoch = torch.where(improved, self.epochs, self.best_epoch)
        for name, value in state.items():
            if name not in self._kept:
                self._kept[name] = value.detach().clone()
            else:
                chosen = improved.view(-1, *[1] * (value.dim() - 1))  # [members, 1, ...]
                torch.where(chosen, value.detach(), self._kept[name], out=self._kept[name])
        if self.patience is not None:
            waited = self.epochs - self.best_epoch >= self.patience
            self.stopped_after = torch.where(
                waited & active & ~improved, self.epochs, self.stopped_after
            )
        return self.stopped_after > 0

    @property
    def state(self) -> dict[str, Tensor]:
        """Everything but the number of epochs, by name, from which `restore` continues."""
        values = {"best": self.best, "epoch": self.best_epoch, "stopped": self.stopped_after}
        return values | {f"kept.{name}": own for name, own in self._kept.items()}

    def restore(self, state: dict[str, Tensor], epochs: int) -> None:
        """Continue from a state after a number of epochs."""
        self.epochs = epochs
        self.best, self.best_epoch = state["best"], state["epoch"]
        self.stopped_after = state["stopped"]
        self._kept = {
            name.removeprefix("kept."): own
            for name, own in state.items()
            if name.startswith("kept.")
        }

    def kept(self, name: str) -> Tensor:
        """A tensor of the state at the best epoch of each member; at the first if there is none."""
        return self._kept[name]
