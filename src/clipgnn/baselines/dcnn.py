"""DCNN: mean attributes after random walks, weighted by number of steps and channel."""

import torch
from torch import Tensor, nn

from clipgnn.graphs.batch import Batch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.sparse import SparsePattern
from clipgnn.nn.dropout import Dropout
from clipgnn.nn.layer import Generators, Layer, draw_uniform
from clipgnn.nn.linear import Linear
from clipgnn.nn.network import Network
from clipgnn.parameters import DCNNParameters, documented
from clipgnn.shapes import Colorings, GraphFeatures


@documented(DCNNParameters)
class DCNN(Network):
    r"""A diffusion-convolutional neural network that classifies graphs.

    From `"Diffusion-convolutional neural networks" <https://arxiv.org/abs/1511.02136>`_:

    .. math::
        Z_h = \tanh\Big(W_h \odot \tfrac{1}{N} \mathbf{1}^\top P^h X\Big), \quad h = 0, \dots, H,
        \qquad P = D^{-1} A

    followed by a dense layer on Z. X are the attributes of the N nodes, and P is the transition
    matrix: row h of Z depends on the mean attributes of the nodes that random walks reach after h
    steps. The factor of W does not depend on the weights and is computed once for each graph.

    With this matrix, all graphs without isolated nodes have the same representation if all nodes
    have the same attributes.

    Differs from the paper:
     - Training uses Adam and cross-entropy instead of AdaGrad and a hinge loss. W is initialized
       uniformly within ±1 instead of from a narrow normal distribution, with which tanh is almost
       linear at first and the gradient of W is very small.
     - The row of P of an isolated node is zero, which the paper does not specify.
     - Optional dropout of the entries of Z.

    The authors' code has another matrix, `transition="columns"`:

    .. math::
        P_{ij} = A_{ij} / (d_j + 1), \qquad d_j = \sum_i A_{ij}

    It divides columns instead of rows, by the degree plus 1. The mean after one step is then that
    of the attributes of all nodes with the weights d / (d + 1), not of the nodes that a random walk
    reaches, and graphs whose nodes all have the same attributes can differ by their degrees.

    {parameters}

    Raises:
        InvalidParameterError: if a parameter has an invalid value.

    Shapes:
        - x: `[nodes, in_channels]`, or labels `[nodes]`
        - edge_index: `[2, edges]`
        - batch: `[nodes]`
        - output: `[graphs, out_channels]`
    """

    name = "dcnn"
    schema = DCNNParameters

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        num_members: int = DCNNParameters.num_members,
        num_hops: int = DCNNParameters.num_hops,
        dropout: float = DCNNParameters.dropout,
        transition: str = DCNNParameters.transition,
    ) -> None:
        config = DCNNParameters(
            in_channels=in_channels,
            out_channels=out_channels,
            num_members=num_members,
            num_hops=num_hops,
            dropout=dropout,
            transition=transition,
        )
        super().__init__(config)
        self.config: DCNNParameters = config
        rows = config.num_hops + 1
        self.dropout = Dropout(config.num_members, config.dropout)
        self.scale = Scale(config.num_members, rows, config.in_channels)
        self.last = Linear(config.num_members, rows * config.in_channels, config.out_channels)

    def prepare(self, graphs: PackedGraphs) -> tuple[Tensor, ...]:
        """Compute the mean attributes of each graph after each number of steps."""
        config = self.config
        return (_diffused(graphs, config.num_hops, config.transition, self.last.weight.dtype),)

    def forward_batch(self, batch: Batch, colorings: Colorings | None) -> GraphFeatures:
        """Compute the output for each graph of each member; see `Network`."""
        (diffused,) = batch.prepared
        z = torch.tanh(self.scale.weight[:, None] * diffused[batch.graph_ids])
        # [members, graphs, num_hops + 1, channels] -> [members, graphs, (num_hops + 1) * channels]
        return self.last(self.dropout(z.flatten(2)))


class Scale(Layer):
    """Learned factors W for each number of steps and channel.

    Args:
        num_members: networks that are computed together.
        num_hops: largest number of steps, plus 1.
        channels: channels of the attributes.

    Attributes:
        weight: `[members, num_hops, channels]`.
    """

    def __init__(self, num_members: int, num_hops: int, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_members, num_hops, channels))
        self.reset_parameters()

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw uniformly within ±1/sqrt(fan-in), and each factor has one input."""
        with torch.no_grad():
            draw_uniform(self.weight, 1.0, generators)


@torch.no_grad()
def _diffused(graphs: PackedGraphs, num_hops: int, transition: str, dtype: torch.dtype) -> Tensor:
    """1ᵀ Pʰ X / N of each graph, `[graphs + 1, num_hops + 1, channels]`, zero for padding."""
    source, target = graphs.global_edge_index
    num_nodes = graphs.x.shape[0]
    neighbors, _ = SparsePattern.from_entries(source, target, num_nodes, num_nodes)
    nodes_of_graphs = SparsePattern.segments(graphs.graph_of_node, len(graphs) + 1)
    x = graphs.attributes().to(dtype)
    sizes = nodes_of_graphs.rowptr.diff()[:, None].clamp(min=1)
    means = [nodes_of_graphs.product(x) / sizes]
    rows = neighbors.rowptr.diff()[:, None].clamp(min=1)
    columns = neighbors.transposed_rowptr.diff()[:, None] + 1
    for _ in range(num_hops):
        x = neighbors.product(x) / rows if transition == "rows" else neighbors.product(x / columns)
        means.append(nodes_of_graphs.product(x) / sizes)
    return torch.stack(means, dim=1)
