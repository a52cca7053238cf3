"""The best epoch of each member: ties, patience, NaN, and the state that is kept."""

import pytest
import torch

from clipgnn.training.best import BestEpoch

NAN = float("nan")
CPU = torch.device("cpu")


def _follow(curves: list[list[float]], patience: int | None) -> tuple[BestEpoch, list[list[bool]]]:
    """Update with curves `[members][epochs]`; the state of an epoch is its number."""
    best = BestEpoch(len(curves), patience, CPU)
    stopped = []
    for epoch, values in enumerate(zip(*curves, strict=True), start=1):
        state = {"epoch": torch.full((len(curves), 2, 3), epoch)}
        stopped.append(best.update(torch.tensor(values), state).tolist())
    return best, stopped


@pytest.mark.parametrize(
    ("curve", "best_epoch"),
    [
        ([3.0, 1.0, 2.0], 2),
        ([1.0, 1.0, 1.0], 1),  # of equal epochs, the first
        ([3.0, 2.0, 2.0, 1.0], 4),
        ([NAN, 2.0, NAN, 3.0], 2),
        ([2.0, NAN, 1.0], 3),
        ([-1.0, -2.0, 0.0], 2),
        ([NAN, NAN], 0),
        ([float("inf"), float("inf")], 0),
    ],
)
def test_the_best_epoch_and_its_state(curve: list[float], best_epoch: int) -> None:
    best, _ = _follow([curve], None)
    assert best.best_epoch.tolist() == [best_epoch]
    assert best.stopped_after.tolist() == [0]
    # Without any finite value, the state of the first epoch.
    assert torch.equal(best.kept("epoch"), torch.full((1, 2, 3), max(1, best_epoch)))


@pytest.mark.parametrize(
    ("patience", "stopped_after"),
    [(1, 3), (2, 6), (3, 0)],
)
def test_patience(patience: int, stopped_after: int) -> None:
    best, stopped = _follow([[3.0, 2.0, 2.5, 1.0, 1.0, 1.0]], patience)
    assert best.stopped_after.tolist() == [stopped_after]
    flags = [flag for (flag,) in stopped]
    assert flags == [bool(stopped_after) and epoch >= stopped_after for epoch in range(1, 7)]


def test_epochs_after_the_stop_do_not_count() -> None:
    best, _ = _follow([[2.0, 3.0, 1.0, 0.0]], patience=1)
    assert (best.stopped_after.tolist(), best.best_epoch.tolist()) == ([2], [1])
    assert bool((best.kept("epoch") == 1).all())


def test_values_that_are_never_finite_stop_too() -> None:
    best, stopped = _follow([[NAN, NAN, NAN]], patience=2)
    assert (best.stopped_after.tolist(), best.best_epoch.tolist()) == ([2], [0])
    assert stopped == [[False], [True], [True]]


def test_members_are_followed_one_by_one() -> None:
    curves = [[3.0, 2.0, 1.0, 0.0], [1.0, 2.0, 3.0, 0.0], [NAN, 1.0, NAN, NAN]]
    best, stopped = _follow(curves, patience=2)
    assert best.best_epoch.tolist() == [4, 1, 2]
    assert best.stopped_after.tolist() == [0, 3, 4]
    assert stopped[2] == [False, True, False]
    assert best.kept("epoch")[:, 0, 0].tolist() == [4, 1, 2]


def test_the_state_is_a_copy() -> None:
    best = BestEpoch(1, None, CPU)
    state = torch.ones(1, 2)
    best.update(torch.tensor([1.0]), {"state": state})
    state.zero_()
    best.update(torch.tensor([2.0]), {"state": state})
    assert best.kept("state").tolist() == [[1.0, 1.0]]
