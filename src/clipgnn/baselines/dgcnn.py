"""DGCNN: graph convolutions, SortPooling, and convolutions over the sorted nodes."""

import math
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clipgnn.baselines.sequences import Convolution
from clipgnn.coloring.codes import ColorCode
from clipgnn.graphs.batch import Batch, Segments
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.features import ColoredAttributes
from clipgnn.nn.linear import Linear
from clipgnn.nn.network import Network
from clipgnn.nn.readout import Readout
from clipgnn.parameters import DGCNNParameters, documented
from clipgnn.shapes import Colorings, GraphFeatures

FILTERS = (16, 32)
"""Filters of the two convolutions over sorted nodes."""

POOL_SIZE = 2
"""Window size and stride of the max pooling between the two convolutions."""

KERNEL_SIZE = 5
"""Kernel size of the second convolution."""


@documented(DGCNNParameters)
class DGCNN(Network):
    r"""Deep graph convolutional neural network with SortPooling.

    From `"An End-to-End Deep Learning Architecture for Graph Classification"
    <https://doi.org/10.1609/aaai.v32i1.11782>`_, Eqs. (1) and (2):

    .. math::
        Z^{t+1} = \tanh\big(\tilde D^{-1} \tilde A Z^t W^t\big), \qquad \tilde A = A + I

    where the last convolution has one channel. The outputs of all convolutions are concatenated,
    and SortPooling sorts the nodes of a graph by the last channel, descending. The first k nodes,
    padded with zeros, pass through a convolution with kernel size 1, max pooling, a convolution
    with kernel size 5, and a dense layer.

    `from_graphs` sets k to the largest number of nodes that a share `truncated_share` of the graphs
    exceeds, and to at least 10, the smallest input of the second convolution.

    Differs from the paper: ties in the last channel are broken by the last channel of each
    preceding layer instead of by all channels in turn; with random weights, two nodes that agree in
    one channel of a layer almost surely agree in all. The default of `truncated_share` follows the
    paper: a share of 0.6 of the graphs has more than k nodes. The authors' code sets k so that a
    share of 0.6 (0.9 on IMDB) has at most k nodes, which is a `truncated_share` of about 0.4 (0.1).
    That code also adds biases to the graph convolutions, which Eq. (1) does not have. Weights are
    initialized as in torch; the paper does not specify it.

    The authors report the score of the last epoch (protocol "last"), which no test fold chooses.

    {parameters}

    Raises:
        InvalidParameterError: if a parameter has an invalid value.

    Shapes:
        - x: `[nodes, in_channels]`, or labels `[nodes]`
        - edge_index: `[2, edges]`
        - batch: `[nodes]`
        - output: `[graphs, out_channels]`
    """

    name = "dgcnn"
    schema = DGCNNParameters

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        num_members: int = DGCNNParameters.num_members,
        hidden_channels: int = DGCNNParameters.hidden_channels,
        num_layers: int = DGCNNParameters.num_layers,
        k: int = DGCNNParameters.k,
        truncated_share: float = DGCNNParameters.truncated_share,
        dense_channels: int = DGCNNParameters.dense_channels,
        dropout: float = DGCNNParameters.dropout,
    ) -> None:
        config = DGCNNParameters(
            in_channels=in_channels,
            out_channels=out_channels,
            num_members=num_members,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            k=k,
            truncated_share=truncated_share,
            dense_channels=dense_channels,
            dropout=dropout,
        )
        super().__init__(config)
        self.config: DGCNNParameters = config
        widths = [*[config.hidden_channels] * config.num_layers, 1]
        members = config.num_members
        self.initial = Linear(members, config.in_channels, config.hidden_channels, bias=False)
        self.layers = nn.ModuleList(
            Linear(members, before, after, bias=False) for before, after in pairwise(widths)
        )
        self.first = Convolution(members, sum(widths), FILTERS[0])
        self.second = Convolution(members, FILTERS[0], FILTERS[1], kernel_size=KERNEL_SIZE)
        length = config.k // POOL_SIZE - KERNEL_SIZE + 1
        self.dense = Readout(
            members,
            length * FILTERS[1],
            config.dense_channels,
            config.out_channels,
            activation="relu",
            norm=None,
            dropout=config.dropout,
        )

    @classmethod
    def parameters_from_graphs(
        cls, graphs: PackedGraphs, parameters: dict[str, Any]
    ) -> dict[str, Any]:
        """Compute the number k of nodes to keep."""
        share = parameters.get("truncated_share", DGCNNParameters.truncated_share)
        share = DGCNNParameters.check("truncated_share", share)
        return {"k": nodes_to_keep(graphs.node_pointers.diff(), share)}

    def forward_batch(self, batch: Batch, colorings: Colorings | None) -> GraphFeatures:
        """Compute the output for each graph of each member; see `Network`."""
        k = self.config.k
        pooled = sort_pool(self._convolve(batch), batch.nodes, k, max(k, batch.largest_graph))
        # [members * graphs, k, channels] -> [members, graphs, k, channels]
        x = self.first(pooled.view(*batch.graph_ids.shape, k, -1))
        # [members, graphs, k, filters] -> [members, graphs, k // 2, 2, filters]
        pairs = x[:, :, : k // POOL_SIZE * POOL_SIZE].unflatten(2, (-1, POOL_SIZE))
        # [members, graphs, windows, filters] -> [members, graphs, windows * filters]
        return self.dense(self.second(pairs.amax(3)).flatten(2))

    def _convolve(self, graphs: Batch) -> list[Tensor]:
        """Compute the features of all nodes after each layer, `[members * nodes, channels]`."""
        members = self.config.num_members
        code = ColorCode("one-hot", 1)
        attributes = ColoredAttributes(graphs.x, self.config.in_channels, None, code)
        # [members, nodes, 1, channels] -> [members * nodes, channels]
        x = attributes.multiply(self.initial.weight, None).flatten(0, 2)
        share = 1 / (graphs.edges.in_degrees[:, None] + 1).to(x.dtype)
        results = [torch.tanh((graphs.edges.sum(x) + x) * share)]
        for layer in self.layers:
            # [members * nodes, channels] -> [members, nodes, channels] and back
            x = layer(results[-1].view(members, -1, results[-1].shape[1])).flatten(0, 1)
            results.append(torch.tanh((graphs.edges.sum(x) + x) * share))
        return results


def sort_pool(
    layers: list[Tensor], nodes: Segments, k: int, largest_graph: int
) -> Float[Tensor, "graphs k channels"]:
    """Select the first k nodes of each graph by the last channel of the last layer, descending.

    Ties are broken by the last channel of each preceding layer.

    Args:
        layers: features of the nodes after each layer, `[nodes, channels]`.
        nodes: the nodes of each graph.
        k: number of nodes to keep; graphs with fewer nodes are padded with zeros.
        largest_graph: upper bound of the number of nodes of a graph, at least k.
    """
    position = torch.arange(largest_graph, device=nodes.starts.device)
    mask = position < nodes.counts[:, None]  # [graphs, largest_graph]
    node = torch.where(mask, nodes.starts[:, None] + position, 0)
    for layer in layers:  # sorts are stable, so that the last layer decides
        keys = layer.detach()[:, -1][node].masked_fill(~mask, -torch.inf)
        order = torch.argsort(keys, dim=1, descending=True, stable=True)
        node, mask = node.gather(1, order), mask.gather(1, order)
    node, mask = node[:, :k], mask[:, :k]
    rows = torch.cat(layers, dim=1).index_select(0, node.flatten())  # [graphs * k, channels]
    # Not a product: zero times an infinite feature of one member is NaN.
    return rows.masked_fill(~mask.flatten()[:, None], 0).view(*node.shape, -1)


def nodes_to_keep(sizes: Tensor, truncated_share: float) -> int:
    """Compute the largest k that a share of the graphs exceeds, at least the smallest valid k.

    Args:
        sizes: number of nodes of each graph.
        truncated_share: share of graphs that have more than k nodes. With 0, k is the largest size.
    """
    # Subtract a tolerance, so that rounding does not make 4 graphs of a share of 0.6 of 5.
    num_larger = math.ceil(truncated_share * sizes.numel() - 1e-9)
    descending = sizes.sort(descending=True).values
    k = int(descending[num_larger - 1]) - 1 if num_larger else int(descending[0])
    return max(k, POOL_SIZE * KERNEL_SIZE)
