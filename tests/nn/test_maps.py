"""Maps that contain the normalization, against normalized rows: outputs and gradients."""

import copy
from typing import Any

import pytest
import torch
from tests.graphs.examples import assembler_of
from tests.training.examples import some_graphs
from torch import Tensor

from clipgnn.nn.clip import CLIP
from clipgnn.nn.norm import BatchNorm

PARAMETERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no colors": {"num_colorings": 0},
    "directed": {"directed": True},
    "edge attributes": {"edge_channels": 2},
    "tanh": {"activation": "tanh"},
    "members": {"num_members": 2},
}


def _model(parameters: dict[str, Any]) -> CLIP:
    """A network after a training step, so that statistics and parameters are not initial values."""
    torch.manual_seed(0)
    defaults = {"num_colorings": 2, "num_colors": 6, "hidden_channels": 5, "num_layers": 2}
    model = CLIP(3, 2, **{**defaults, **parameters}).double()
    with torch.no_grad():
        for own in model.parameters():
            own.add_(0.1 * torch.randn_like(own))
    model.train()
    model(**_inputs(model))
    return model.eval()


def _inputs(model: CLIP) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    source = torch.arange(12)
    target = source // 6 * 6 + (source + 1) % 6
    edge_index = torch.stack([torch.cat([source, target]), torch.cat([target, source])])
    inputs = {
        "x": torch.randn(12, 3, dtype=torch.float64, generator=generator),
        "edge_index": edge_index,
        "batch": torch.arange(12) // 6,
    }
    if model.config.edge_channels:
        attributes = torch.randn(24, 2, dtype=torch.float64, generator=generator)
        inputs["edge_attr"] = attributes
    if model.config.num_colorings:
        inputs["colorings"] = torch.stack([torch.randperm(12, generator=generator) % 6] * 2)
    return inputs


def _outputs_and_gradients(model: CLIP) -> list[Tensor]:
    copied = copy.deepcopy(model)
    output = copied(**_inputs(model))
    output.square().sum().backward()
    gradients = [own.grad for own in copied.parameters() if own.grad is not None]
    with torch.no_grad():
        return [output.detach(), copied(**_inputs(model)), *gradients]


@pytest.mark.parametrize("name", PARAMETERS)
def test_contained_normalization(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = _model(PARAMETERS[name])
    found = _outputs_and_gradients(model)
    monkeypatch.setattr(BatchNorm, "coefficients", lambda norm, moments: None)
    torch.testing.assert_close(found, _outputs_and_gradients(model))


def test_padding_stays_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = some_graphs(6)
    model = CLIP.from_graphs(graphs, out_channels=2, num_colorings=0, num_members=2).eval()
    assembler = assembler_of(graphs)
    chosen = torch.tensor([[0, 1], [2, 3]])
    batch = assembler.batch(chosen, assembler.capacity_for(chosen).rounded_up(64))
    assert batch.node_mask is not None
    with torch.no_grad():
        found = model._iterations.features(batch, None).activations
        monkeypatch.setattr(BatchNorm, "coefficients", lambda norm, moments: None)
        expected = model._iterations.features(batch, None).activations
    torch.testing.assert_close(found, expected)
    assert not found[~batch.node_mask].any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_normalizes_rows(dtype: torch.dtype) -> None:
    norm = BatchNorm(1, 4).to(dtype).eval()
    assert norm.coefficients(None) is None
    assert norm.float().coefficients(None) is not None
    with torch.autocast("cpu"):
        assert norm.coefficients(None) is None


def test_statistics_of_the_rows_are_not_known_in_training() -> None:
    norm = BatchNorm(1, 4)
    assert norm.coefficients(None) is None
    mean, variance = torch.full((1, 4), 2.0), torch.full((1, 4), 4.0)
    known = norm.coefficients({norm: (mean, variance)})
    assert known is not None
    scale, shift = known
    expected = norm.eval()
    expected.running_mean.copy_(mean)
    expected.running_var.copy_(variance)
    expected.running_weight.fill_(1)
    rows = torch.randn(1, 5, 4)
    torch.testing.assert_close(rows * scale[:, None] + shift[:, None], expected(rows))
