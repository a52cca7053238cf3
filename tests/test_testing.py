"""The symmetry checks: models with a property pass, models without it are found."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.drawing import Number, drawing
from torch import Tensor

from clipgnn import CLIP
from clipgnn.errors import InvalidParameterError
from clipgnn.testing import (
    assert_batch_independent,
    assert_permutation_equivariant,
    assert_permutation_invariant,
    permute_nodes,
)

Check = Callable[..., None]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
BATCH = torch.tensor([0, 0, 0, 0, 1, 1, 1, 2])
EDGES = torch.tensor([[0, 1, 1, 2, 2, 3, 4, 5, 5, 6], [1, 0, 2, 1, 3, 2, 5, 4, 6, 5]])
"""Paths of 4, 3 and 1 nodes, with edges in both directions."""


def three_graphs(dtype: torch.dtype = torch.float32, device: str = "cpu") -> dict[str, Any]:
    """A batch with attributes and weights of every kind; nodes 0 and 1 are identical."""
    generator = torch.Generator().manual_seed(0)
    inputs = {
        "x": torch.randn(8, 2, generator=generator, dtype=torch.float64),
        "edge_weight": torch.rand(10, generator=generator, dtype=torch.float64),
        "edge_attr": torch.randn(10, 3, generator=generator, dtype=torch.float64),
        "graph_attr": torch.randn(3, 2, generator=generator, dtype=torch.float64),
    }
    inputs["x"][1] = inputs["x"][0]
    floats = {name: value.to(device, dtype) for name, value in inputs.items()}
    return {**floats, "edge_index": EDGES.to(device), "batch": BATCH.to(device)}


def structure() -> dict[str, Any]:
    """The same batch without edge and graph attributes."""
    inputs = three_graphs()
    return {name: inputs[name] for name in ("x", "edge_index", "batch")}


def model_of(num_colorings: Number, dtype: torch.dtype, device: str, **parameters: Any) -> CLIP:
    torch.manual_seed(0)
    model = CLIP(2, 3, **drawing(num_colorings), num_colors=4, **parameters)
    return model.to(device, dtype).eval()


def sums(values: Tensor, batch: Tensor, size: int | None = None) -> Tensor:
    size = int(batch.max()) + 1 if size is None else size
    return values.new_zeros(size, *values.shape[1:]).index_add(0, batch, values)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("num_colorings", [0, "all"])
@pytest.mark.parametrize("num_members", [1, 2])
def test_clip_has_every_property(
    dtype: torch.dtype, device: str, num_colorings: Number, num_members: int
) -> None:
    more: dict[str, Any] = {"edge_channels": 3, "graph_channels": 2, "num_members": num_members}
    model = model_of(num_colorings, dtype, device, **more)
    inputs, axis = three_graphs(dtype, device), num_members - 1
    assert_permutation_invariant(model, **inputs)
    assert_permutation_invariant(model.embed, **inputs)
    assert_permutation_equivariant(model.embed_nodes, **inputs, axis=axis)
    assert_batch_independent(model, **inputs, axis=axis)


def test_one_graph_needs_no_batch() -> None:
    model = model_of("all", torch.float32, "cpu")
    x, edges = torch.ones(4, 2), EDGES[:, :6]
    assert_permutation_invariant(model, x, edges)
    assert_permutation_equivariant(model.embed_nodes, x, edges)


def test_random_colorings_are_found() -> None:
    model = model_of(1, torch.float32, "cpu")
    with pytest.raises(AssertionError, match="must not depend on the order"):
        assert_permutation_invariant(model, torch.ones(8, 2), EDGES, BATCH)


def first_node(x: Tensor, edge_index: Tensor, batch: Tensor, **_: Tensor) -> Tensor:
    return torch.stack([x[batch == graph][0] for graph in batch.unique()])


def weights_by_place(
    x: Tensor, edge_index: Tensor, batch: Tensor, edge_weight: Tensor, **_: Tensor
) -> Tensor:
    place = torch.arange(edge_weight.numel())
    return sums(edge_weight * place, batch[edge_index[0]])


def attributes_by_place(
    x: Tensor, edge_index: Tensor, batch: Tensor, edge_attr: Tensor, **_: Tensor
) -> Tensor:
    return sums(edge_attr * torch.arange(len(edge_attr))[:, None], batch[edge_index[0]])


def nan(x: Tensor, edge_index: Tensor, batch: Tensor, **_: Tensor) -> Tensor:
    return torch.full((3, 1), torch.nan)


@pytest.mark.parametrize("model", [first_node, weights_by_place, attributes_by_place, nan])
def test_models_that_are_not_invariant(model: Callable[..., Tensor]) -> None:
    with pytest.raises(AssertionError, match=r"must not depend on the order .* in the order \["):
        assert_permutation_invariant(model, **three_graphs())


def test_edge_tensors_are_reordered_with_their_edges() -> None:
    def model(
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor,
        edge_weight: Tensor,
        edge_attr: Tensor,
        graph_attr: Tensor,
    ) -> Tensor:
        messages = x[edge_index[0]].sum(1) * edge_weight * edge_attr.sum(1)
        return sums(messages, batch[edge_index[1]], len(graph_attr))[:, None] + graph_attr

    inputs = three_graphs(torch.float64)
    assert_permutation_invariant(model, **inputs)
    assert_batch_independent(model, **inputs)


def by_place(x: Tensor, edge_index: Tensor, batch: Tensor, **_: Tensor) -> Tensor:
    return x * torch.arange(len(x))[:, None]


def sorted_rows(x: Tensor, edge_index: Tensor, batch: Tensor, **_: Tensor) -> Tensor:
    return x.sort(0).values


def pooled(x: Tensor, edge_index: Tensor, batch: Tensor, **_: Tensor) -> Tensor:
    return sums(x, batch)


@pytest.mark.parametrize("model", [by_place, sorted_rows, nan])
def test_models_that_are_not_equivariant(model: Callable[..., Tensor]) -> None:
    with pytest.raises(AssertionError):
        assert_permutation_equivariant(model, **three_graphs())


def test_an_equivariant_model_has_a_row_for_each_node() -> None:
    with pytest.raises(AssertionError, match=r"a row for each node, 8 on axis 0. Got the shape"):
        assert_permutation_equivariant(pooled, **three_graphs())


def minus_mean_of_batch(x: Tensor, edge_index: Tensor, batch: Tensor, **_: Tensor) -> Tensor:
    return sums(x - x.mean(0), batch)


def plus_node_numbers(x: Tensor, edge_index: Tensor, batch: Tensor, **_: Tensor) -> Tensor:
    return sums(torch.arange(len(x)).float(), batch)[:, None]


@pytest.mark.parametrize("model", [minus_mean_of_batch, plus_node_numbers])
def test_models_whose_graphs_influence_each_other(model: Callable[..., Tensor]) -> None:
    with pytest.raises(AssertionError, match=r"other graphs of its batch. Got, for graph"):
        assert_batch_independent(model, **three_graphs())


def test_graphs_without_nodes_are_not_compared() -> None:
    assert_batch_independent(pooled, torch.ones(2, 1), EDGES[:, :0], torch.tensor([0, 2]))


def test_tolerance_depends_on_the_data_type() -> None:
    """A change of 1e-7 is rounding in float32, and an error in float64."""

    def model(x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return 1 + 1e-7 * first_node(x, edge_index, batch)

    inputs = structure()
    assert_permutation_invariant(model, **inputs)
    inputs["x"] = inputs["x"].double()
    with pytest.raises(AssertionError, match="must not depend"):
        assert_permutation_invariant(model, **inputs)
    assert_permutation_invariant(model, **inputs, tolerance=1e-6)


def test_integer_outputs_are_compared_exactly() -> None:
    def model(x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return batch.bincount()

    assert_permutation_invariant(model, **structure())
    assert_batch_independent(model, **structure())


def test_infinite_outputs_hide_no_difference() -> None:
    def model(x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return torch.cat([first_node(x, edge_index, batch), torch.full((3, 1), torch.inf)], dim=1)

    with pytest.raises(AssertionError, match="must not depend"):
        assert_permutation_invariant(model, **structure())


@pytest.mark.parametrize(
    "check",
    [assert_permutation_invariant, assert_permutation_equivariant, assert_batch_independent],
)
def test_training_mode_is_refused(check: Check) -> None:
    model = model_of(0, torch.float32, "cpu").train()
    for called in (model, model.embed_nodes):
        with pytest.raises(InvalidParameterError, match=r"Use model\.eval\(\)"):
            check(called, **structure())


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize("check", [assert_permutation_invariant, assert_permutation_equivariant])
@pytest.mark.parametrize("permutations", [0, -1, 1.5, True])
def test_at_least_one_permutation(check: Check, permutations: Any) -> None:
    with pytest.raises(InvalidParameterError, match="permutations must be an integer"):
        check(by_place, **structure(), permutations=permutations)


def test_batches_of_one_graph_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"at least two graphs with nodes. Got 1"):
        assert_batch_independent(pooled, torch.ones(3, 1), EDGES[:, :4], torch.zeros(3).long())


@pytest.mark.parametrize("device", DEVICES)
def test_permuted_nodes(device: str) -> None:
    order = torch.tensor([2, 0, 1], device=device)
    edge_index = torch.tensor([[0, 1], [1, 2]], device=device)
    x, edges = permute_nodes(torch.arange(3, device=device), edge_index, order)
    assert x.tolist() == [2, 0, 1]
    assert x[edges].tolist() == edge_index.tolist()
