"""Batch normalisation: torch's own for one member, and each member's own for several."""

import pytest
import torch
from torch import Tensor, nn

from clipgnn.nn.norm import BatchNorm, Moments

CHANNELS = 4
dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def pair(seed: int, dtype: torch.dtype) -> tuple[BatchNorm, nn.BatchNorm1d]:
    """Ours with one member and torch's, with the same random weights and statistics."""
    generator = torch.Generator().manual_seed(seed)
    theirs = nn.BatchNorm1d(CHANNELS).to(dtype)
    ours = BatchNorm(1, CHANNELS).to(dtype)
    with torch.no_grad():
        for name in ("weight", "bias", "running_mean", "running_var"):
            value = torch.rand(CHANNELS, generator=generator, dtype=dtype) + 0.5
            getattr(theirs, name).copy_(value)
            getattr(ours, name)[0].copy_(value)
    return ours, theirs


def rows(seed: int, members: int, dtype: torch.dtype) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(members, 7, CHANNELS, generator=generator, dtype=dtype) * 3 + 2


def assert_same_state(ours: BatchNorm, theirs: nn.BatchNorm1d, member: int = 0) -> None:
    torch.testing.assert_close(ours.running_mean[member], theirs.running_mean)
    torch.testing.assert_close(ours.running_var[member], theirs.running_var)


def test_defaults_are_those_of_torch() -> None:
    ours, theirs = BatchNorm(2, CHANNELS), nn.BatchNorm1d(CHANNELS)
    assert ours.epsilon == theirs.eps
    assert ours.momentum == theirs.momentum
    for name in ("weight", "bias", "running_mean", "running_var"):
        assert torch.equal(getattr(ours, name), getattr(theirs, name).expand(2, CHANNELS))


@dtypes
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("recorded", [False, True])
def test_one_member_is_torchs_batch_norm(
    dtype: torch.dtype, training: bool, recorded: bool
) -> None:
    """Both ways it can be computed: by torch's kernel, and with a record of the statistics."""
    ours, theirs = pair(0, dtype)
    ours.train(training)
    theirs.train(training)
    for seed in range(3):
        x, same = (rows(seed, 1, dtype).requires_grad_() for _ in range(2))
        moments: Moments | None = {} if recorded else None
        out, expected = ours(x, moments), theirs(same[0])
        torch.testing.assert_close(out[0], expected)
        factors = torch.randn_like(expected)
        for module in (ours, theirs):
            module.zero_grad()
        (out[0] * factors).sum().backward()
        (expected * factors).sum().backward()
        assert x.grad is not None
        assert same.grad is not None
        torch.testing.assert_close(x.grad, same.grad)
        for name in ("weight", "bias"):
            torch.testing.assert_close(getattr(ours, name).grad[0], getattr(theirs, name).grad)
        assert_same_state(ours, theirs)


@dtypes
@pytest.mark.parametrize("training", [True, False])
def test_each_of_several_members_has_its_own(dtype: torch.dtype, training: bool) -> None:
    pairs = [pair(seed, dtype) for seed in range(3)]
    ours = BatchNorm(3, CHANNELS).to(dtype)
    for name, value in ours.state_dict().items():
        value.copy_(torch.cat([one.state_dict()[name] for one, _ in pairs]))
    ours.train(training)
    for seed in range(2):
        x = rows(seed, 3, dtype)
        out = ours(x)
        for member, (_, theirs) in enumerate(pairs):
            theirs.train(training)
            torch.testing.assert_close(out[member], theirs(x[member]))
            assert_same_state(ours, theirs, member)


def test_recorded_statistics_are_used_and_not_tracked_again() -> None:
    ours, theirs = pair(0, torch.float64)
    first, second = rows(0, 1, torch.float64), rows(1, 1, torch.float64)
    moments: Moments = {}
    ours(first, moments)
    theirs(first[0])
    assert_same_state(ours, theirs)
    mean, variance = first[0].mean(0), first[0].var(0, correction=0)
    expected = (second[0] - mean) / (variance + ours.epsilon).sqrt() * ours.weight + ours.bias
    torch.testing.assert_close(ours(second, moments)[0], expected)
    assert_same_state(ours, theirs)


def test_gradients_flow_through_recorded_statistics() -> None:
    ours, _ = pair(0, torch.float64)
    second = rows(1, 1, torch.float64)

    def normalised(first: Tensor) -> Tensor:
        moments: Moments = {}
        ours(first, moments)
        result: Tensor = ours(second, moments)
        return result

    assert torch.autograd.gradcheck(normalised, (rows(0, 1, torch.float64).requires_grad_(),))


def test_evaluation_leaves_the_statistics_alone() -> None:
    ours, _ = pair(0, torch.float64)
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    moments: Moments = {}
    ours.eval()(rows(0, 1, torch.float64), moments)
    assert not moments
    for name, value in ours.state_dict().items():
        assert torch.equal(value, before[name])
