"""Slots of a batch: the kernel against the operations of torch."""

import pytest
import torch

from clipgnn.ops.slots import Slots, fill_slots

COUNTS = torch.tensor([3, 1, 0, 5, 2, 0])  # the last graph is padding
BEGIN = torch.tensor([0, 3, 4, 4, 9, 11])
CHOSEN = torch.tensor([[3, 0, 2], [5, 1, 4]])


def test_slots_hold_the_items_of_the_graphs() -> None:
    slots = fill_slots(CHOSEN, BEGIN, COUNTS, 9, 11)
    assert slots.item.view(2, 9).tolist() == [
        [4, 5, 6, 7, 8, 0, 1, 2, 11],
        [3, 9, 10, 11, 11, 11, 11, 11, 11],
    ]
    assert slots.first.view(2, 9)[0].tolist() == [0] * 5 + [5] * 3 + [0]
    assert slots.begins.tolist() == [0, 5, 8, 9, 9, 10]
    assert slots.counts.tolist() == [5, 3, 0, 0, 1, 2]
    assert slots.totals.tolist() == [8, 3]
    assert slots.totals.is_contiguous()


@pytest.mark.needs("triton")
@pytest.mark.parametrize("capacity", [8, 40, 130])
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_kernel(capacity: int, device: str) -> None:
    from clipgnn.ops.kernels.slots import launch

    expected = fill_slots(CHOSEN, BEGIN, COUNTS, capacity, 11)
    filled = launch(CHOSEN.to(device), BEGIN.to(device), COUNTS.to(device), capacity, 11)
    found = Slots(*(tensor.cpu() for tensor in filled))
    used = expected.item != 11  # the segment of padding can be any
    assert torch.equal(found.segment[used], expected.segment[used])
    for name in ("item", "first", "begins", "counts", "totals"):
        assert torch.equal(getattr(found, name), getattr(expected, name)), name
