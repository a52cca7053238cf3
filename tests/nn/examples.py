"""Small batches of graphs and random models that the tests of this folder share."""

from typing import Any

import torch
from torch import Tensor

from clipgnn.nn import CLIP

GROUPS = [[0, 0, 0, 0], [0, 1, 2], [0, 1, 0, 1, 2], [1]]
"""Which nodes of each graph are equal: 24, 1, 4 and 1 colorings."""

MAX_COLORINGS = 24

EDGES = [
    [(0, 1), (1, 2), (2, 3), (3, 1)],
    [(0, 1), (2, 1), (1, 1)],
    [(0, 1), (1, 2), (2, 0), (3, 0), (0, 1)],
    [],
]
"""Edges of each graph in one direction, with a self-loop, a parallel edge and an isolated node."""

IN_CHANNELS = 3


def example_batch(
    *,
    labels: bool = False,
    weights: bool = False,
    edge_channels: int = 0,
    graph_channels: int = 0,
    dtype: torch.dtype = torch.float64,
) -> dict[str, Any]:
    """The arguments of a model for four graphs that differ in size and number of colorings."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    sizes = torch.tensor([len(groups) for groups in GROUPS])
    starts = (sizes.cumsum(0) - sizes).tolist()
    group = torch.tensor([number for groups in GROUPS for number in groups])
    pairs = [
        (source + start, target + start)
        for start, edges in zip(starts, EDGES, strict=True)
        for source, target in edges
    ]
    arguments: dict[str, Any] = {
        "x": group if labels else normal(3, IN_CHANNELS)[group],
        "edge_index": torch.tensor(pairs).t(),
        "batch": torch.arange(len(GROUPS)).repeat_interleave(sizes),
    }
    if weights:
        arguments["edge_weight"] = normal(len(pairs))
    if edge_channels:
        arguments["edge_attr"] = normal(len(pairs), edge_channels)
    if graph_channels:
        arguments["graph_attr"] = normal(len(GROUPS), graph_channels)
    return arguments


def random_model(seed: int = 0, dtype: torch.dtype = torch.float64, **parameters: Any) -> CLIP:
    """A small model whose weights and running statistics are all random, so that all count."""
    small: dict[str, Any] = {"hidden_channels": 5, "num_layers": 2, "num_colors": 6}
    model = CLIP(**{"in_channels": IN_CHANNELS, "out_channels": 2, **small, **parameters})
    randomize(model, seed)
    return model.to(dtype)


def randomize(module: torch.nn.Module, seed: int = 0) -> None:
    """Give all weights and running statistics random values."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in module.state_dict().items():
        if name.endswith(("running_var", "running_weight")):
            torch.nn.init.uniform_(value, 0.5, 2.0, generator=generator)
        else:
            torch.nn.init.normal_(value, std=value.shape[1] ** -0.5, generator=generator)


def without_graph_attributes(arguments: dict[str, Any]) -> dict[str, Any]:
    """What `embed` and `embed_nodes` take of the arguments of `forward`."""
    return {name: value for name, value in arguments.items() if name != "graph_attr"}


def gradients(model: torch.nn.Module, output: Tensor) -> dict[str, Tensor]:
    """The gradient of a fixed random combination of the outputs, of every parameter it reaches."""
    generator = torch.Generator().manual_seed(1)
    factors = torch.randn(output.shape, generator=generator, dtype=output.dtype)
    model.zero_grad()
    (output * factors).sum().backward()
    return {
        name: parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }


def assert_close(actual: Tensor, expected: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def assert_all_close(
    actual: dict[str, Tensor], expected: dict[str, Tensor], tolerance: float = 1e-10
) -> None:
    """The same names, and equal tensors under each."""
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def differ(first: Tensor, second: Tensor, *, least: float = 1e-4) -> bool:
    """Whether two outputs differ by more than rounding could."""
    return float((first - second).detach().abs().max()) > least
