"""Adam on one flat tensor that holds all parameters."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

BETAS = (0.9, 0.999)
EPSILON = 1e-8

LARGEST_RATE = 1e37
"""Larger learning rates would overflow in float32; they diverge anyway."""


class Adam:
    """Adam with the defaults of `torch.optim.Adam`.

    All parameters become views of one flat tensor, so that an update is a few operations, and one
    kernel on a GPU. `torch.optim` updates each tensor on its own, and importing the compiler, which
    it does before its first step, takes longer than a short training.

    Args:
        parameters: the parameters.
        rate: the learning rate; it can be changed between steps.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], rate: float) -> None:
        # Kernels load four floats at once from parameters that begin at a multiple of them.
        self.parameters = sorted(parameters, key=lambda own: own.numel() % 4 != 0)
        with torch.no_grad():
            self._flat = torch.cat([own.detach().flatten() for own in self.parameters])
            sizes = [own.numel() for own in self.parameters]
            for own, part in zip(self.parameters, self._flat.split(sizes), strict=True):
                own.data = part.view(own.shape)
        self._mean = torch.zeros_like(self._flat)
        self._square = torch.zeros_like(self._flat)
        # On the device, because a recorded program reads them at every replay.
        self._steps = torch.zeros((), dtype=torch.float64, device=self._flat.device)
        self._rate = torch.zeros_like(self._steps)
        self.set_rate(rate)

    @property
    def rate(self) -> float:
        """The learning rate."""
        return float(self._rate)

    def set_rate(self, rate: float) -> None:
        """Set the learning rate."""
        self._rate.fill_(min(rate, LARGEST_RATE))

    @property
    def state(self) -> dict[str, Tensor]:
        """The moments of the gradients and the number of steps, which can be overwritten."""
        return {"mean": self._mean, "square": self._square, "steps": self._steps}

    def reset(self) -> None:
        """Forget all steps."""
        for tensor in self.state.values():
            tensor.zero_()

    def zero_grad(self) -> None:
        """Remove the gradients."""
        for own in self.parameters:
            own.grad = None

    @torch.no_grad()
    def step(self, total: Callable[[Tensor], Tensor] | None = None) -> None:
        """Update the parameters with their gradients; without one, a parameter has gradient 0.

        Args:
            total: function that sums the gradients over all processes that train together.
        """
        grads = torch.cat([_gradient(own) for own in self.parameters])
        if total is not None:
            grads = total(grads)
        self._steps += 1
        if self._flat.is_cuda and self._flat.dtype == torch.float32:
            from clipgnn.ops.kernels.adam import launch  # requires Triton

            tensors = (self._flat, grads, self._mean, self._square, self._steps, self._rate)
            launch(*tensors, BETAS, EPSILON)
            return
        beta1, beta2 = BETAS
        self._mean.lerp_(grads, 1 - beta1)
        self._square.mul_(beta2).addcmul_(grads, grads, value=1 - beta2)
        deviation = (self._square / (1 - beta2**self._steps)).sqrt_().add_(EPSILON)
        rate = self._rate / (1 - beta1**self._steps)
        self._flat.sub_(self._mean.div(deviation).mul_(rate))


def _gradient(parameter: nn.Parameter) -> Tensor:
    grad = parameter.grad
    return torch.zeros_like(parameter).flatten() if grad is None else grad.flatten()
