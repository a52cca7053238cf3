"""Random colorings that are hashed from a seed and a counter."""

import torch
from tests.graphs.examples import assembler_of
from torch import Tensor

from clipgnn.coloring.random import HashedSampler
from clipgnn.graphs.assembly import Capacity
from clipgnn.graphs.packed import PackedGraphs


def triangle_colorings(seed: int, count: int) -> Tensor:
    """600 colorings of a graph with three identical nodes."""
    triangle = PackedGraphs(
        name="triangle",
        x=torch.zeros(3, dtype=torch.int64),
        in_channels=1,
        edge_index=torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]]),
        node_pointers=torch.tensor([0, 3]),
        edge_pointers=torch.tensor([0, 6]),
    )
    batch = assembler_of(triangle).batch(torch.tensor([[0]]), Capacity(3, 6))
    return HashedSampler().sample(batch, 600, torch.tensor([seed]), torch.tensor(count))


def test_all_colorings_have_the_same_probability() -> None:
    drawn = torch.cat([triangle_colorings(seed, count) for seed in range(2) for count in range(5)])
    counts = (drawn[:, 0] * 3 + drawn[:, 1]).bincount()
    counts = counts[counts > 0].double()
    assert counts.numel() == 6
    chi_square = ((counts - 1000) ** 2 / 1000).sum()
    assert chi_square < 20.5  # 0.1 % quantile of five degrees of freedom


def test_seed_and_counter_determine_the_colorings() -> None:
    first = triangle_colorings(0, 0)
    assert torch.equal(first, triangle_colorings(0, 0))
    assert not torch.equal(first, triangle_colorings(1, 0))
    assert not torch.equal(first, triangle_colorings(0, 1))
