"""Corollary 1 and Figure 1: a concatenation is a network, and separates what either part does."""

import itertools
from functools import cache

import pytest
import torch
from tests.drawing import Number, drawing
from torch import Tensor

from clipgnn.nn import CLIP

NUM_NODES = 6
HEXAGON = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
TRIANGLES = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
GRAPHS = [(HEXAGON, 1.0), (HEXAGON, 2.0), (TRIANGLES, 1.0), (TRIANGLES, 2.0)]
"""Two structures that 1-WL cannot distinguish, with two values of an attribute of all nodes."""

SAME_ATTRIBUTE = {(0, 2), (1, 3)}
SAME_STRUCTURE = {(0, 1), (2, 3)}


@cache
def tensors() -> tuple[Tensor, Tensor, Tensor]:
    """x, edge_index and batch of the graphs, each with its nodes in another order."""
    generator = torch.Generator().manual_seed(0)
    edges = []
    for number, (pairs, _) in enumerate(GRAPHS):
        order = torch.randperm(NUM_NODES, generator=generator)
        both = torch.tensor([*pairs, *((j, i) for i, j in pairs)]).t()
        edges.append(order[both] + NUM_NODES * number)
    values = torch.tensor([[value] for _, value in GRAPHS], dtype=torch.float64)
    batch = torch.arange(len(GRAPHS)).repeat_interleave(NUM_NODES)
    return values.repeat_interleave(NUM_NODES, dim=0), torch.cat(edges, dim=1), batch


def network(colorings: Number, hidden: int, seed: int, out_channels: int = 2) -> CLIP:
    """A network whose weights are 1 or -1: sums of integers have no rounding and no order."""
    model = CLIP(
        1,
        out_channels,
        hidden_channels=hidden,
        num_layers=2,
        **drawing(colorings),
        num_colors=NUM_NODES,
        norm=None,
    ).double()
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        signs = torch.randint(2, parameter.shape, generator=generator) * 2 - 1
        parameter.data.copy_(signs)
    return model.eval().requires_grad_(False)


def without_attributes(model: CLIP) -> CLIP:
    """The network with weights of 0 for the attribute, which is its first input channel."""
    for mlp in ("phi", "psi"):
        model.get_parameter(f"layers.0.{mlp}.first.weight")[:, 0] = 0
    return model


def of_attributes() -> CLIP:
    """0-CLIP: message passing, which cannot distinguish more than 1-WL."""
    return network(0, hidden=4, seed=3)


def of_structure() -> CLIP:
    """∞-CLIP that reads no attributes."""
    return without_attributes(network("all", hidden=6, seed=0))


def confused(representations: Tensor) -> set[tuple[int, int]]:
    """The pairs of graphs whose representations are equal to the last bit."""
    pairs = itertools.combinations(range(len(representations)), 2)
    return {(i, j) for i, j in pairs if torch.equal(representations[i], representations[j])}


def test_a_concatenation_separates_what_either_part_separates() -> None:
    first, second = of_attributes().embed(*tensors()), of_structure().embed(*tensors())
    assert confused(first) == SAME_ATTRIBUTE
    assert confused(second) == SAME_STRUCTURE
    assert confused(torch.cat([first, second], dim=1)) == set()


def fitted_error(representations: Tensor, targets: Tensor) -> float:
    """Largest error of an MLP with one hidden layer whose last map is fitted to the targets."""
    generator = torch.Generator().manual_seed(0)
    first = torch.randn(representations.shape[1], 64, generator=generator, dtype=torch.float64)
    scale = representations.abs().max()
    hidden = torch.tanh(representations / scale @ first)
    last = torch.linalg.lstsq(hidden, targets, driver="gelsd").solution
    return float((hidden @ last - targets).abs().max())


def test_an_mlp_of_the_concatenation_fits_what_no_mlp_of_a_part_fits() -> None:
    targets = torch.tensor([[1.0], [-1.0], [-1.0], [1.0]], dtype=torch.float64)
    first, second = of_attributes().embed(*tensors()), of_structure().embed(*tensors())
    assert fitted_error(torch.cat([first, second], dim=1), targets) < 1e-9
    # Equal inputs have equal outputs, and their targets are 1 and -1.
    for part in (first, second):
        assert fitted_error(part, targets) > 1 - 1e-9


def side_by_side(first: Tensor, second: Tensor) -> Tensor:
    """Weights `[1, in, out]` of two maps of the same inputs; missing last rows are 0."""
    rows = max(first.shape[1], second.shape[1])
    padded = [
        torch.nn.functional.pad(own, (0, 0, 0, rows - own.shape[1])) for own in (first, second)
    ]
    return torch.cat(padded, dim=2)


def blocks(first: Tensor, second: Tensor) -> Tensor:
    """Weights of two maps of separate inputs."""
    return torch.block_diag(first[0], second[0])[None]


def concatenated(first: CLIP, second: CLIP) -> CLIP:
    """Build one network from the weights of two, as in Figure 1: only the input is shared."""
    parts = (first.config, second.config)
    wide = network(
        "all" if any(own.coloring == "all" for own in parts) else 0,
        hidden=sum(own.hidden_channels for own in parts),
        seed=0,
        out_channels=sum(own.out_channels for own in parts),
    )
    state = wide.state_dict()
    for name in state:
        a, b = first.state_dict()[name], second.state_dict()[name]
        if name.endswith("bias"):
            state[name] = torch.cat([a, b], dim=1)
        elif name == "layers.0.phi.first.weight":
            state[name] = side_by_side(a, b)
        elif name.endswith("psi.first.weight"):
            # Rows: features of the node, then the sum over its neighbors.
            own_a, sum_a = a.split([a.shape[1] - a.shape[2], a.shape[2]], dim=1)
            own_b, sum_b = b.split([b.shape[1] - b.shape[2], b.shape[2]], dim=1)
            join = side_by_side if name.startswith("layers.0") else blocks
            state[name] = torch.cat([join(own_a, own_b), blocks(sum_a, sum_b)], dim=1)
        else:
            state[name] = blocks(a, b)
    wide.load_state_dict(state)
    return wide


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (network(0, 3, seed=1), network(0, 5, seed=2)),
        (network("all", 3, seed=1), network("all", 5, seed=2)),
        (of_attributes(), of_structure()),
    ],
    ids=["0-CLIP", "infinity-CLIP", "0-CLIP and infinity-CLIP"],
)
def test_a_concatenation_of_networks_is_a_network(first: CLIP, second: CLIP) -> None:
    """The maximum over colorings is taken channel by channel, which Figure 1 requires."""
    wide = concatenated(first, second)
    for method in ("embed", "forward"):
        parts = [getattr(model, method)(*tensors()) for model in (first, second)]
        assert torch.equal(getattr(wide, method)(*tensors()), torch.cat(parts, dim=1))
