"""torch.compile and torch.export give what the model gives, on a fixed shape.

Run by test_compile.py in a process of their own: the compiler cannot trace through the checks of
annotations that conftest.py switches on. The model has one small layer: it is the compiler that
takes the time. `aot_eager` traces forward and backward as the default compiler does, and leaves
out the C++ that it writes at the end.
"""

import copy
import shutil
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.drawing import drawing
from tests.nn.examples import (
    assert_all_close,
    assert_close,
    example_batch,
    gradients,
    random_model,
)
from torch import Tensor
from torch._dynamo.backends.debugging import aot_eager
from torch.fx import GraphModule

from clipgnn.coloring import color_groups, sample_colorings
from clipgnn.nn import CLIP

# torch looks for gradients of tensors inside a graph, and hides the warning by a filter of its own
# that does not hold where warnings are errors.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")

EVERYTHING: dict[str, Any] = {"directed": True, "edge_channels": 2, "graph_channels": 2}
CARRIED: dict[str, Any] = {"weights": True, "edge_channels": 2, "graph_channels": 2}
LABELS: tuple[dict[str, Any], dict[str, Any]] = (
    {"num_members": 2, "color_code": "binary"},
    {"labels": True},
)


@pytest.fixture(autouse=True)
def nothing_compiled_before() -> None:
    torch._dynamo.reset()


def small_model(**parameters: Any) -> CLIP:
    return random_model(num_layers=1, hidden_channels=4, num_colorings=3, **parameters)


def prepared(carried: dict[str, Any]) -> dict[str, Any]:
    """Arguments with colorings and the number of graphs, so that nothing depends on values."""
    arguments = example_batch(**carried)
    groups = color_groups(arguments["x"], arguments["batch"])
    generator = torch.Generator().manual_seed(0)
    arguments["colorings"] = sample_colorings(groups, 3, arguments["batch"], generator)
    return {**arguments, "batch_size": 4}


def assert_compiled_agrees(model: CLIP, arguments: dict[str, Any], **options: Any) -> None:
    """Evaluation, and a training step with its gradients and running statistics."""
    plain = copy.deepcopy(model)
    compiled: Any = torch.compile(model, **options)
    with torch.no_grad():
        assert_close(compiled.eval()(**arguments), plain.eval()(**arguments))
    output, expected = compiled.train()(**arguments), plain.train()(**arguments)
    assert_close(output, expected)
    assert_all_close(gradients(model, output), gradients(plain, expected))
    assert_all_close(model.state_dict(), plain.state_dict())


@pytest.mark.parametrize(
    ("parameters", "carried"),
    [
        pytest.param(EVERYTHING, CARRIED, id="everything"),
        pytest.param(*LABELS, id="labels, two members", marks=pytest.mark.slow),
    ],
)
def test_compile_as_one_graph(parameters: dict[str, Any], carried: dict[str, Any]) -> None:
    model = small_model(**parameters)
    assert_compiled_agrees(model, prepared(carried), fullgraph=True, backend="aot_eager")


@pytest.mark.parametrize("repeats", [False, True])
def test_look_ups_that_repeat_are_hidden_from_the_compiler(repeats: bool) -> None:
    """A model without labels and attributes of edges, as one graph."""
    seen = []

    def backend(graph: GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
        seen.append(graph.code)
        return aot_eager(graph, inputs)

    torch.use_deterministic_algorithms(repeats)
    try:
        assert_compiled_agrees(small_model(), prepared({}), fullgraph=True, backend=backend)
    finally:
        torch.use_deterministic_algorithms(False)
    assert len(seen) == 2  # evaluation and training
    assert all(("clipgnn.repeatable_rows" in code) == repeats for code in seen)


needs_a_compiler = pytest.mark.skipif(
    not shutil.which("g++"), reason="the default compiler writes C++"
)


@needs_a_compiler
def test_compile_with_the_default_compiler() -> None:
    model, arguments = small_model().eval(), prepared({})
    with torch.no_grad():
        assert_close(torch.compile(model, fullgraph=True)(**arguments), model(**arguments))


@needs_a_compiler
@pytest.mark.slow
def test_training_with_the_default_compiler() -> None:
    assert_compiled_agrees(small_model(), prepared({}), fullgraph=True)


@pytest.mark.parametrize("num_colorings", [3, pytest.param("all", marks=pytest.mark.slow)])
def test_compile_with_drawn_colorings(num_colorings: Any) -> None:
    """Drawing depends on values and stays outside; what is drawn comes from the same generator."""
    model = random_model(num_layers=1, hidden_channels=4, **drawing(num_colorings))
    plain = copy.deepcopy(model)
    compiled: Any = torch.compile(model, backend="aot_eager")
    arguments = {**example_batch(), "batch_size": 4}

    def seeded(seed: int) -> dict[str, Any]:
        return {**arguments, "generator": torch.Generator().manual_seed(seed)}

    with torch.no_grad():
        for seed in range(2):
            assert_close(compiled.eval()(**seeded(seed)), plain.eval()(**seeded(seed)))
    output, expected = compiled.train()(**seeded(2)), plain.train()(**seeded(2))
    assert_close(output, expected)
    assert_all_close(gradients(model, output), gradients(plain, expected))
    assert_all_close(model.state_dict(), plain.state_dict())


def test_compile_without_colors() -> None:
    """x, edge_index and batch, nothing else: the number of graphs is read from the batch."""
    model = random_model(num_layers=1, hidden_channels=4, num_colorings=0).eval()
    arguments = example_batch()
    compiled: Any = torch.compile(model, backend="aot_eager")
    assert_close(compiled(**arguments), model(**arguments))


def test_compiled_models_follow_a_changed_number_of_colorings() -> None:
    """Again x, edge_index and batch, with colorings of the global generator of torch."""
    model, number = small_model().eval(), 1
    compiled: Any = torch.compile(model, backend="aot_eager")
    arguments = example_batch()

    @torch.no_grad()
    def output_of(apply: Any, **changes: Any) -> Tensor:
        torch.manual_seed(0)
        return apply(**arguments, **changes)

    def outputs(**changes: Any) -> tuple[Tensor, Tensor]:
        return output_of(model, **changes), output_of(compiled, **changes)

    first = outputs()
    assert_close(*first)
    once = outputs(num_colorings=number)
    assert_close(*once)
    assert not torch.equal(once[0], first[0])
    compiled.num_colorings = number
    assert model.num_colorings == number
    assert torch.equal(outputs()[1], once[1])


@pytest.mark.parametrize(
    ("parameters", "carried"),
    [
        pytest.param(EVERYTHING, CARRIED, id="everything"),
        pytest.param(*LABELS, id="labels, two members"),
    ],
)
def test_export(parameters: dict[str, Any], carried: dict[str, Any]) -> None:
    model = small_model(**parameters).eval().requires_grad_(False)
    arguments = prepared(carried)
    program = torch.export.export(model, (), arguments)
    assert_close(program.module()(**arguments), model(**arguments))
    targets = {str(node.target) for node in program.graph.nodes}
    assert "clipgnn.sparse_sum.default" in targets
    other = {**arguments, "colorings": 5 - arguments["colorings"]}
    assert_close(program.module()(**other), model(**other))


# torch.export.load of torch 2.11 reads weights from a buffer that is not writable, and warns of it.
@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
def test_an_exported_program_can_be_saved(tmp_path: Any) -> None:
    """Exported with the compiler's own tracing, `strict`."""
    model, arguments = small_model().eval().requires_grad_(False), prepared({})
    path = tmp_path / "program.pt2"
    torch.export.save(torch.export.export(model, (), arguments, strict=True), path)
    program = torch.export.load(path)
    output: Tensor = program.module()(**arguments)
    assert_close(output, model(**arguments))
