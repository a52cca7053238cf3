"""The extensions that the paper names: each input is used, and as documented."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.drawing import drawing
from tests.nn.examples import assert_close, differ, example_batch, random_model
from torch import Tensor
from torch.nn import functional

from clipgnn.nn import CLIP

Arguments = dict[str, Any]
FULL: dict[str, Any] = {"directed": True, "edge_channels": 2, "graph_channels": 2}
CARRIED: dict[str, Any] = {"weights": True, "edge_channels": 2, "graph_channels": 2}


def model_of(**parameters: Any) -> CLIP:
    """A sensitive model: no normalization, nowhere flat, and every coloring of every graph."""
    return random_model(
        coloring="all", activation="softplus", norm=None, **parameters
    ).requires_grad_(False)


def with_first(values: Tensor, value: float) -> Tensor:
    """A copy whose first row has this value added."""
    changed = values.clone()
    changed[0] += value
    return changed


CHANGES: dict[str, Callable[[Arguments], Arguments]] = {
    "a weight": lambda a: {"edge_weight": with_first(a["edge_weight"], 0.5)},
    "an edge attribute": lambda a: {"edge_attr": with_first(a["edge_attr"], 0.5)},
    "two edge attributes swapped": lambda a: {
        "edge_attr": a["edge_attr"][[3, 1, 2, 0, *range(4, 12)]]
    },
    "a graph attribute": lambda a: {"graph_attr": with_first(a["graph_attr"], 0.5)},
    "a node attribute": lambda a: {"x": with_first(a["x"], 0.5)},
    "the direction of all edges": lambda a: {"edge_index": a["edge_index"].flip(0)},
    "the direction of one edge": lambda a: {
        "edge_index": torch.cat([a["edge_index"][:, :1].flip(0), a["edge_index"][:, 1:]], dim=1)
    },
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("at_once", [None, 5])
def test_it_is_used(change: Callable[[Arguments], Arguments], at_once: int | None) -> None:
    """A change in the first graph changes its output only; turning all edges changes every one.

    The other outputs are compared up to rounding: a changed attribute changes the number of
    colorings, and products of another number of rows may round differently.
    """
    model = model_of(**FULL, colorings_at_once=at_once)
    arguments = example_batch(**CARRIED)
    before, after = model(**arguments), model(**{**arguments, **change(arguments)})
    assert differ(before[0], after[0])
    if change is not CHANGES["the direction of all edges"]:
        assert_close(before[1:], after[1:])


def test_labels_are_used() -> None:
    model = model_of()
    arguments = example_batch(labels=True)
    changed = arguments["x"].clone()
    changed[0] = 2
    assert differ(model(**arguments)[0], model(**{**arguments, "x": changed})[0])


@pytest.mark.parametrize("method", ["forward", "embed", "embed_nodes"])
@pytest.mark.parametrize("code", ["one-hot", "binary"])
def test_labels_are_one_hot_attributes(method: str, code: str) -> None:
    apply = getattr(model_of(color_code=code), method)
    arguments = example_batch(labels=True)
    one_hot = functional.one_hot(arguments["x"], 3).double()
    assert_close(apply(**arguments), apply(**{**arguments, "x": one_hot}))


def test_labels_train_as_one_hot_attributes_do() -> None:
    arguments = example_batch(labels=True)
    one_hot = functional.one_hot(arguments["x"], 3).double()
    results = []
    for x in (arguments["x"], one_hot):
        model = random_model(coloring="all").train()
        model(**{**arguments, "x": x}).square().sum().backward()
        results.append([parameter.grad for parameter in model.parameters()])
    for first, second in zip(*results, strict=True):
        assert first is not None
        assert second is not None
        assert_close(first, second)


@pytest.mark.parametrize("directed", [False, True])
def test_weights_are_factors_of_messages(directed: bool) -> None:
    model = model_of(directed=directed)
    arguments = example_batch()
    edge_index = arguments["edge_index"]
    plain = model(**arguments)
    ones = torch.ones(edge_index.shape[1], dtype=torch.float64)
    assert_close(model(**arguments, edge_weight=ones), plain)

    doubled, twice = ones.clone(), torch.cat([edge_index, edge_index[:, :1]], dim=1)
    doubled[0] = 2
    assert_close(
        model(**arguments, edge_weight=doubled), model(**{**arguments, "edge_index": twice})
    )
    absent, fewer = ones.clone(), edge_index[:, 1:]
    absent[0] = 0
    assert_close(
        model(**arguments, edge_weight=absent), model(**{**arguments, "edge_index": fewer})
    )


def test_weights_and_edge_attributes_together() -> None:
    model = model_of(edge_channels=2)
    arguments = example_batch(edge_channels=2)
    edges = {"edge_index": torch.cat([arguments["edge_index"], arguments["edge_index"][:, :1]], 1)}
    attributes = torch.cat([arguments["edge_attr"], arguments["edge_attr"][:1]])
    twice = model(**{**arguments, **edges, "edge_attr": attributes})
    weight = torch.ones(arguments["edge_index"].shape[1], dtype=torch.float64)
    weight[0] = 2
    assert_close(model(**arguments, edge_weight=weight), twice)


@pytest.mark.parametrize("carried", [{}, CARRIED], ids=["plain", "everything"])
@pytest.mark.parametrize("directed", [False, True])
def test_the_order_of_edges_does_not_matter(carried: dict[str, Any], directed: bool) -> None:
    channels = {name: value for name, value in carried.items() if name != "weights"}
    model = model_of(directed=directed, **channels)
    arguments = example_batch(**carried)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    shuffled = {"edge_index": arguments["edge_index"][:, order]}
    for name in ("edge_weight", "edge_attr"):
        if name in arguments:
            shuffled[name] = arguments[name][order]
    assert_close(model(**{**arguments, **shuffled}), model(**arguments))


PATH = torch.tensor([[0, 1], [1, 2]])
ENDS = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)


@pytest.mark.parametrize("directed", [False, True])
def test_only_directed_models_read_outgoing_edges(directed: bool) -> None:
    """On 0 → 1 → 2 with one layer, node 1 depends on node 0, and on node 2 if directed."""
    model = model_of(in_channels=1, num_layers=1, directed=directed)
    middle = model.embed_nodes(ENDS, PATH)[1]
    first, last = ENDS.clone(), ENDS.clone()
    first[0] = 5.0
    last[2] = 5.0
    assert differ(model.embed_nodes(first, PATH)[1], middle)
    assert differ(model.embed_nodes(last, PATH)[1], middle) is directed


@pytest.mark.parametrize(("zeroed", "end"), [("phi", 0), ("phi_out", 2)])
def test_phi_reads_incoming_and_phi_out_outgoing_edges(zeroed: str, end: int) -> None:
    """With its second map zero, node 1 of 0 → 1 → 2 does not depend on that end."""
    model = model_of(in_channels=1, num_layers=1, directed=True)
    model.state_dict()[f"layers.0.{zeroed}.second.weight"].zero_()
    middle = model.embed_nodes(ENDS, PATH)[1]
    for changed_end in (0, 2):
        x = ENDS.clone()
        x[changed_end] = 5.0
        assert differ(model.embed_nodes(x, PATH)[1], middle) is (changed_end != end)


def test_a_path_and_its_reverse() -> None:
    """Each node keeps its neighbors; only which come in and which go out is exchanged."""
    model = model_of(in_channels=1, num_layers=1, directed=True)
    assert differ(model(ENDS, PATH), model(ENDS, PATH.flip(0)))
    both = torch.cat([PATH, PATH.flip(0)], dim=1)
    assert_close(model(ENDS, both), model(ENDS, both.flip(0)))


def test_a_star_of_equal_nodes_and_its_reverse() -> None:
    model = model_of(in_channels=1, directed=True)
    star = torch.tensor([[0, 0, 0], [1, 2, 3]])
    assert differ(model(ENDS[:1].expand(4, 1), star), model(ENDS[:1].expand(4, 1), star.flip(0)))


def test_exchanging_the_two_sums_is_reversing_all_edges() -> None:
    parameters = {name: value for name, value in FULL.items() if name != "graph_channels"}
    model, exchanged = model_of(**parameters), model_of(**parameters)
    hidden = model.config.hidden_channels
    weights = model.state_dict()
    for name in list(weights):
        if ".phi." in name:
            other = name.replace(".phi.", ".phi_out.")
            weights[name], weights[other] = weights[other], weights[name]
        if name.endswith("psi.first.weight"):
            own, inward, outward = weights[name].split(
                [weights[name].shape[1] - 2 * hidden, hidden, hidden], dim=1
            )
            weights[name] = torch.cat([own, outward, inward], dim=1)
    exchanged.load_state_dict(weights)
    arguments = example_batch(weights=True, edge_channels=2)
    reverse = {**arguments, "edge_index": arguments["edge_index"].flip(0)}
    assert_close(exchanged(**reverse), model(**arguments))
    assert differ(exchanged(**arguments), model(**arguments))


@pytest.mark.parametrize("name", ["x", "edge_weight", "edge_attr", "graph_attr"])
def test_gradients_reach_every_input(name: str) -> None:
    """With the colorings given: drawn ones change with x, which decides which nodes are equal."""
    model = random_model(num_colorings=1, activation="softplus", **FULL).eval()
    arguments = example_batch(**CARRIED)
    colorings = torch.arange(13)[None] % 4

    def output(value: Tensor) -> Tensor:
        result: Tensor = model(**{**arguments, name: value}, colorings=colorings)
        return result

    assert torch.autograd.gradcheck(output, (arguments[name].requires_grad_(),), fast_mode=True)
    (gradient,) = torch.autograd.grad(output(arguments[name]).sum(), arguments[name])
    assert bool(gradient.any())


@pytest.mark.parametrize("num_colorings", [2, "all"])
def test_gradients_reach_attributes_where_colorings_are_drawn(num_colorings: Any) -> None:
    model = random_model(**drawing(num_colorings), activation="softplus").eval()
    arguments = example_batch()
    x = arguments["x"].requires_grad_()
    (gradient,) = torch.autograd.grad(model(**arguments).sum(), x)
    assert bool(gradient.any(dim=1).all())
