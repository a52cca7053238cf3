"""RP-GIN: over all permutations it is invariant, and tells apart what GIN cannot."""

from itertools import permutations

import pytest
import torch
from tests.baselines.examples import batch_of, members_of, outputs
from tests.training.examples import rings, some_graphs
from torch import Tensor
from torch_geometric.data import Data

from clipgnn.coloring.random import HashedSampler
from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.network import Network
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


@pytest.mark.parametrize("wrong", [{"num_identities": 0}, {"num_permutations": 0}])
def test_wrong_parameters(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidParameterError, match=f"'{next(iter(wrong))}' parameter of RP-GIN"):
        members_of(ModelSpec("rp-gin", wrong), some_graphs(), [0])


def test_it_needs_permutations() -> None:
    graphs = some_graphs()
    model = members_of(SPEC, graphs, [0])
    batch = batch_of(model, graphs, torch.tensor([[0]]))
    with pytest.raises(InvalidParameterError, match="needs a permutation"):
        model.forward_batch(batch, None)
