"""The contract of networks: one suite that CLIP and every neural baseline run through."""

import inspect
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.contracts.graph_sets import ALL_KINDS, graph_set
from tests.optional import marks_of
from torch import Tensor

import clipgnn
from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.graphs.assembly import Assembler, Capacity
from clipgnn.graphs.batch import Batch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.network import Network
from clipgnn.parameters import MODELS

pytestmark = pytest.mark.usefixtures("double")

SMALL: dict[str, dict[str, Any]] = {
    "clip": {"num_colorings": 3, "hidden_channels": 5, "num_layers": 2},
    "gin": {"hidden_channels": 5, "num_layers": 2, "learn_epsilon": True},
    "rp-gin": {"hidden_channels": 5, "num_permutations": 3},
    "ring-gnn": {"hidden_channels": 4},
}
NAMES = [name for name, model in MODELS.items() if model.trained]
every_network = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks_of(name)) for name in NAMES]
)
CHOSEN = torch.tensor([[6, 0, 2], [4, 1, 5]])
"""The graphs of two members."""


def _plain() -> PackedGraphs:
    return graph_set(frozenset())


def _build(name: str, graphs: PackedGraphs, num_members: int = 1, **more: object) -> Network:
    torch.manual_seed(0)
    parameters = {**SMALL.get(name, {}), **more}
    network: Network = (
        MODELS[name].load().from_graphs(graphs, num_members=num_members, **parameters)
    )
    _randomize_statistics(network)
    return network.eval()


def _randomize_statistics(network: Network) -> None:
    """Running averages as after training, so that evaluation reads them."""
    for key, buffer in network.named_buffers():
        if "running" in key:
            buffer.copy_(torch.rand_like(buffer) + 0.5)


def _arguments(graphs: PackedGraphs) -> tuple[tuple[Tensor, ...], dict[str, Any]]:
    """Arguments of `forward` for all graphs of a set."""
    optional = {
        "edge_weight": graphs.edge_weight,
        "edge_attr": graphs.edge_attr,
        "graph_attr": graphs.graph_attr,
        "batch_size": len(graphs),
    }
    return (graphs.x, graphs.global_edge_index, graphs.graph_of_node), optional


def _colors(network: Network, batch: Batch, nodes: Tensor, table: Tensor) -> Tensor | None:
    """Colorings from a table of the data set `[colorings, nodes]`."""
    k = network.num_colorings_for(training=network.training)
    return table[:k][:, nodes] if k else None


def _table(network: Network, graphs: PackedGraphs) -> Tensor:
    batch = graphs.to_batch()
    partition = network.scheme.partition(batch)
    stream = clipgnn.Random().stream(batch, partition, 3, torch.Generator().manual_seed(5))
    return torch.nn.functional.pad(stream.all(), (0, 1))


def _compare_storages(network: Network, graphs: PackedGraphs) -> None:
    """`forward` on a user's tensors and `forward_batch` on padded members agree."""
    table = _table(network, graphs)
    k = network.num_colorings_for(training=False)
    tensors, optional = _arguments(graphs)
    given = {"colorings": table[:k, :-1]} if k else {}
    expected = network(*tensors, **optional, **given)
    if network.config.num_members == 1:
        expected = expected[None].expand(2, -1, -1)
        network = _two_members(network)
    groups = network.scheme.partition(graphs.to_batch()).local_groups
    assembler = Assembler(graphs, groups, network.prepare(graphs))
    for spare in (0, 7):
        needed = assembler.capacity_for(CHOSEN)
        batch = assembler.batch(CHOSEN, Capacity(needed.nodes + spare, needed.edges + spare))
        found = network.forward_batch(batch, _colors(network, batch, batch.node_ids, table))
        for member in range(2):
            torch.testing.assert_close(
                found[member], expected[member, CHOSEN[member]], rtol=0, atol=1e-10
            )


def _two_members(network: Network) -> Network:
    both = type(network).from_config(replace(network.config, num_members=2))
    state = {
        key: value.repeat(2, *[1] * (value.dim() - 1))
        for key, value in network.state_dict().items()
    }
    both.load_state_dict(state)
    return both.eval()


@every_network
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize(
    "direction", [frozenset(), frozenset({"direction"})], ids=["undirected", "directed"]
)
def test_exact_and_padded_batches_agree(name: str, labels: bool, direction: frozenset[str]) -> None:
    graphs = graph_set(direction, labels=labels)
    _compare_storages(_build(name, graphs), graphs)


@pytest.mark.parametrize("kinds", [frozenset(), frozenset({"weights"})], ids=["plain", "weights"])
@pytest.mark.parametrize("norm", ["batch", None])
def test_rp_gin_of_its_authors(kinds: frozenset[str], norm: str | None) -> None:
    """Biases without normalization, which padding also gets, do not reach the outputs."""
    graphs = graph_set(kinds)
    network = _build("rp-gin", graphs, norm=norm, num_maps=3, learn_epsilon=True)
    _compare_storages(network, graphs)


def test_dcnn_of_its_authors() -> None:
    graphs = _plain()
    _compare_storages(_build("dcnn", graphs, transition="columns"), graphs)


@pytest.mark.parametrize("kinds", ALL_KINDS, ids=lambda kinds: ", ".join(sorted(kinds)) or "plain")
@pytest.mark.parametrize("num_colorings", [0, 3])
@pytest.mark.parametrize("norm", ["batch", None])
def test_clip_reads_every_kind_of_graph(
    kinds: frozenset[str], num_colorings: int, norm: str | None
) -> None:
    graphs = graph_set(kinds)
    network = _build("clip", graphs, num_colorings=num_colorings, norm=norm)
    # Weights and attributes of the sets differ between the two directions of an edge.
    directed = bool(kinds & {"direction", "weights", "edge attributes"})
    assert network.config.directed == graphs.directed == directed  # type: ignore[attr-defined]
    _compare_storages(network, graphs)


@pytest.mark.parametrize("kinds", ALL_KINDS, ids=lambda kinds: ", ".join(sorted(kinds)) or "plain")
def test_gradients_agree_in_training(kinds: frozenset[str]) -> None:
    """Also batch statistics, which padding must not enter."""
    graphs = graph_set(kinds)
    network = _build("clip", graphs)
    chosen = torch.tensor([[6, 0, 2, 4]])
    table = _table(network, graphs)
    assembler = Assembler(graphs, network.scheme.partition(graphs.to_batch()).local_groups)
    needed = assembler.capacity_for(chosen)
    found = []
    for spare in (None, 0, 7):
        network.train()
        network.zero_grad()
        if spare is None:
            taken = graphs.subset(chosen[0])
            tensors, optional = _arguments(taken)
            nodes = (graphs.graph_of_node[None] == chosen[0][:, None]).nonzero()[:, 1]
            outputs = network(*tensors, **optional, colorings=table[:, nodes])[None]
        else:
            batch = assembler.batch(chosen, Capacity(needed.nodes + spare, needed.edges + spare))
            outputs = network.forward_batch(batch, table[:, batch.node_ids])
        outputs.sin().sum().backward()
        gradients = [parameter.grad.clone() for parameter in network.parameters()]  # type: ignore[union-attr]
        found.append((outputs.detach(), gradients))
    for outputs, gradients in found[1:]:
        torch.testing.assert_close(outputs, found[0][0], rtol=0, atol=1e-10)
        torch.testing.assert_close(gradients, found[0][1], rtol=0, atol=1e-9)


@every_network
def test_construction(name: str) -> None:
    implementation: Any = MODELS[name].load()
    signature = inspect.signature(implementation)
    first, second, *others = signature.parameters.values()
    assert (first.name, second.name) == ("in_channels", "out_channels")
    assert all(other.kind is other.KEYWORD_ONLY for other in others)
    assert {other.name for other in others} | {"in_channels", "out_channels"} == set(
        implementation.schema.names()
    )
    for other in others:
        assert other.default == implementation.schema.defaults()[other.name], other.name
    network = implementation(3, 2)
    assert network.config == implementation.schema(in_channels=3, out_channels=2)
    assert implementation.name == name
    with pytest.raises(InvalidParameterError, match=r"\d|parameter"):
        implementation(0, 2)
    with pytest.raises(InvalidParameterError, match="has no parameter"):
        implementation.from_graphs(_plain(), no_such_thing=1)


@every_network
def test_arguments_after_batch_are_keywords(name: str) -> None:
    signature = inspect.signature(MODELS[name].load().forward)
    names = list(signature.parameters)
    assert names[:4] == ["self", "x", "edge_index", "batch"]
    for parameter in list(signature.parameters.values())[4:]:
        assert parameter.kind is parameter.KEYWORD_ONLY


@every_network
def test_reset_parameters(name: str) -> None:
    network = _build(name, _plain(), num_members=2)
    seeds = [3, 4]

    def state(order: list[int]) -> dict[str, Tensor]:
        network.reset_parameters([torch.Generator().manual_seed(seeds[place]) for place in order])
        return {key: value.clone() for key, value in network.state_dict().items()}

    first, again, swapped = state([0, 1]), state([0, 1]), state([1, 0])
    for key, value in first.items():
        assert torch.equal(value, again[key])
        assert torch.equal(value.flip(0), swapped[key])
    for parameter in network.parameters():
        with torch.no_grad():
            parameter.add_(1)
    changed = state([0, 1])
    assert all(torch.equal(changed[key], first[key]) for key in first)
    network.reset_parameters()
    assert any(not torch.equal(value, first[key]) for key, value in network.state_dict().items())


@every_network
def test_repr_has_sizes(name: str) -> None:
    network = _build(name, _plain())
    number = sum(parameter.numel() for parameter in network.parameters())
    assert repr(network).startswith(f"{type(network).__name__}(3, 2")
    assert repr(network).endswith(f"num_parameters={number})")
    assert "\n" not in repr(network)


@every_network
def test_hooks_fire(name: str) -> None:
    network = _build(name, _plain())
    fired = []
    network.register_forward_pre_hook(lambda *_: fired.append("before"))
    network.register_forward_hook(lambda *_: fired.append("after"))
    for child in network.children():
        if not isinstance(child, torch.nn.ModuleList):
            child.register_forward_hook(lambda *_: fired.append("child"))
    tensors, _ = _arguments(_plain())
    network(*tensors)
    assert fired[0] == "before"
    assert fired[-1] == "after"
    assert "child" in fired


@every_network
def test_save_and_load(name: str, tmp_path: Path) -> None:
    network = _build(name, _plain(), num_members=2)
    path = tmp_path / "model.safetensors"
    clipgnn.save(network, path)
    loaded = clipgnn.load(path)
    assert type(loaded) is type(network)
    assert loaded.config == network.config
    assert not loaded.training
    graphs = _plain()
    assert torch.equal(loaded.predict(graphs, seed=1), network.predict(graphs, seed=1))


@every_network
def test_members_are_independent_networks(name: str) -> None:
    graphs = _plain()
    network = _build(name, graphs, num_members=2)
    together = network.predict(graphs)
    assert together.shape == (2, len(graphs), 2)
    for number in range(2):
        alone = network.member(number)
        assert alone.config == replace(network.config, num_members=1)
        if network.num_colorings_for(training=False) == 0:
            torch.testing.assert_close(alone.predict(graphs), together[number], atol=1e-10, rtol=0)
        with torch.no_grad():
            next(alone.parameters()).add_(1)  # a copy
    assert torch.equal(network.predict(graphs), together)


@every_network
def test_predict(name: str) -> None:
    graphs = replace(_plain(), y=None)
    network = _build(name, _plain()).train()
    outputs = network.predict(graphs, seed=2)
    assert outputs.shape == (len(graphs), 2)
    assert not outputs.requires_grad
    assert network.training
    assert torch.equal(outputs, network.predict(graphs, seed=2))
    with pytest.raises(InvalidParameterError, match="batch_size"):
        network.predict(graphs, batch_size=0)
    if network.num_colorings_for(training=False) == 0:
        torch.testing.assert_close(network.predict(graphs, batch_size=2), outputs)


@every_network
def test_graphs_that_a_network_cannot_read_are_refused(name: str) -> None:
    network = _build(name, _plain())
    for kind in ("weights", "edge attributes", "graph attributes"):
        graphs = graph_set(frozenset({kind}))
        if kind == "weights" and network.reads_edge_weights:
            continue
        tensors, optional = _arguments(graphs)
        with pytest.raises(InvalidGraphError, match=r"(edge|graph)_"):
            network(*tensors, **optional)
        if name != "clip":
            with pytest.raises(InvalidGraphError, match="Leave it out"):
                type(network).from_graphs(graphs)


@every_network
def test_configuration_round_trip(name: str) -> None:
    network = _build(name, _plain())
    again = type(network).from_config(network.config)
    assert again.config == network.config
    assert asdict(network.schema.from_dict(asdict(network.config))) == asdict(network.config)
