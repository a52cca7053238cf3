"""Adam on a flat tensor."""

import pytest
import torch
from torch import nn

from clipgnn.training.adam import Adam


def _network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()


def _grads(network: nn.Module, seed: int) -> None:
    torch.manual_seed(seed)
    network(torch.randn(5, 3, dtype=torch.float64)).square().sum().backward()


def test_updates_are_those_of_torch() -> None:
    ours, theirs = _network(), _network()
    own, reference = Adam(ours.parameters(), 0.1), torch.optim.Adam(theirs.parameters(), lr=0.1)
    for step in range(20):
        if step == 10:
            own.set_rate(0.01)
            reference.param_groups[0]["lr"] = 0.01
        own.zero_grad()
        reference.zero_grad()
        _grads(ours, step)
        _grads(theirs, step)
        own.step()
        reference.step()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-12)


def test_a_parameter_without_gradient_does_not_change() -> None:
    network = _network()
    optimizer = Adam(network.parameters(), 0.1)
    before = [own.detach().clone() for own in network.parameters()]
    last = list(network.parameters())[-1]
    last.grad = torch.ones_like(last)
    optimizer.step()
    changed = [not torch.equal(a, b) for a, b in zip(before, network.parameters(), strict=True)]
    assert changed == [False, False, False, True]


def test_reset_forgets_all_steps() -> None:
    network = _network()
    optimizer = Adam(network.parameters(), 0.1)
    state = {name: value.clone() for name, value in network.state_dict().items()}
    updated = []
    for _ in range(2):
        network.load_state_dict(state)
        optimizer.reset()
        optimizer.zero_grad()
        _grads(network, 0)
        optimizer.step()
        updated.append([own.detach().clone() for own in network.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*updated, strict=True))


@pytest.mark.parametrize("rate", [1e38, 1e300])
def test_too_large_rates_give_no_error(rate: float) -> None:
    network = _network().float()
    optimizer = Adam(network.parameters(), rate)
    for own in network.parameters():
        own.grad = torch.ones_like(own)
    optimizer.step()


@pytest.mark.needs("triton")
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_kernel(device: str) -> None:
    from clipgnn.ops.kernels.adam import launch
    from clipgnn.training.adam import BETAS, EPSILON

    generator = torch.Generator().manual_seed(0)
    own = nn.Parameter(torch.randn(1500, generator=generator))
    optimizer = Adam([own], 0.1)
    flat = own.detach().clone().to(device)
    mean, square = torch.zeros_like(flat), torch.zeros_like(flat)
    steps = torch.zeros((), dtype=torch.float64, device=device)
    rate = torch.full_like(steps, 0.1)
    for _ in range(3):
        own.grad = torch.randn(1500, generator=generator)
        optimizer.step()
        steps += 1
        launch(flat, own.grad.to(device), mean, square, steps, rate, BETAS, EPSILON)
    torch.testing.assert_close(flat.cpu(), own.detach(), rtol=1e-4, atol=1e-5)
