"""Random bits from a seed and a counter."""

import torch

from clipgnn.ops.hashing import hashed_integers, shift_right


def test_all_integers_are_distinct() -> None:
    integers = hashed_integers(torch.tensor([0, 1]), torch.tensor(0), 50, 50)
    assert integers.shape == (50, 2, 50)
    assert integers.unique().numel() == integers.numel()


def test_they_are_a_function_of_seed_counter_and_position() -> None:
    seeds = torch.tensor([5, -7, 2**62])
    together = hashed_integers(seeds, torch.tensor(3), 4, 6)
    for member in range(3):
        alone = hashed_integers(seeds[member : member + 1], torch.tensor(3), 4, 6)
        assert torch.equal(together[:, member : member + 1], alone)
    assert torch.equal(hashed_integers(seeds, torch.tensor(3), 2, 5), together[:2, :, :5])
    assert not torch.equal(hashed_integers(seeds, torch.tensor(4), 4, 6), together)


def test_every_bit_is_set_half_of_the_time() -> None:
    integers = hashed_integers(torch.tensor([1]), torch.tensor(0), 100, 100).flatten()
    for bit in range(64):
        share = float(((integers >> bit) & 1).double().mean())
        assert abs(share - 0.5) < 0.025, bit  # five standard deviations


def test_shifts_fill_with_zeros() -> None:
    values = [-1, -(2**63), 2**62, 5]
    for places in (1, 30, 63):
        shifted = shift_right(torch.tensor(values), places)
        assert shifted.tolist() == [(value % 2**64) >> places for value in values]
