"""CLIP as a random variable, as in the paper: where it is fixed, and how it varies."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import Number, drawing
from torch import Tensor

from clipgnn.coloring import all_colorings, color_groups, sample_colorings
from clipgnn.nn import CLIP

ATTRIBUTES = torch.tensor([[0.5, -1.0], [1.5, 0.25], [-0.75, 2.0]], dtype=torch.float64)
ROUNDING = 1e-11


@dataclasses.dataclass(frozen=True)
class Graph:
    x: Tensor
    edge_index: Tensor

    def permuted(self, order: Sequence[int]) -> "Graph":
        """Node `order[i]` of this graph becomes node i."""
        new_number = torch.empty(len(order), dtype=torch.int64)
        new_number[list(order)] = torch.arange(len(order))
        return Graph(self.x[list(order)], new_number[self.edge_index])

    @property
    def colorings(self) -> Tensor:
        return torch.cat(list(all_colorings(color_groups(self.x))))


def graph_of(labels: Sequence[int], pairs: Sequence[tuple[int, int]]) -> Graph:
    edges = torch.tensor([*pairs, *((j, i) for i, j in pairs)], dtype=torch.int64)
    return Graph(ATTRIBUTES[list(labels)], edges.reshape(-1, 2).t())


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 5) -> Graph:
    labels = draw(st.lists(st.integers(0, 2), min_size=1, max_size=max_nodes))
    pairs = [(i, j) for j in range(len(labels)) for i in range(j)]
    return graph_of(labels, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [])


@st.composite
def permuted_graphs(draw: st.DrawFn) -> tuple[Graph, Graph, list[int]]:
    graph = draw(graphs())
    order = draw(st.permutations(range(len(graph.x))))
    return graph, graph.permuted(order), order


def model_with(num_colorings: Number, num_layers: int = 2, seed: int = 0) -> CLIP:
    """Random weights and running statistics, in float64, for evaluation."""
    model = CLIP(
        2,
        3,
        hidden_channels=8,
        num_layers=num_layers,
        **drawing(num_colorings),
        num_colors=8,
    ).double()
    generator = torch.Generator().manual_seed(seed)
    for name, value in model.state_dict().items():
        if name.endswith(("running_var", "running_weight", "norm.weight")):
            torch.nn.init.uniform_(value, 0.5, 2.0, generator=generator)
        else:
            torch.nn.init.normal_(value, std=value.shape[1] ** -0.5, generator=generator)
    return model.eval().requires_grad_(False)


def together(parts: Sequence[Graph]) -> tuple[Tensor, Tensor, Tensor]:
    """x, edge_index and batch of several graphs."""
    sizes = torch.tensor([len(graph.x) for graph in parts])
    starts = (sizes.cumsum(0) - sizes).tolist()
    edges = [graph.edge_index + start for graph, start in zip(parts, starts, strict=True)]
    batch = torch.arange(len(parts)).repeat_interleave(sizes)
    return torch.cat([graph.x for graph in parts]), torch.cat(edges, dim=1), batch


def assert_close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=ROUNDING, atol=ROUNDING)


# No symmetry but the identity: its 720 colorings are 720 different colored graphs.
ASYMMETRIC = graph_of([0] * 6, [(0, 1), (1, 2), (0, 2), (0, 3), (3, 4), (1, 5)])
KITE = graph_of([0, 0, 1, 0, 1], [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)])


@given(permuted_graphs())
@settings(max_examples=60)
def test_all_colorings_make_it_permutation_invariant(case: tuple[Graph, Graph, list[int]]) -> None:
    graph, permuted, order = case
    model = model_with("all")
    assert_close(model(permuted.x, permuted.edge_index), model(graph.x, graph.edge_index))
    assert_close(
        model.embed_nodes(permuted.x, permuted.edge_index),
        model.embed_nodes(graph.x, graph.edge_index)[order],
    )


def test_one_coloring_is_not_permutation_invariant() -> None:
    """The property above can fail: it is the maximum over all colorings that brings it about."""
    model = model_with(1)
    coloring = torch.tensor([[0, 1, 0, 2, 1]])
    swapped = KITE.permuted([3, 1, 2, 0, 4])
    before = model(KITE.x, KITE.edge_index, colorings=coloring)
    after = model(swapped.x, swapped.edge_index, colorings=coloring)
    assert float((before - after).abs().max()) > 1e-3


def test_all_colorings_make_it_deterministic() -> None:
    model = model_with("all")
    results = []
    for seed in range(3):
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        results.append(model(KITE.x, KITE.edge_index, generator=generator))
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


def test_all_colorings_are_the_limit_of_k() -> None:
    """k at or over the number of colorings is infinity-CLIP, whatever is drawn."""
    everything = model_with("all")(KITE.x, KITE.edge_index)
    for k in (12, 13, 40):
        generator = torch.Generator().manual_seed(k)
        assert_close(model_with(k)(KITE.x, KITE.edge_index, generator=generator), everything)


def test_without_colors_it_is_permutation_invariant_too() -> None:
    model = model_with(0)
    order = [4, 2, 0, 3, 1]
    permuted = KITE.permuted(order)
    assert_close(model(permuted.x, permuted.edge_index), model(KITE.x, KITE.edge_index))


@given(permuted_graphs(), st.integers(1, 6), st.integers(0, 2**32))
@settings(max_examples=60)
def test_graph_and_colorings_permuted_together(
    case: tuple[Graph, Graph, list[int]], k: int, seed: int
) -> None:
    graph, permuted, order = case
    generator = torch.Generator().manual_seed(seed)
    colorings = sample_colorings(color_groups(graph.x), k, generator=generator)
    model = model_with(k)
    shuffled = colorings[torch.randperm(k, generator=generator)]
    assert_close(
        model(permuted.x, permuted.edge_index, colorings=shuffled[:, order]),
        model(graph.x, graph.edge_index, colorings=colorings),
    )


@pytest.mark.parametrize("method", ["forward", "embed", "embed_nodes"])
@pytest.mark.parametrize("num_colorings", [0, 1, 4, "all"])
@given(parts=st.lists(graphs(), min_size=1, max_size=5), seed=st.integers(0, 2**32))
@settings(max_examples=15)
def test_a_batch_is_its_graphs_one_at_a_time(
    method: str, num_colorings: Number, parts: list[Graph], seed: int
) -> None:
    apply = getattr(model_with(num_colorings), method)
    x, edge_index, batch = together(parts)
    sizes = [len(graph.x) for graph in parts]
    if isinstance(num_colorings, int) and num_colorings > 0:
        colorings = sample_colorings(
            color_groups(x, batch), num_colorings, batch, torch.Generator().manual_seed(seed)
        )
        batched = apply(x, edge_index, batch, colorings=colorings)
        of_graph = torch.split(colorings, sizes, dim=1)
        alone = [
            apply(graph.x, graph.edge_index, colorings=own)
            for graph, own in zip(parts, of_graph, strict=True)
        ]
    else:
        batched = apply(x, edge_index, batch)
        alone = [apply(graph.x, graph.edge_index) for graph in parts]
    assert_close(batched, torch.cat(alone))


def test_same_seed_same_result() -> None:
    model = model_with(2)

    def result(seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return model.embed(ASYMMETRIC.x, ASYMMETRIC.edge_index, generator=generator)

    assert torch.equal(result(1), result(1))
    assert not torch.equal(result(1), result(2))
    torch.manual_seed(3)
    first = model.embed(ASYMMETRIC.x, ASYMMETRIC.edge_index)
    torch.manual_seed(3)
    assert torch.equal(model.embed(ASYMMETRIC.x, ASYMMETRIC.edge_index), first)


def variance(k: int) -> float:
    """Of the representation of one graph, over 400 independent draws of k colorings."""
    copies = together([ASYMMETRIC] * 400)
    drawn = model_with(k).embed(*copies, generator=torch.Generator().manual_seed(k))
    return float(drawn.var(dim=0).sum())


def test_variance_falls_with_k() -> None:
    """720 colorings: the last step leaves out 180 of them, and nothing is random with them all."""
    variances = [variance(k) for k in (1, 4, 16, 64, 256, 540)]
    for smaller_k, larger_k in pairwise(variances):
        assert larger_k < 0.8 * smaller_k
    assert variance(720) < ROUNDING


def expectation(model: CLIP, graph: Graph) -> Tensor:
    """The mean of 1-CLIP's output over every coloring."""
    outputs = [
        model(graph.x, graph.edge_index, colorings=coloring[None]) for coloring in graph.colorings
    ]
    return torch.cat(outputs).mean(dim=0)


@given(permuted_graphs())
@settings(max_examples=15)
def test_expectation_of_one_coloring_is_permutation_invariant(
    case: tuple[Graph, Graph, list[int]],
) -> None:
    graph, permuted, _ = case
    model = model_with(1)
    assert_close(expectation(model, permuted), expectation(model, graph))


def test_sampled_outputs_average_to_the_expectation() -> None:
    model = model_with(1)
    draws = 4000
    generator = torch.Generator().manual_seed(0)
    sampled = model(*together([KITE] * draws), generator=generator)
    error = (sampled.mean(dim=0) - expectation(model, KITE)).abs()
    standard_error = sampled.std(dim=0) / draws**0.5
    assert bool((standard_error > 1e-4).all())
    assert bool((error < 4 * standard_error).all())


@pytest.mark.parametrize("k", [1, 3])
def test_error_of_an_average_falls_with_the_root_of_the_number_of_draws(k: int) -> None:
    """Remark 1: averages of n predictions are 1 / sqrt(n) times as far from their limit as one."""
    model, repeats, numbers = model_with(k), 300, (1, 4, 16, 64)
    # A prediction draws one of these, uniformly: `[k, nodes]` each.
    choices = [torch.stack(own) for own in itertools.combinations(KITE.colorings, k)]
    assert len(choices) == math.comb(12, k)
    every = model(*together([KITE] * len(choices)), colorings=torch.cat(choices, dim=1))
    limit = every.mean(dim=0)
    deviation = float((every - limit).square().sum(dim=1).mean().sqrt())
    generator = torch.Generator().manual_seed(k)
    drawn = model(*together([KITE] * (repeats * numbers[-1])), generator=generator)
    averages = {number: drawn.view(repeats, -1, 3)[:, :number].mean(dim=1) for number in numbers}
    errors = {
        number: float((own - limit).square().sum(dim=1).mean().sqrt())
        for number, own in averages.items()
    }
    # The relative standard error of a root mean square of 300 errors is about 1 / 25.
    for number, error in errors.items():
        assert error == pytest.approx(deviation / number**0.5, rel=0.15)
    slope = math.log(errors[64] / errors[1]) / math.log(64)
    assert slope == pytest.approx(-0.5, abs=0.03)


def test_one_coloring_is_all_of_them_where_all_attributes_differ() -> None:
    """The step of Theorem 4's proof from infinity-CLIP to 1-CLIP: colors as attributes."""
    path = graph_of([0, 1, 2], [(0, 1), (1, 2)])
    assert len(path.colorings) == 1
    one = model_with(1)(path.x, path.edge_index)
    assert_close(one, model_with("all")(path.x, path.edge_index))
