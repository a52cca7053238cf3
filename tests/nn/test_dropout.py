"""Dropout: torch's own in a user's network, separate masks for members in training."""

import pytest
import torch

from clipgnn.nn.dropout import Dropout


def _generators(*seeds: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def test_by_itself_it_follows_torch() -> None:
    dropout, x = Dropout(2, 0.5), torch.ones(2, 3, 40)
    drawn = []
    for _ in range(2):
        torch.manual_seed(0)
        drawn.append(dropout(x))
    assert torch.equal(*drawn)
    assert not torch.equal(dropout(x), drawn[0])
    assert torch.equal(dropout.eval()(x), x)


def test_masks_are_a_members_own_and_new_at_every_call() -> None:
    together, alone = Dropout(3, 0.5), Dropout(1, 0.5)
    together.reset_parameters(_generators(7, 8, 9))
    alone.reset_parameters(_generators(8))
    x = torch.ones(3, 5, 200)
    state = torch.get_rng_state()
    first, second = together(x), together(x)
    assert torch.equal(torch.get_rng_state(), state)
    torch.testing.assert_close(first[1:2], alone(x[:1]))
    torch.testing.assert_close(second[1:2], alone(x[:1]))
    for one, other in ((first[0], first[1]), (first[0], second[0]), (first[0, 0], first[0, 1])):
        assert (one == other).float().mean() == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_expectation_stays(share: float) -> None:
    dropout = Dropout(1, share)
    dropout.reset_parameters(_generators(0))
    kept = dropout(torch.ones(1, 100, 1000))
    assert (kept == 0).float().mean() == pytest.approx(share, abs=0.01)
    assert kept.mean() == pytest.approx(1.0, abs=0.03)


def test_without_dropout_nothing_is_drawn() -> None:
    generator, same = _generators(1, 1)
    Dropout(1, 0.0).reset_parameters([generator])
    assert torch.equal(torch.rand(3, generator=generator), torch.rand(3, generator=same))
