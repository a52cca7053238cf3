"""Random bits as a function of a seed and a counter, without state, the same on every device.

Every member has its own seed, so that its random numbers do not depend on the other members. A
recorded GPU program draws new numbers at every replay, because the counter is a tensor.
"""

import torch
from jaxtyping import Int
from torch import Tensor


def hashed_integers(
    seeds: Int[Tensor, "members"], counter: Int[Tensor, "*members"], rows: int, columns: int
) -> Int[Tensor, "rows members columns"]:
    """Compute 64 random bits for each position from seed, counter and position.

    Args:
        seeds: seed of each member.
        counter: a number that differs in every draw, such as the number of the step; or one for
            each member.
        rows: number of rows of each member.
        columns: number of columns of each member.
    """
    row = torch.arange(rows, device=seeds.device)[:, None, None]
    column = torch.arange(columns, device=seeds.device)
    start = mix(seeds + mix(counter + 1))
    return mix(start[:, None] ^ mix((row << 32) + column + 1))


def shift_right(bits: Tensor, places: int) -> Tensor:
    """Logical shift to the right, filled with zeros."""
    return (bits >> places) & (2 ** (64 - places) - 1)


def mix(bits: Tensor) -> Tensor:
    """The finalizer of SplitMix64: every input bit changes every output bit."""
    bits = bits * -7046029254386353131
    bits = (bits ^ shift_right(bits, 30)) * -4658895280553007687
    bits = (bits ^ shift_right(bits, 27)) * -7723592293110705685
    return bits ^ shift_right(bits, 31)
