"""Predictions for whole data sets, members as networks of their own, and hooks of subclasses."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.drawing import Number, drawing
from tests.graphs.examples import packed
from tests.nn.examples import randomize
from torch import Tensor

from clipgnn import CLIP, GIN, RPGIN, PackedGraphs
from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.nn.network import Network

SIZES = [4, 0, 3, 5, 0, 1, 2, 0]
OPTIONS: dict[str, Any] = {
    "directed": True,
    "weights": True,
    "edge_channels": 2,
    "graph_channels": 2,
}


def trained(graphs: PackedGraphs, network: type[Network] = CLIP, **parameters: Any) -> Network:
    """A network for the graphs with random weights and running statistics, in float64."""
    model = network.from_graphs(graphs, hidden_channels=5, **parameters).double()
    randomize(model)
    return model.eval()


def one_by_one(model: Network, graphs: PackedGraphs) -> Tensor:
    """The outputs of `forward` for each graph that has nodes."""
    rows = []
    for number, size in enumerate(graphs.node_pointers.diff().tolist()):
        if size:
            alone = graphs.subset(torch.tensor([number]))
            rows.append(
                model(
                    alone.x,
                    alone.edge_index,
                    edge_weight=alone.edge_weight,
                    edge_attr=alone.edge_attr,
                    graph_attr=alone.graph_attr,
                )
            )
    return torch.cat(rows, dim=-2)


@pytest.mark.parametrize("colorings", [0, "all"])
@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("batch_size", [1, 3, 256])
def test_predictions_are_those_of_single_graphs(
    colorings: Number, members: int, batch_size: int
) -> None:
    graphs = packed(SIZES, **OPTIONS)
    model = trained(graphs, num_members=members, **drawing(colorings))
    predicted = model.predict(graphs, batch_size=batch_size)
    with_nodes = graphs.node_pointers.diff() > 0
    assert predicted.shape == (*[2] * (members > 1), len(SIZES), 2)
    torch.testing.assert_close(
        predicted[..., with_nodes, :], one_by_one(model, graphs), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("batch_size", [1, 2, 256])
def test_graphs_without_nodes_have_an_output(batch_size: int) -> None:
    """That of a sum over no nodes: it depends on the attributes of the graph alone."""
    graphs = packed(SIZES, graph_channels=2)
    assert graphs.graph_attr is not None
    graphs.graph_attr[4] = graphs.graph_attr[1]
    model = trained(graphs, num_colorings=2)
    predicted = model.predict(graphs, batch_size=batch_size)
    assert bool(predicted.isfinite().all())
    torch.testing.assert_close(predicted[4], predicted[1], rtol=0, atol=1e-12)
    assert not torch.allclose(predicted[7], predicted[1])
    assert isinstance(model, CLIP)
    empty = torch.zeros(1, 1, 5, dtype=torch.float64)
    expected = model.readout(empty, graphs.graph_attr[1:2])[0, 0]
    torch.testing.assert_close(predicted[1], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("network", [CLIP, RPGIN])
def test_random_colorings_depend_on_the_seed_only(network: type[Network]) -> None:
    graphs = packed([6, 7, 5], labels=True)
    graphs = replace(graphs, x=torch.zeros_like(graphs.x))
    number = "num_permutations" if network is RPGIN else "num_colorings"
    model = trained(graphs, network, **{number: 2})
    before = torch.get_rng_state()
    first = model.predict(graphs, seed=3)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(5)
    assert torch.equal(model.predict(graphs, seed=3), first)
    assert not torch.allclose(model.predict(graphs, seed=4), first)


def test_predictions_change_neither_mode_nor_statistics() -> None:
    graphs = packed(SIZES)
    model = trained(graphs, num_colorings=0).train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    predicted = model.predict(graphs)
    assert model.training
    assert not predicted.requires_grad
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert torch.equal(model.eval().predict(graphs), predicted)


def test_predictions_that_fail_keep_the_mode() -> None:
    graphs = packed(SIZES)
    model = trained(graphs, num_colorings=2, num_colors=1).train()
    with pytest.raises(ValueError, match="num_colors"):
        model.predict(graphs)
    assert model.training


def test_floats_get_the_precision_of_the_network() -> None:
    graphs = packed(SIZES, labels=False, weights=True)
    model = trained(graphs, GIN).float()
    assert model.predict(graphs).dtype == torch.float32
    torch.testing.assert_close(
        model.predict(graphs), model.predict(graphs.with_floats(torch.float32)), rtol=0, atol=0
    )


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize("batch_size", [0, -1, 2.0, True, "3", None])
def test_batch_sizes(batch_size: Any) -> None:
    graphs = packed(SIZES)
    with pytest.raises(InvalidParameterError, match=r"batch_size must be .* at least 1. Got"):
        trained(graphs).predict(graphs, batch_size=batch_size)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"edge_channels": 2},
            "must have edge_channels=0, as the network was built. Got edge_channels=2",
        ),
        (
            {"graph_channels": 2},
            "must have graph_channels=0, as the network was built. Got graph_channels=2",
        ),
    ],
)
def test_data_sets_with_other_attributes(options: dict[str, Any], said: str) -> None:
    model = trained(packed(SIZES))
    with pytest.raises(InvalidGraphError, match=said):
        model.predict(packed(SIZES, **options))


def test_a_member_is_a_copy() -> None:
    graphs = packed(SIZES, **OPTIONS)
    model = trained(graphs, num_members=3, coloring="all").train()
    members = [model.member(number) for number in range(3)]
    together = model.predict(graphs)
    for number, alone in enumerate(members):
        assert alone.config == replace(model.config, num_members=1)
        assert alone.training
        assert next(alone.parameters()).dtype == torch.float64
        torch.testing.assert_close(alone.predict(graphs), together[number], rtol=0, atol=1e-10)
        for own, shared in zip(alone.parameters(), model.parameters(), strict=True):
            assert torch.equal(own[0], shared[number])
            assert own.data_ptr() != shared[number].data_ptr()
    with torch.no_grad():
        for parameter in members[0].parameters():
            parameter.zero_()
    assert torch.equal(model.predict(graphs), together)


@pytest.mark.parametrize("number", [-1, 2, 10**30])
def test_members_that_do_not_exist(number: int) -> None:
    model = trained(packed(SIZES), num_members=2)
    with pytest.raises(InvalidParameterError, match="from 0 to 1"):
        model.member(number)


def test_parameters_from_a_data_set() -> None:
    graphs = packed(SIZES, **OPTIONS)
    config = CLIP.from_graphs(graphs).config
    sizes = (config.in_channels, config.out_channels, config.edge_channels, config.graph_channels)
    assert sizes == (2, 2, 2, 2)
    assert config.directed
    assert CLIP.from_graphs(graphs, num_colors=50).config.num_colors == 50
    assert CLIP.from_graphs(graphs, out_channels=7).config.out_channels == 7
    regression = replace(graphs, y=torch.rand(len(graphs), 3))
    assert CLIP.from_graphs(regression).config.out_channels == 3
    assert CLIP.from_graphs(replace(graphs, y=torch.rand(len(graphs)))).config.out_channels == 1
    unknown = replace(graphs, y=None)
    with pytest.raises(InvalidParameterError, match="without y"):
        CLIP.from_graphs(unknown)
    assert CLIP.from_graphs(unknown, out_channels=4).config.out_channels == 4


@pytest.mark.parametrize("name", ["in_channels", "hiden_channels"])
def test_names_that_are_no_parameters_of_a_data_set(name: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"CLIP has no parameter '{name}'"):
        CLIP.from_graphs(packed(SIZES), **{name: 3})


@pytest.mark.parametrize("network", [CLIP, RPGIN])
@pytest.mark.parametrize("members", [1, 3])
def test_random_colorings_do_not_depend_on_the_other_graphs(
    network: type[Network], members: int
) -> None:
    """Of graphs with many colorings, whose repetitions are drawn again, and with few."""
    graphs = packed([6, 2, 7, 5, 3, 4, 9, 4], labels=True)
    graphs = replace(graphs, x=torch.zeros_like(graphs.x))
    number = "num_permutations" if network is RPGIN else "num_colorings"
    model = trained(graphs, network, num_members=members, **{number: 7})
    expected = model.predict(graphs, seed=5)
    order = torch.tensor([4, 1, 6, 0, 7, 2, 5, 3])
    shuffled = model.predict(graphs.subset(order), seed=5, batch_size=3)
    torch.testing.assert_close(shuffled, expected[..., order, :], rtol=0, atol=1e-10)
    for chosen in ([0], [1], [5, 5]):
        some = model.predict(graphs.subset(torch.tensor(chosen)), seed=5)
        torch.testing.assert_close(some, expected[..., chosen, :], rtol=0, atol=1e-10)
    if members > 1:
        first = model.member(0).predict(graphs, seed=5)
        torch.testing.assert_close(first, expected[0], rtol=0, atol=1e-10)
