"""RP-GIN: over all permutations it is invariant, and tells apart what GIN cannot."""

from itertools import permutations
from typing import Any

import pytest
import torch
from tests.baselines.examples import batch_of, members_of, outputs
from tests.training.examples import rings, some_graphs
from torch import Tensor
from torch_geometric.data import Data

from clipgnn.baselines.rp_gin import RPGIN
from clipgnn.coloring.random import HashedSampler
from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.network import Network
from clipgnn.nn.norm import BatchNorm
from clipgnn.training import ModelSpec

SPEC = ModelSpec(
    "rp-gin",
    {"hidden_channels": 8, "num_layers": 2, "num_identities": 3, "num_permutations": 2},
)


def _over_all_permutations(model: Network, graphs: PackedGraphs) -> Tensor:
    """The mean over all permutations of one graph."""
    everything = torch.tensor(list(permutations(range(graphs.x.shape[0]))))
    batch = batch_of(model, graphs, torch.tensor([[0]]))
    return model.forward_batch(batch, everything)[0, 0]


def _random_graph(nodes: int, seed: int) -> Data:
    generator = torch.Generator().manual_seed(seed)
    upper = (torch.rand(nodes, nodes, generator=generator) < 0.5).triu(1)
    labels = torch.randint(0, 2, (nodes,), generator=generator)
    return Data(x=labels, edge_index=(upper | upper.t()).nonzero().t(), y=torch.tensor([0]))


def _relabelled(graph: Data, order: Tensor) -> Data:
    place = torch.empty_like(order).scatter_(0, order, torch.arange(order.numel()))
    return Data(x=graph.x[order], edge_index=place[graph.edge_index], y=graph.y)


def test_over_all_permutations_it_is_invariant() -> None:
    graph = _random_graph(5, seed=1)
    packed = PackedGraphs.from_data_list([graph])
    model = members_of(SPEC, packed, [0]).double()
    expected = _over_all_permutations(model, packed)
    for seed in range(5):
        order = torch.randperm(5, generator=torch.Generator().manual_seed(seed))
        again = PackedGraphs.from_data_list([_relabelled(graph, order)])
        torch.testing.assert_close(
            _over_all_permutations(model, again), expected, rtol=1e-10, atol=1e-10
        )


def test_one_permutation_is_not_invariant() -> None:
    graph = _random_graph(5, seed=1)
    packed = PackedGraphs.from_data_list([graph])
    model = members_of(SPEC, packed, [0]).double()
    batch = batch_of(model, packed, torch.tensor([[0]]))
    scores = [model.forward_batch(batch, row[None])[0, 0] for row in torch.eye(5).argsort(1)[:3]]
    assert not torch.allclose(scores[0], scores[2], atol=1e-6)


def test_over_all_permutations_it_tells_regular_graphs_apart() -> None:
    ring, two_rings = rings(2).to_data_list()
    for graph in (ring, two_rings):
        graph.x = graph.x.double()
    one, other = (PackedGraphs.from_data_list([graph]) for graph in (ring, two_rings))
    model = members_of(SPEC, one, [0]).double()
    apart = _over_all_permutations(model, one) - _over_all_permutations(model, other)
    assert apart.abs().max() > 1e-4


def test_permutations_of_whole_graphs_in_training_and_evaluation() -> None:
    graphs = some_graphs()
    model = members_of(SPEC, graphs, [0])
    assert model.num_colorings_for(training=True) == 1
    assert model.num_colorings_for(training=False) == 2
    assert outputs(model, graphs, torch.tensor([[0, 1]]), [0]).shape == (1, 2, 2)
    # All nodes of a graph are one group, whatever their labels: they get all positions from 0 on.
    batch = batch_of(model, graphs, torch.tensor([[0, 3]]))
    drawn = HashedSampler().sample(batch, 4, torch.tensor([1]), torch.tensor(0))
    for own in drawn.split(batch.nodes.count.tolist(), 1):
        assert torch.equal(own.sort(1).values, torch.arange(own.shape[1]).expand(4, -1))


def test_the_mean_over_permutations_is_the_mean_of_single_ones() -> None:
    graphs = some_graphs()
    model = members_of(SPEC, graphs, [0]).double()
    batch = batch_of(model, graphs, torch.tensor([[0]]))
    nodes = batch.num_nodes
    orders = torch.stack([torch.arange(nodes), torch.arange(nodes).flip(0)])
    single = torch.stack([model.forward_batch(batch, order[None]) for order in orders])
    torch.testing.assert_close(model.forward_batch(batch, orders), single.mean(0))


class Reference:
    """RP-GIN in float64, node by node; `statistics` are those of the last step of training."""

    def __init__(self, model: RPGIN) -> None:
        self.model = model
        self.statistics: dict[BatchNorm, tuple[Tensor, Tensor]] = {}

    def __call__(self, graphs: list[Data], orders: list[Tensor]) -> Tensor:
        """Outputs of all graphs, for their permutations `[permutations, nodes]`."""
        layers: Any = self.model.network.layers
        heads: Any = self.model.network.heads
        rows = [
            torch.stack([self._input(graph, order) for order in own])
            for graph, own in zip(graphs, orders, strict=True)
        ]  # for each graph [permutations, nodes, channels]
        totals = [self._head(heads[0], own) for own in rows]
        for layer, head in zip(layers, heads[1:], strict=True):
            summed = [self._sum(layer, x, g) for x, g in zip(rows, graphs, strict=True)]
            rows = self._mlp(layer, summed)
            totals = [
                total + self._head(head, own) for total, own in zip(totals, rows, strict=True)
            ]
        return torch.stack([total.mean(0) for total in totals])

    def _input(self, graph: Data, order: Tensor) -> Tensor:
        """One-hot label and one-hot identity of each node."""
        assert graph.x is not None
        config = self.model.config
        x = torch.zeros(graph.x.shape[0], config.in_channels + config.num_identities).double()
        for node, row in enumerate(graph.x):
            x[node, : config.in_channels] = row
            x[node, config.in_channels + int(order[node]) % config.num_identities] = 1
        return x

    def _sum(self, layer: Any, x: Tensor, graph: Data) -> Tensor:
        epsilon = 0 if layer.epsilon is None else layer.epsilon[0]
        total = [(1 + epsilon) * x[:, node] for node in range(x.shape[1])]
        assert graph.edge_index is not None
        for source, target in graph.edge_index.t().tolist():
            total[target] = total[target] + x[:, source]
        return torch.stack(total, 1)

    def _mlp(self, layer: Any, graphs: list[Tensor]) -> list[Tensor]:
        """Maps with a ReLU in between; normalized ones over all nodes of all graphs."""
        maps = [layer.first, layer.second, *layer.further]
        norms = [layer.inside, layer.after, *layer.after_further]
        for number, (linear, norm) in enumerate(zip(maps, norms, strict=True)):
            graphs = [x @ linear.weight[0] for x in graphs]
            if self.model.config.norm == "batch":
                assert linear.bias is None
                everything = torch.cat([x.flatten(0, 1) for x in graphs])
                if self.model.training:
                    mean, variance = everything.mean(0), everything.var(0, correction=0)
                    self.statistics[norm] = (mean.detach(), everything.var(0).detach())
                else:
                    mean, variance = self.statistics[norm]
                scale = norm.weight[0] / (variance + norm.epsilon).sqrt()
                graphs = [((x - mean) * scale + norm.bias[0]).relu() for x in graphs]
            else:
                graphs = [x + linear.bias[0] for x in graphs]
                if number < len(maps) - 1:
                    graphs = [x.relu() for x in graphs]
        return graphs

    def _head(self, head: Any, x: Tensor) -> Tensor:
        total: Tensor = x.sum(1) @ head.scores.weight[0] + head.scores.bias[0]
        return total


@pytest.mark.parametrize("learn_epsilon", [False, True])
@pytest.mark.parametrize("norm", ["batch", None])
@pytest.mark.parametrize("num_maps", [2, 3, 4])
def test_every_option_against_a_slow_reference(
    num_maps: int, norm: str | None, learn_epsilon: bool
) -> None:
    """Outputs and gradients, in training and then in evaluation, with padding."""
    graphs = some_graphs(7)
    options = {"num_maps": num_maps, "norm": norm, "learn_epsilon": learn_epsilon}
    model = members_of(ModelSpec("rp-gin", {**SPEC.parameters, **options}), graphs, [3]).double()
    assert isinstance(model, RPGIN)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.rand(parameter.shape, generator=generator))
    data = graphs.to_data_list()  # labels are one-hot
    reference = Reference(model)
    batch = batch_of(model, graphs, torch.arange(7)[None], spare=5)
    for training, k in ((True, 1), (False, 2)):
        model.train(training)
        assert model.num_colorings_for(training=training) == k
        orders = [
            torch.stack([torch.randperm(len(graph.x), generator=generator) for _ in range(k)])
            for graph in data
        ]
        table = torch.nn.functional.pad(torch.cat(orders, 1), (0, 1))  # [k, nodes + padding]
        ours = model.forward_batch(batch, table[:, batch.node_ids])[0]
        theirs = reference(data, orders)
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
        weights = torch.randn(ours.shape, generator=generator).double()
        parameters = list(model.parameters())
        gradients = torch.autograd.grad((weights * ours).sum(), parameters)
        expected = torch.autograd.grad((weights * theirs).sum(), parameters)
        for own, other in zip(gradients, expected, strict=True):
            torch.testing.assert_close(own, other, rtol=1e-8, atol=1e-8)
    names = dict(model.named_parameters())
    assert any("epsilon" in name for name in names) == learn_epsilon
    assert any(name.endswith("first.bias") for name in names) == (norm is None)
    assert sum("layers.0" in name and name.endswith("weight") for name in names) == num_maps * (
        2 if norm else 1
    )


def test_the_initialization_of_the_authors_code() -> None:
    """Glorot's bounds for the maps of MLPs, biases of 0; the last map as in torch."""
    graphs = some_graphs()
    options = {"norm": None, "num_maps": 3, "hidden_channels": 200, "num_identities": 100}

    def weights(**more: str) -> dict[str, Tensor]:
        model = members_of(ModelSpec("rp-gin", {**SPEC.parameters, **options, **more}), graphs, [0])
        return {name: own.detach() for name, own in model.named_parameters()}

    glorot, uniform = weights(initialization="glorot"), weights()
    assert glorot.keys() == uniform.keys()
    for name, own in glorot.items():
        if "heads" in name:
            continue
        if name.endswith("bias"):
            assert not own.any(), name
            assert uniform[name].any(), name
        else:
            _, fan_in, fan_out = own.shape
            bound = (6 / (fan_in + fan_out)) ** 0.5
            assert 0.99 * bound < own.abs().max() <= bound, name
            assert own.std() == pytest.approx(bound / 3**0.5, rel=0.02)
            assert 0.99 * fan_in**-0.5 < uniform[name].abs().max() <= fan_in**-0.5, name
    head, other = (own["network.heads.1.scores.bias"] for own in (glorot, uniform))
    assert head.any()
    assert other.any()


@pytest.mark.parametrize(
    "wrong",
    [
        {"initialization": "zeros"},
        {"num_identities": 0},
        {"num_permutations": 0},
        {"num_maps": 1},
        {"norm": "layer"},
        {"learn_epsilon": 1},
    ],
)
@pytest.mark.usefixtures("without_shape_checks")
def test_wrong_parameters(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=f"'{next(iter(wrong))}' parameter of RP-GIN"):
        members_of(ModelSpec("rp-gin", wrong), some_graphs(), [0])


def test_it_needs_permutations() -> None:
    graphs = some_graphs()
    model = members_of(SPEC, graphs, [0])
    batch = batch_of(model, graphs, torch.tensor([[0]]))
    with pytest.raises(InvalidParameterError, match="needs a permutation"):
        model.forward_batch(batch, None)
