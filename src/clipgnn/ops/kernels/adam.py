"""Triton kernel of Adam on flat tensors."""

import triton
import triton.language as tl
from torch import Tensor

from clipgnn.ops.kernels.kernel import kernel

BLOCK = 1024
"""Entries of a program."""


def launch(
    parameters: Tensor,
    grads: Tensor,
    mean: Tensor,
    square: Tensor,
    steps: Tensor,
    rate: Tensor,
    betas: tuple[float, float],
    epsilon: float,
) -> None:
    """Update flat parameters in place; see `training.adam`."""
    size = parameters.numel()
    _adam[(triton.cdiv(size, BLOCK),)](
        parameters, grads, mean, square, steps, rate, *betas, epsilon, size, BLOCK=BLOCK
    )


@kernel
def _adam(
    parameters, grads, mean, square, steps, rate, beta1, beta2, epsilon, size, BLOCK: tl.constexpr
):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < size
    step = tl.load(steps).to(tl.float32)
    own_rate = tl.load(rate).to(tl.float32)
    grad = tl.load(grads + index, mask=inside, other=0.0)
    first = tl.load(mean + index, mask=inside, other=0.0)
    first += (1.0 - beta1) * (grad - first)
    second = tl.load(square + index, mask=inside, other=0.0)
    second = beta2 * second + (1.0 - beta2) * grad * grad
    correction1 = 1.0 - tl.exp(step * tl.log(beta1))
    correction2 = 1.0 - tl.exp(step * tl.log(beta2))
    deviation = tl.sqrt(second) / tl.sqrt(correction2) + epsilon
    before = tl.load(parameters + index, mask=inside, other=0.0)
    after = before - own_rate / correction1 * first / deviation
    tl.store(parameters + index, after.to(before.dtype), mask=inside)
    tl.store(mean + index, first.to(before.dtype), mask=inside)
    tl.store(square + index, second.to(before.dtype), mask=inside)
