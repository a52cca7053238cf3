"""CLIP on arbitrary tensors: refused, or equal to the equations in plain loops."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.fuzz.oracle import budget, judge
from tests.faults.fuzz.strategies import almost, asks_for_memory
from tests.reference.clip_reference import Graphs, Reference, colorings_of
from torch import Tensor

from clipgnn import CLIP
from clipgnn.coloring import sample_colorings

CHANNELS, OUT, COLORS = 2, 3, 6
MODELS: dict[str, dict[str, Any]] = {
    "no colors": {"num_colorings": 0},
    "one coloring": {"num_colorings": 1},
    "several": {"num_colorings": 24, "num_layers": 2},
    "in parts": {"num_colorings": 24, "colorings_at_once": 5},
    "all": {"coloring": "all"},
    "binary": {"num_colorings": 24, "color_code": "binary"},
    "directed": {"num_colorings": 24, "directed": True},
    "edge attributes": {"num_colorings": 24, "edge_channels": 1},
    "graph attributes": {"num_colorings": 24, "graph_channels": 1},
    "members": {"num_colorings": 24, "num_members": 2},
    "no norm": {"num_colorings": 24, "norm": None},
}


@cache
def model_of(name: str) -> CLIP:
    parameters = {"hidden_channels": 8, "num_layers": 1, "num_colors": COLORS, **MODELS[name]}
    with torch.random.fork_rng([]):
        torch.manual_seed(7)
        return CLIP(CHANNELS, OUT, **parameters).double().eval()


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A model, and arguments that it can read, or almost."""
    name = draw(st.sampled_from(sorted(MODELS)))
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    nodes, seed = sum(sizes), draw(st.integers(0, 99))
    generator = torch.Generator().manual_seed(seed)
    batch = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    adjacency = torch.rand(nodes, nodes, generator=generator) < 0.5
    edge_index = (adjacency & (batch[:, None] == batch)).nonzero().t()
    edges = edge_index.shape[1]
    pool = torch.tensor([0.0, 1.0, -2.0, 0.5], dtype=torch.float64)
    x: Tensor = torch.randint(2, (nodes, CHANNELS), generator=generator).double()
    if draw(st.booleans()):
        x = torch.randint(CHANNELS, (nodes,), generator=generator)

    def numbers(*shape: int) -> Tensor:
        return pool[torch.randint(4, shape, generator=generator)]

    arguments: dict[str, Any] = {"x": x, "edge_index": edge_index, "batch": batch}
    config = MODELS[name]
    arguments["batch_size"] = draw(st.sampled_from([len(sizes), len(sizes), len(sizes) + 2, None]))
    arguments["edge_weight"] = numbers(edges) if draw(st.booleans()) else None
    arguments["edge_attr"] = numbers(edges, 1) if "edge_channels" in config else None
    graphs = arguments["batch_size"] or (int(batch[-1]) + 1 if nodes else 1)
    arguments["graph_attr"] = numbers(graphs, 1) if "graph_channels" in config else None
    arguments["colorings"] = None
    if name != "no colors" and draw(st.booleans()):
        arguments["colorings"] = torch.randint(COLORS, (2, nodes), generator=generator)
    arguments["generator"] = torch.Generator().manual_seed(seed)
    arguments["num_colorings"] = None
    if arguments["colorings"] is None and draw(st.booleans()):
        valid = [0] if name == "no colors" else [1, 24, 30, np.int64(24)]
        arguments["num_colorings"] = draw(st.sampled_from(valid))
    arguments["coloring"] = None
    if arguments["colorings"] is None and draw(st.booleans()):
        arguments["coloring"] = draw(st.sampled_from(["random", "all"]))
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 1, 2]))):
        argument = draw(st.sampled_from(sorted(arguments)))
        value = draw(almost(arguments[argument]))
        if not asks_for_memory(value):
            arguments[argument] = value
    return name, arguments


def _array(values: Tensor | None) -> Any:
    if values is None:
        return None
    return np.asarray(values.detach().tolist(), dtype=np.float64).reshape(tuple(values.shape))


def is_number_of_colorings(value: Any, *, colors: bool) -> bool:
    """Whether a model that was built with or without colors accepts this number of colorings."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        return False
    return bool(1 <= value <= 10_000_000 if colors else value == 0)


def expected(name: str, arguments: dict[str, Any]) -> list[np.ndarray[Any, Any]] | None:
    """The output of each member straight from the equations; None where it is random."""
    model, config = model_of(name), model_of(name).config
    x = arguments["x"].detach().tolist()
    labels = arguments["x"].dim() == 1
    batch = [0] * len(x) if arguments["batch"] is None else arguments["batch"].tolist()
    edge_weight, edge_attr, graph_attr = (
        _array(arguments[key]) for key in ("edge_weight", "edge_attr", "graph_attr")
    )
    graphs = Graphs(
        x=np.array(x, np.int64) if labels else np.array(x, np.float64),
        edges=list(zip(*arguments["edge_index"].tolist(), strict=True)),
        batch=np.array(batch, dtype=np.int64),
        edge_weight=edge_weight,
        edge_attr=edge_attr,
    )
    colorings: Any = None
    if arguments["colorings"] is not None:
        colorings = np.array(arguments["colorings"].tolist(), dtype=np.int64)
    elif config.num_colorings != 0:
        colorings = "all"
        wanted = arguments.get("num_colorings") or config.num_colorings
        scheme = arguments.get("coloring") or config.coloring
        number = [
            sum(1 for _ in colorings_of(graphs.one(graph).x)) if graph in batch else 1
            for graph in range(graphs.num_graphs)
        ]
        if scheme == "random" and max(number) > wanted:
            return None
    outputs = []
    for member in range(config.num_members):
        reference = Reference(
            weights={key: value.numpy() for key, value in model.state_dict().items()},
            in_channels=CHANNELS,
            num_layers=config.num_layers,
            num_colors=COLORS,
            color_code=config.color_code,
            norm=config.norm is not None,
            directed=config.directed,
            member=member,
        )
        num_graphs = arguments["batch_size"] or graphs.num_graphs
        rows = np.zeros((num_graphs, config.hidden_channels))
        for graph in sorted(set(batch)):  # one by one; what has no nodes has no sum
            own = graphs.one(graph)
            chosen = colorings
            if isinstance(colorings, np.ndarray):
                chosen = colorings[:, [node for node, g in enumerate(batch) if g == graph]]
            rows[graph] = reference.embed(own, chosen)[0]
        if graph_attr is not None:
            rows = np.concatenate([rows, graph_attr], axis=1)
        outputs.append(reference._mlp("readout", rows))
    return outputs


@budget("CLIP.forward")
@given(calls())
def test_forward(case: tuple[str, dict[str, Any]]) -> None:
    name, arguments = case

    def check(output: Tensor) -> None:
        assert bool(torch.isfinite(output).all())
        number = arguments["num_colorings"]
        assert number is None or is_number_of_colorings(number, colors=name != "no colors")
        assert arguments["coloring"] in (None, "random", "all")
        if arguments["colorings"] is not None:
            assert number is arguments["coloring"] is None
        wanted = expected(name, arguments)
        if wanted is None:
            assert output.shape[-1] == OUT
            return
        found = output.detach().numpy()
        members = found if model_of(name).config.num_members > 1 else found[None]
        for own, right in zip(members, wanted, strict=True):
            np.testing.assert_allclose(own, right, rtol=1e-9, atol=1e-9)

    judge("CLIP.forward", case, lambda: model_of(name)(**arguments), check)


@budget("CLIP.num_colorings")
@given(
    st.sampled_from(["no colors", "several", "all"]),
    st.one_of(
        st.sampled_from([0, 1, 24, 10**7, 10**7 + 1, "all", np.int32(2), np.uint8(0)]),
        st.integers(-2, 2**24),
        almost(None),
    ),
)
def test_setting_the_number_of_colorings(name: str, value: Any) -> None:
    before = model_of(name)
    model = CLIP.from_config(before.config)
    colors = name != "no colors"

    def assign() -> None:
        model.num_colorings = value

    def check(_: None) -> None:
        assert is_number_of_colorings(value, colors=colors)
        assert model.num_colorings == value
        assert type(model.num_colorings) is int
        assert replace(model.config, num_colorings=before.num_colorings) == before.config

    judge("CLIP.num_colorings", (name, value), assign, check)
    if not is_number_of_colorings(value, colors=colors):
        assert model.config == before.config, "what is refused changes nothing"
    else:
        assert model.num_colorings == value, f"nothing is wrong with {value!r}"


def test_the_reference_sees_a_wrong_edge() -> None:
    x = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    arguments = {
        "x": x,
        "edge_index": torch.tensor([[0, 1], [1, 2]]),
        "batch": None,
        "batch_size": None,
        "edge_weight": None,
        "edge_attr": None,
        "graph_attr": None,
        "colorings": sample_colorings(torch.tensor([0, 1, 1]), 2),
    }
    [right] = expected("several", arguments) or []
    [wrong] = expected("several", {**arguments, "edge_index": torch.tensor([[0, 1], [1, 0]])}) or []
    assert not np.allclose(right, wrong)
