"""DGCNN against PyG's layers, and its members against each other."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.baselines.examples import bias_of, outputs_of_all
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import SimpleConv
from torch_geometric.nn.aggr import SortAggregation

from clipgnn.baselines.dgcnn import DGCNN, nodes_to_keep, sort_pool
from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.capacity import FixedSegments
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.linear import Linear

SMALL = {"hidden_channels": 5, "num_layers": 2, "dense_channels": 7}


@pytest.fixture(autouse=True, params=[torch.float32, torch.float64], ids=["float32", "float64"])
def _dtype(request: pytest.FixtureRequest) -> Iterator[None]:
    torch.manual_seed(0)
    torch.set_default_dtype(request.param)
    yield
    torch.set_default_dtype(torch.float32)


def with_attributes(graphs: PackedGraphs, channels: int = 3) -> PackedGraphs:
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(graphs.x.shape[0], channels, generator=generator, dtype=torch.float64)
    return replace(graphs, x=rows.to(torch.get_default_dtype()), in_channels=channels)


class Reference(nn.Module):
    """The same network from torch's and PyG's layers, with the weights of a DGCNN's one member."""

    def __init__(self, model: DGCNN, dropout: float) -> None:
        super().__init__()
        self.mean = SimpleConv(aggr="mean", combine_root="self_loop")
        self.maps = [_linear(layer) for layer in (model.initial, *model.layers)]
        self.sort = SortAggregation(model.config.k)
        width = model.first.linear.weight.shape[1]
        self.first = nn.Conv1d(1, 16, width, width)
        self.pool = nn.MaxPool1d(2, 2)
        self.second = nn.Conv1d(16, 32, 5)
        _copy(self.first, model.first.linear, (16, 1, width))
        _copy(self.second, model.second.linear, (32, 16, 5))
        self.dense = _linear(model.dense.first)
        self.dropout = nn.Dropout(dropout)
        self.last = _linear(model.dense.second)

    def forward(self, data: Batch) -> Tensor:
        x, results = data.x, []
        for layer in self.maps:
            x = torch.tanh(self.mean(layer(x), data.edge_index))
            results.append(x)
        x = self.sort(torch.cat(results, dim=1), data.batch)
        x = self.pool(torch.relu(self.first(x[:, None])))
        x = torch.relu(self.second(x)).transpose(1, 2).flatten(1)
        return self.last(self.dropout(torch.relu(self.dense(x))))


def _linear(layer: Linear) -> nn.Linear:
    _, inputs, outputs = layer.weight.shape
    same = nn.Linear(inputs, outputs, bias=layer.bias is not None)
    same.weight.data = layer.weight[0].detach().t()
    if layer.bias is not None:
        same.bias.data = bias_of(layer)
    return same


def _copy(convolution: nn.Conv1d, layer: Linear, shape: tuple[int, ...]) -> None:
    convolution.weight.data = layer.weight[0].detach().t().reshape(shape)
    assert convolution.bias is not None
    convolution.bias.data = bias_of(layer)


@pytest.mark.parametrize("truncated_share", [0.0, 0.6])
@pytest.mark.parametrize("attributes", [False, True])
def test_same_as_with_layers_of_pyg(attributes: bool, truncated_share: float) -> None:
    graphs = larger_graphs()
    graphs = with_attributes(graphs) if attributes else graphs
    model = DGCNN.from_graphs(graphs, out_channels=3, truncated_share=truncated_share)
    reference = Reference(model, dropout=0.5)
    data = Batch.from_data_list(graphs.to_data_list())
    for network in (model, reference):
        network.eval()
    outputs = outputs_of_all(model, graphs)
    torch.testing.assert_close(outputs, reference(data), rtol=1e-4, atol=1e-5)
    assert outputs.std(0).min() > 1e-4  # graphs are told apart at all
    outputs.square().sum().backward()
    reference(data).square().sum().backward()
    gradient = model.initial.weight.grad
    assert gradient is not None
    torch.testing.assert_close(gradient[0].t(), reference.maps[0].weight.grad, rtol=1e-3, atol=1e-5)
    no_dropout = DGCNN.from_graphs(
        graphs, out_channels=3, truncated_share=truncated_share, dropout=0.0
    )
    no_dropout.load_state_dict(model.state_dict())
    torch.testing.assert_close(outputs_of_all(no_dropout, graphs), outputs)
    assert not torch.equal(outputs_of_all(model.train(), graphs), outputs)


def larger_graphs() -> PackedGraphs:
    """Some have more than the ten nodes that are kept at least, some fewer."""
    generator = torch.Generator().manual_seed(2)
    graphs = []
    for nodes in (1, 14, 30, 12, 25, 4, 13, 19):
        upper = torch.rand(nodes, nodes, generator=generator).triu(1) > 0.8
        edges = (upper | upper.t()).nonzero().t()
        labels = torch.randint(0, 4, (nodes,), generator=generator)
        graphs.append(Data(x=labels, edge_index=edges, y=torch.tensor([nodes % 2])))
    return PackedGraphs.from_data_list(graphs, "larger graphs")


@pytest.mark.parametrize("k", [3, 10, 40])
def test_sort_pooling_is_that_of_pyg(k: int) -> None:
    graphs = larger_graphs()
    x = torch.randn(graphs.x.shape[0], 4)
    counts = graphs.node_pointers.diff()
    nodes = FixedSegments(graphs.node_pointers[:-1], counts, graphs.graph_of_node, None)
    pooled = sort_pool([x[:, :2], x[:, 2:]], nodes, k, max(k, 30))
    expected = SortAggregation(k)(x, graphs.graph_of_node)
    assert torch.equal(pooled.flatten(1), expected)


def test_ties_are_broken_by_the_layers_before() -> None:
    before = torch.tensor([[9.0, 0.1], [8.0, 0.3], [7.0, 0.2], [6.0, 0.0]])
    last = torch.tensor([[0.5], [0.5], [0.5], [0.9]])
    nodes = FixedSegments(
        torch.tensor([0]), torch.tensor([4]), torch.zeros(4, dtype=torch.int64), None
    )
    pooled = sort_pool([before, last], nodes, 4, 4)
    assert pooled[0, :, 0].tolist() == [6, 8, 7, 9]


def test_a_member_that_overflows_does_not_spread() -> None:
    x = torch.tensor([[torch.nan], [1.0], [2.0]])
    nodes = FixedSegments(torch.tensor([0, 1]), torch.tensor([1, 2]), torch.tensor([0, 1, 1]), None)
    assert sort_pool([x], nodes, 3, 3)[1, :, 0].tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("share", "k"),
    # Three of five graphs are larger than 19 and not than 20.
    [(0.6, 19), (0.59, 19), (0.61, 14), (0.0, 40), (0.2, 39), (0.81, 10)],
)
def test_the_share_of_graphs_that_are_cut(share: float, k: int) -> None:
    sizes = torch.tensor([15, 40, 20, 30, 5])
    assert nodes_to_keep(sizes, share) == k
    if k > 10:
        assert (sizes > k).sum() >= share * 5 > (sizes > k + 1).sum() or share == 0


def test_nodes_may_come_in_any_order() -> None:
    graphs = larger_graphs()
    model = DGCNN.from_graphs(graphs, out_channels=2, **SMALL).eval()
    shuffled = []
    for data in graphs.to_data_list():
        order = torch.randperm(data.num_nodes)
        place = torch.argsort(order)
        shuffled.append(
            Data(x=data.x.argmax(1)[order], edge_index=place[data.edge_index], y=data.y)
        )
    same = outputs_of_all(model, PackedGraphs.from_data_list(shuffled))
    torch.testing.assert_close(same, outputs_of_all(model, graphs), rtol=1e-4, atol=1e-5)


def test_nodes_without_edges_alone_in_their_graphs() -> None:
    none = torch.empty(2, 0, dtype=torch.int64)
    lonely = Data(x=torch.tensor([1]), edge_index=none, y=torch.tensor([0]))
    graphs = PackedGraphs.from_data_list([lonely, lonely])
    model = DGCNN.from_graphs(graphs, out_channels=2, **SMALL).eval()
    assert model.config.k == 10
    assert outputs_of_all(model, graphs).isfinite().all()


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"truncated_share": 1.0}, "'truncated_share' parameter of DGCNN must be a number of"),
        ({"truncated_share": True}, "Got True instead"),
        ({"dropout": 1}, "'dropout' parameter of DGCNN"),
        ({"num_layers": 0}, "'num_layers' parameter of DGCNN must be an integer from 1 to"),
        ({"hidden_channels": 1.5}, "Got 1.5 instead"),
    ],
)
def test_parameters_that_cannot_be(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        DGCNN(2, 2, **parameters)
