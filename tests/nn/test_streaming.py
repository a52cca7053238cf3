"""Streamed colorings: the same results and gradients in less memory."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.drawing import Number, drawing
from tests.nn.examples import (
    GROUPS,
    MAX_COLORINGS,
    assert_all_close,
    assert_close,
    example_batch,
    gradients,
    random_model,
    without_graph_attributes,
)
from torch import Tensor, nn

from clipgnn.coloring import all_colorings, color_groups, sample_colorings
from clipgnn.coloring.groups import Partition
from clipgnn.coloring.stream import AllColorings, ColoringStream, InMemoryColorings
from clipgnn.graphs.exact import ExactBatch
from clipgnn.nn import streaming
from clipgnn.nn.norm import Moments

CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "tanh without norm": ({"norm": None, "activation": "tanh"}, {}),
    "two members": ({"num_members": 2}, {}),
    "labels, binary": ({"color_code": "binary"}, {"labels": True}),
    "everything": (
        {"directed": True, "edge_channels": 2, "graph_channels": 2},
        {"weights": True, "edge_channels": 2, "graph_channels": 2},
    ),
}
every_case = pytest.mark.parametrize(("parameters", "carried"), CASES.values(), ids=CASES.keys())
every_method = pytest.mark.parametrize("method", ["forward", "embed", "embed_nodes"])


def prepared(num_colorings: Number, carried: dict[str, Any], method: str) -> dict[str, Any]:
    """Arguments, with colorings where the model would draw them."""
    arguments = example_batch(**carried)
    if num_colorings != "all":
        groups = color_groups(arguments["x"], arguments["batch"])
        generator = torch.Generator().manual_seed(0)
        drawn = sample_colorings(groups, num_colorings, arguments["batch"], generator)
        arguments["colorings"] = drawn
    return arguments if method == "forward" else without_graph_attributes(arguments)


@every_case
@every_method
@pytest.mark.parametrize("num_colorings", [9, "all"])
def test_evaluation_with_gradients(
    parameters: dict[str, Any],
    carried: dict[str, Any],
    method: str,
    num_colorings: Number,
) -> None:
    arguments = prepared(num_colorings, carried, method)
    whole = random_model(**drawing(num_colorings), **parameters).eval()
    expected = getattr(whole, method)(**arguments)
    expected_gradients = gradients(whole, expected)
    for at_once in (1, 4, 8):
        model = random_model(
            **drawing(num_colorings), colorings_at_once=at_once, **parameters
        ).eval()
        output = getattr(model, method)(**arguments)
        assert_close(output, expected)
        assert_all_close(gradients(model, output), expected_gradients)
        with torch.no_grad():
            assert_close(getattr(model, method)(**arguments), expected)
        assert_all_close(model.state_dict(), whole.state_dict())


@every_method
def test_gradients_of_the_inputs(method: str) -> None:
    arguments = prepared("all", {"weights": True, "edge_channels": 2}, method)
    names = ["edge_weight", "edge_attr"]
    inputs = [arguments[name].requires_grad_() for name in names]
    results = []
    for at_once in (None, 4):
        model = random_model(coloring="all", edge_channels=2, colorings_at_once=at_once).eval()
        output = getattr(model, method)(**arguments)
        factors = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view(output.shape)
        results.append(torch.autograd.grad((output * factors).sum(), inputs))
    for whole, streamed in zip(*results, strict=True):
        assert bool(whole.any())
        assert_close(streamed, whole)


def test_drawn_colorings_are_the_same_streamed_or_not() -> None:
    arguments = example_batch()
    outputs = [
        random_model(num_colorings=7, colorings_at_once=at_once).eval()(
            **arguments, generator=torch.Generator().manual_seed(3)
        )
        for at_once in (None, 2)
    ]
    assert_close(*outputs)


class Recorder:
    """Records its inputs as a network would read them, and returns known sums."""

    def __init__(self) -> None:
        self.colorings: list[int] = []
        self.nodes: list[int] = []

    def __call__(self, batch: ExactBatch, colorings: Tensor, moments: Moments) -> Tensor:
        self.colorings.append(colorings.shape[0])
        self.nodes.append(batch.num_nodes)
        total = torch.zeros(colorings.shape[0], batch.num_graphs, dtype=torch.float64)
        position = batch.x[:, 0] + 1
        total.index_add_(1, batch.graph_of_node, colorings * position)
        return torch.stack([total.t(), -total.t()], dim=2)


def all_stream(batch: ExactBatch) -> ColoringStream:
    groups = torch.tensor([group for graph in GROUPS for group in graph])
    return AllColorings(Partition.of(groups, batch.graph_of_node))


def held_stream(batch: ExactBatch) -> ColoringStream:
    colorings = torch.arange(24)[:, None] * 31 % (7 + torch.arange(13))
    return InMemoryColorings(colorings, batch.graph_of_node, batch.num_graphs)


def example() -> ExactBatch:
    arguments = example_batch()
    arguments["x"] = torch.arange(13, dtype=torch.float64)[:, None]
    return ExactBatch.from_tensors(**arguments)


both_streams = pytest.mark.parametrize("make", [all_stream, held_stream])


@both_streams
@pytest.mark.parametrize("size", [1, 2, 5, 24, 99])
@pytest.mark.parametrize("with_gradients", [False, True])
def test_the_maximum_is_over_every_coloring(
    make: Callable[[ExactBatch], ColoringStream], size: int, with_gradients: bool
) -> None:
    batch, run = example(), Recorder()
    stream = make(batch)
    expected = Recorder()(batch, stream.all(), {}).amax(1)
    with torch.set_grad_enabled(with_gradients):
        result = streaming.maximum(
            run,
            nn.Module(),
            batch,
            stream,
            lambda _: size,
            {},
            per_node=False,
            max_winners=size,
        )
    assert torch.equal(result, expected)
    assert max(run.colorings) <= size


@pytest.mark.parametrize("size", [1, 2, 5, 24, 99])
def test_parts_hold_every_coloring_of_every_graph(size: int) -> None:
    """Once each, and again only inside the part in which a graph runs out."""
    batch = example()
    seen: list[list[tuple[int, ...]]] = [[] for _ in GROUPS]
    for part in streaming.parts(batch, all_stream(batch), lambda _: size):
        chosen = part.graphs.nonzero()[:, 0].tolist()
        assert part.batch.num_graphs == len(chosen)
        nodes = part.graphs[batch.graph_of_node]
        assert torch.equal(part.batch.x, batch.x[nodes])
        sizes = [len(GROUPS[graph]) for graph in chosen]
        for graph, block in zip(chosen, part.colorings.split(sizes, dim=1), strict=True):
            seen[graph] += [tuple(coloring) for coloring in block.tolist()]
    for groups, colorings in zip(GROUPS, seen, strict=True):
        everything = {
            tuple(c) for c in torch.cat(list(all_colorings(torch.tensor(groups)))).tolist()
        }
        assert set(colorings[: len(everything)]) == everything
        assert len(colorings) < len(everything) + size
        assert set(colorings) == everything


def test_graphs_drop_out_when_their_colorings_are_used_up() -> None:
    batch, run = example(), Recorder()
    streaming.maximum(
        run,
        nn.Module(),
        batch,
        all_stream(batch),
        lambda _: 2,
        {},
        per_node=False,
        max_winners=2,
    )
    # All 13 nodes, then the graphs with 24 and 4 colorings, then the one with 24.
    assert run.nodes[: MAX_COLORINGS // 2] == [13, 9] + [4] * 10


def test_parts_grow_as_graphs_drop_out() -> None:
    batch, run = example(), Recorder()
    with torch.no_grad():
        stream = all_stream(batch)
        streaming.maximum(
            run,
            nn.Module(),
            batch,
            stream,
            lambda part: max(1, 40 // part.num_nodes),
            {},
            per_node=False,
            max_winners=2,
        )
    assert run.nodes == [13, 9, 4, 4]
    assert run.colorings == [3, 4, 10, 7]
