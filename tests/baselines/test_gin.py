"""GIN against the layers of PyG, put together by hand."""

from typing import Any

import pytest
import torch
from tests.baselines.examples import members_of, outputs
from tests.training.examples import rings, some_graphs
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINConv, global_add_pool

from clipgnn.errors import InvalidParameterError
from clipgnn.training import ModelSpec


class ByHand(nn.Module):
    """The network of the GIN paper, as PyG's documentation would have one write it."""

    def __init__(self, in_channels: int, hidden: int, out: int, num_layers: int, eps: bool) -> None:
        super().__init__()
        widths = [in_channels] + [hidden] * num_layers
        self.convolutions = nn.ModuleList(
            GINConv(
                nn.Sequential(
                    nn.Linear(width, hidden, bias=False),
                    nn.BatchNorm1d(hidden, momentum=None),  # the mean of all steps so far
                    nn.ReLU(),
                    nn.Linear(hidden, hidden, bias=False),
                ),
                train_eps=eps,
            )
            for width in widths[:-1]
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden, momentum=None) for _ in range(num_layers))
        self.heads = nn.ModuleList(nn.Linear(width, out) for width in widths)

    def forward(self, data: Data) -> Tensor:
        x = data.x
        total = self.heads[0](global_add_pool(x, data.batch))
        for convolution, norm, head in zip(
            self.convolutions, self.norms, self.heads[1:], strict=True
        ):
            x = norm(convolution(x, data.edge_index)).relu()
            total = total + head(global_add_pool(x, data.batch))
        return total


def _copy(ours: Any, theirs: Any) -> None:
    with torch.no_grad():
        for layer, convolution, norm in zip(
            ours.layers, theirs.convolutions, theirs.norms, strict=True
        ):
            first, inside, _, second = convolution.nn
            first.weight.copy_(layer.first.weight[0].t())
            second.weight.copy_(layer.second.weight[0].t())
            for module, own in ((inside, layer.inside), (norm, layer.after)):
                own.weight.uniform_(0.5, 2.0)
                own.bias.uniform_(-1.0, 1.0)
                module.weight.copy_(own.weight[0])
                module.bias.copy_(own.bias[0])
            if layer.epsilon is not None:
                layer.epsilon.fill_(0.3)
                convolution.eps.fill_(0.3)
        for head, linear in zip(ours.heads, theirs.heads, strict=True):
            linear.weight.copy_(head.scores.weight[0].t())
            linear.bias.copy_(head.scores.bias[0])


@pytest.mark.parametrize("learn_epsilon", [False, True])
@pytest.mark.parametrize("num_layers", [1, 3])
def test_it_is_what_pyg_layers_make_by_hand(num_layers: int, learn_epsilon: bool) -> None:
    torch.manual_seed(0)
    graphs = some_graphs(10)
    spec = ModelSpec(
        "gin",
        {"hidden_channels": 8, "num_layers": num_layers, "learn_epsilon": learn_epsilon},
    )
    model = members_of(spec, graphs, [3], out=4).double()
    theirs = ByHand(graphs.in_channels, 8, 4, num_layers, learn_epsilon).double()
    _copy(model.network, theirs)
    everything = torch.arange(10)
    data = Batch.from_data_list(graphs.to_data_list())
    data.x = data.x.double()
    for training in (True, False):  # after a step of training, running statistics count too
        model.train(training)
        theirs.train(training)
        ours = outputs(model, graphs, everything[None], [3])[0]
        torch.testing.assert_close(ours, theirs(data), rtol=1e-9, atol=1e-9)


def test_it_cannot_tell_regular_graphs_apart() -> None:
    graphs = rings(2)
    spec = ModelSpec("gin", {"hidden_channels": 8, "num_layers": 3})
    model = members_of(spec, graphs, [0]).double()
    one, other = outputs(model, graphs, torch.tensor([[0, 1]]), [0])[0]
    torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize(
    "wrong", [{"hidden_channels": 0}, {"num_layers": 1.5}, {"dropout": 1.0}, {"dropout": "a"}]
)
def test_wrong_parameters(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=f"'{next(iter(wrong))}' parameter of GIN"):
        members_of(ModelSpec("gin", wrong), some_graphs(), [0])
