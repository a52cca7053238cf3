"""Batch normalization: torch's own for one member, and each member's own for several."""

import pytest
import torch
from torch import Tensor, nn

from clipgnn.nn.norm import INITIAL_BIAS, ROUNDING, BatchNorm, Moments

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
        ours.running_weight.fill_(1)
    return ours, theirs


def rows(seed: int, members: int, dtype: torch.dtype) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(members, 7, CHANNELS, generator=generator, dtype=dtype) * 3 + 2


def assert_same_state(ours: BatchNorm, theirs: nn.BatchNorm1d, member: int = 0) -> None:
    mean, variance = ours.statistics()
    torch.testing.assert_close(mean[member], theirs.running_mean)
    torch.testing.assert_close(variance[member], theirs.running_var)


def test_defaults_are_those_of_torch() -> None:
    ours, theirs = BatchNorm(2, CHANNELS), nn.BatchNorm1d(CHANNELS)
    assert ours.epsilon == theirs.eps
    assert ours.momentum == theirs.momentum
    mean, variance = ours.statistics()
    assert theirs.running_mean is not None
    assert theirs.running_var is not None
    for own, expected in (
        (ours.weight, theirs.weight),
        (ours.bias, theirs.bias + INITIAL_BIAS),
        (mean, theirs.running_mean),
        (variance, theirs.running_var),
    ):
        assert torch.equal(own, expected.expand(2, CHANNELS))


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

    def normalized(first: Tensor) -> Tensor:
        moments: Moments = {}
        ours(first, moments)
        result: Tensor = ours(second, moments)
        return result

    assert torch.autograd.gradcheck(normalized, (rows(0, 1, torch.float64).requires_grad_(),))


def test_evaluation_leaves_the_statistics_alone() -> None:
    ours, _ = pair(0, torch.float64)
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    moments: Moments = {}
    ours.eval()(rows(0, 1, torch.float64), moments)
    assert not moments
    for name, value in ours.state_dict().items():
        assert torch.equal(value, before[name])


@dtypes
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("padding", [0.0, 7.0, 1e30, torch.inf, torch.nan])
def test_padding_has_no_influence_and_is_zero_afterwards(
    dtype: torch.dtype, training: bool, padding: float
) -> None:
    """Also next to a channel without variance, which scales whatever it is given by 316."""
    exact = rows(0, 2, dtype)
    exact[:, :, 0] = 3.0
    ours, same = BatchNorm(2, CHANNELS).to(dtype), BatchNorm(2, CHANNELS).to(dtype)
    for norm in (ours, same):
        norm.train(training)
        norm.running_weight.fill_(1)
    padded = torch.cat([exact, torch.full((2, 5, CHANNELS), padding, dtype=dtype)], dim=1)
    padded.requires_grad_()
    real = torch.arange(12) < 7
    out = ours(padded, None, real.expand(2, 12))
    torch.testing.assert_close(out[:, :7], same(exact))
    assert torch.equal(out[:, 7:], torch.zeros(2, 5, CHANNELS, dtype=dtype))
    for name in ("running_mean", "running_var"):
        torch.testing.assert_close(getattr(ours, name), getattr(same, name))
    out.square().sum().backward()
    assert padded.grad is not None
    assert bool(padded.grad[:, :7].isfinite().all())
    assert not padded.grad[:, 7:].nan_to_num(0).any()


@dtypes
def test_statistics_do_not_depend_on_what_stood_before_the_first_step(dtype: torch.dtype) -> None:
    norm = BatchNorm(1, CHANNELS).to(dtype)
    first, second = rows(0, 1, dtype), rows(1, 1, dtype)
    norm(first)
    mean, variance = norm.statistics()
    torch.testing.assert_close(mean, first.mean(1))
    torch.testing.assert_close(variance, first.var(1))
    norm(second)
    mean, variance = norm.statistics()
    torch.testing.assert_close(mean, (0.9 * first.mean(1) + second.mean(1)) / 1.9)
    torch.testing.assert_close(variance, (0.9 * first.var(1) + second.var(1)) / 1.9)


def _constant(value: float, dtype: torch.dtype, number: int = 3000) -> Tensor:
    """Rows whose first channel is constant up to rounding."""
    x = torch.randn(1, number, CHANNELS, generator=torch.Generator().manual_seed(0)).to(dtype)
    noise = torch.randint(-1, 2, (number,), generator=torch.Generator().manual_seed(1))
    x[0, :, 0] = (value * (1 + noise * torch.finfo(dtype).eps / 2)).to(dtype)
    return x


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str
)
@pytest.mark.parametrize("value", [0.0, 1e-3, 1.0, 100.0])
@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("padded", [False, True])
def test_a_constant_channel_is_its_bias(
    dtype: torch.dtype, value: float, members: int, padded: bool
) -> None:
    """In training, without a gradient, and in evaluation with weights that have moved on."""
    norm = BatchNorm(members, CHANNELS).to(dtype)
    x = _constant(value, dtype).repeat(members, 1, 1).requires_grad_()
    real = torch.ones(members, x.shape[1], dtype=torch.bool) if padded else None
    out = norm(x, None, real)
    assert out.dtype == dtype
    assert torch.equal(out[:, :, 0], norm.bias.detach()[:, None, 0].expand(out.shape[:2]))
    assert out[:, :, 1:].float().std() > 0.9
    out[:, ::2].sum().backward()
    assert x.grad is not None
    assert not x.grad[:, :, 0].any()
    assert bool(x.grad.isfinite().all())
    drifted = x.detach() + 0.01 * max(1.0, value)
    later = norm.eval()(drifted, None, real)
    assert torch.equal(later[:, :, 0], out[:, :, 0])


def test_the_treatment_of_constant_channels_is_continuous_and_leaves_the_others() -> None:
    """Against the formula without it, for standard deviations from far under to far above ρ."""
    norm = BatchNorm(1, 1)
    torch.nn.init.zeros_(norm.bias)
    deviation = torch.finfo(torch.float32).eps * ROUNDING * torch.logspace(-3, 3, 601)
    plain = deviation * torch.rsqrt(deviation.square() + norm.epsilon)
    rows = torch.stack([-deviation, deviation], dim=1)
    share = torch.stack([norm(row[None, :, None], {})[0, 1, 0] for row in rows]).detach() / plain
    assert bool((share.diff() >= -1e-6).all())
    assert share.diff().max() < 0.06
    assert not share[deviation <= 0.99 * torch.finfo(torch.float32).eps * ROUNDING].any()
    torch.testing.assert_close(share[-200:], torch.ones(200), rtol=1e-6, atol=0)


@pytest.mark.parametrize("number", [10**3, 10**5, 10**6])
def test_one_row_that_differs_is_the_same_in_training_and_evaluation(number: int) -> None:
    """Its channel varies little, so that the choice of the kernel depends on exact statistics."""
    x = torch.ones(1, number, 1)
    x[0, 0] += 0.0025
    norm = BatchNorm(1, 1)
    in_training = norm(x).detach()
    torch.testing.assert_close(norm.eval()(x).detach(), in_training, rtol=0, atol=1e-3)


def test_a_member_with_one_row_is_its_bias_and_leaves_its_averages() -> None:
    norm = BatchNorm(2, CHANNELS).double()
    x = rows(0, 2, torch.float64)
    real = torch.ones(2, x.shape[1], dtype=torch.bool)
    real[1, 1:] = False
    out = norm(x, None, real)
    assert torch.equal(out[1, 0], norm.bias[1])
    assert norm.running_weight.flatten().tolist() == [pytest.approx(0.1), 0.0]
    assert torch.equal(norm.statistics()[1][1], torch.ones(CHANNELS, dtype=torch.float64))


@pytest.mark.parametrize("members", [1, 2])
def test_counts_are_repetitions_of_rows(members: int) -> None:
    """Rows, statistics and gradients are those of the repeated rows."""
    norm, same = BatchNorm(members, CHANNELS).double(), BatchNorm(members, CHANNELS).double()
    x = rows(0, members, torch.float64).requires_grad_()
    counts = torch.tensor([1, 3, 2, 1, 5, 1, 2])
    found = norm(x, None, None, counts.expand(members, -1))
    expected = same(x.repeat_interleave(counts, dim=1))
    torch.testing.assert_close(found.repeat_interleave(counts, dim=1), expected)
    for name, average in norm.named_buffers():
        torch.testing.assert_close(average, same.get_buffer(name))
    factors = rows(1, members, torch.float64).repeat_interleave(counts, dim=1)
    of_distinct = (found.repeat_interleave(counts, dim=1) * factors).sum()
    torch.testing.assert_close(
        torch.autograd.grad(of_distinct, x), torch.autograd.grad((expected * factors).sum(), x)
    )


def test_rows_are_overwritten_only_where_it_is_allowed() -> None:
    norm, x = BatchNorm(1, CHANNELS).eval(), rows(0, 1, torch.float32)
    before = x.clone()
    with torch.no_grad():
        expected = norm(x)
        assert torch.equal(x, before)
        found = norm(x, overwrite=True)
    assert torch.equal(found, expected)
    assert found.data_ptr() == x.data_ptr()


@pytest.mark.parametrize("rows", ["all", "padded", "repeated"])
def test_statistics_of_one_process_are_its_own(rows: str) -> None:
    """Statistics that are shared with no other process, with their own gradient."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 7, 3, dtype=torch.float64, generator=generator)
    mask = torch.arange(7).expand(2, 7) < torch.tensor([[5], [7]]) if rows == "padded" else None
    counts = torch.arange(1, 8).expand(2, 7) if rows == "repeated" else None
    weights = torch.randn(x.shape, dtype=torch.float64, generator=generator)
    found = []
    for gather in (None, lambda own: own[None]):
        norm = BatchNorm(2, 3).double()
        norm.gather = gather
        given = x.clone().requires_grad_()
        output = norm(given, mask=mask, counts=counts)
        (output * weights).sum().backward()
        assert given.grad is not None
        assert norm.weight.grad is not None
        assert norm.bias.grad is not None
        kept = (norm.running_mean, norm.running_var, norm.weight.grad, norm.bias.grad)
        found.append((output.detach(), given.grad, *kept))
    for alone, together in zip(*found, strict=True):
        torch.testing.assert_close(alone, together, rtol=1e-12, atol=1e-12)
