"""Ring-GNN: sums and matrix products of equivariant linear maps of n×n tensors."""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clipgnn.baselines.equivariant import (
    Entries,
    EquivariantLinear,
    GraphNorm,
    Mapped,
    NodeMask,
    NodeValues,
)
from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.batch import Batch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.layer import Generators, Layer
from clipgnn.nn.network import Network
from clipgnn.nn.readout import Readout
from clipgnn.parameters import RingGNNParameters, documented
from clipgnn.shapes import Colorings, GraphFeatures

MAX_STORED_ENTRIES = 2**28
"""Largest number of entries (bytes) of the padded adjacency matrices of a data set."""

MAX_LAYER_ENTRIES = 2**22
"""Largest number of entries of a layer for one graph: 3 × hidden channels × nodes²."""


@documented(RingGNNParameters)
class RingGNN(Network):
    r"""Ring-GNN, a network on n×n tensors.

    From `"On the equivalence between graph isomorphism testing and function approximation with
    GNNs" <https://arxiv.org/abs/1905.12560>`_:

    .. math::
        A^{(t+1)} = \mathrm{ReLU}\big(k_1^{(t)} L_1^{(t)}(A^{(t)}) +
        k_2^{(t)} \, L_2^{(t)}(A^{(t)}) \cdot L_3^{(t)}(A^{(t)})\big)

    with equivariant linear maps L. The channels of the input tensor are the adjacency matrix and
    the node attributes, which are on the diagonal. The sum of all entries and the sum of the
    diagonal of every channel and layer are the input of an MLP.

    Tensors are dense and padded to the largest graph of the data set: memory grows with the square
    of its number of nodes, and the time of the matrix product with the cube.

    Differs from the paper:
     - `norm="graph"`: every channel of a graph is normalized over its entries before the ReLU, and
       the MLP of the readout has batch normalization; `norm=None` has neither, as in the paper.
       Circular skip links differ in few entries among n², which are small against the mean;
       results/README.md compares both settings on them.
     - Layers use means instead of sums, and edges are weighted by 1/sqrt(degree) of both nodes, as
       in the released code.
     - The readout uses the input and every layer, as in the released code, instead of the last
       layer only. The sum of all entries is divided by the number of nodes, so that it is of the
       same order as the sum of the diagonal.
     - Weights are initialized uniformly, and each of the three maps of a layer has a bias. The
       released code draws from a normal distribution and adds one bias after the product. It has 64
       channels; the paper of CLIP compares with 16.
     - Duplicate edges count once.
     - With `norm=None`, `from_graphs` initializes the factor k_2 of the product with half the
       inverse of the mean number of nodes, as in the released code. Otherwise products are too
       large for training.

    {parameters}

    Raises:
        InvalidParameterError: if a parameter has an invalid value.

    Shapes:
        - x: `[nodes, in_channels]`, or labels `[nodes]`
        - edge_index: `[2, edges]`
        - batch: `[nodes]`
        - output: `[graphs, out_channels]`
    """

    name = "ring-gnn"
    schema = RingGNNParameters

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        num_members: int = RingGNNParameters.num_members,
        hidden_channels: int = RingGNNParameters.hidden_channels,
        num_layers: int = RingGNNParameters.num_layers,
        norm: str | None = RingGNNParameters.norm,
        product_weight: float = RingGNNParameters.product_weight,
        dropout: float = RingGNNParameters.dropout,
    ) -> None:
        config = RingGNNParameters(
            in_channels=in_channels,
            out_channels=out_channels,
            num_members=num_members,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            norm=norm,
            product_weight=product_weight,
            dropout=dropout,
        )
        super().__init__(config)
        self.config: RingGNNParameters = config
        members, hidden = config.num_members, config.hidden_channels
        self.layers = nn.ModuleList(
            RingLayer(
                members,
                hidden if layer else 1,
                hidden,
                diagonal_channels=0 if layer else config.in_channels,
                norm=config.norm == "graph",
                product_weight=config.product_weight,
            )
            for layer in range(config.num_layers)
        )
        self.readout = Readout(
            members,
            config.in_channels + 2 + 2 * config.num_layers * hidden,
            hidden,
            config.out_channels,
            activation="relu",
            norm="batch" if config.norm else None,
            dropout=config.dropout,
        )

    @classmethod
    def parameters_from_graphs(
        cls, graphs: PackedGraphs, parameters: dict[str, Any]
    ) -> dict[str, Any]:
        """Compute the initial value of the factor of the product."""
        mean_nodes = graphs.x.shape[0] / len(graphs)
        normalized = parameters.get("norm", RingGNNParameters.norm) is not None
        return {"product_weight": 1.0 if normalized else 0.5 / mean_nodes}

    def prepare(self, graphs: PackedGraphs) -> tuple[Tensor, ...]:
        """Compute adjacency matrices, attributes, scales and padding masks of all graphs.

        Returns:
            `[graphs + 1, nodes, nodes]`, `[graphs + 1, in_channels, nodes]`, and twice
            `[graphs + 1, nodes]`, with the number of nodes of the largest graph.

        Raises:
            InvalidGraphError: if the matrices of the data set have more than `MAX_STORED_ENTRIES`
                entries, or a layer more than `MAX_LAYER_ENTRIES` for one graph.
        """
        _check_size(graphs, self.config.hidden_channels)
        node = torch.arange(graphs.x.shape[0], device=graphs.device)
        # Graph of each node, and position of the node inside its graph.
        index = (graphs.graph_of_node, node - graphs.node_pointers[graphs.graph_of_node])
        largest = int(graphs.node_pointers.diff().max())
        dtype = self._any_weight().dtype
        mask = torch.zeros(len(graphs) + 1, largest, dtype=dtype, device=graphs.device)
        mask[index] = 1
        attributes = mask.new_zeros(*mask.shape, graphs.in_channels)
        attributes[index] = graphs.attributes().to(dtype)
        adjacency = mask.new_zeros(*mask.shape, largest, dtype=torch.bool)
        adjacency[graphs.graph_of_edge, graphs.edge_index[0], graphs.edge_index[1]] = True
        scaling = adjacency.sum(2).clamp(min=1).to(dtype).rsqrt()
        return adjacency, attributes.transpose(1, 2), scaling, mask

    def cost_of_graph(self, num_nodes: float, largest_graph: int, num_colorings: int) -> float:
        """Number of entries of a padded adjacency matrix."""
        return float(largest_graph**2)

    def forward_batch(self, batch: Batch, colorings: Colorings | None) -> GraphFeatures:
        """Compute the output for each graph of each member; see `Network`."""
        adjacency, attributes, scaling, mask = (table[batch.graph_ids] for table in batch.prepared)
        mask, scaling = mask[:, :, None], scaling[:, :, None]  # [members, graphs, 1, nodes]
        # [members, graphs, 1, nodes, nodes]
        x = adjacency[:, :, None] * scaling[..., None] * scaling[..., None, :]
        diagonal: Tensor | None = attributes
        pooled = [attributes.sum(3), _sums(x, mask)]
        for layer in self.layers:
            x, diagonal = layer(x, diagonal, mask), None
            pooled.append(_sums(x, mask))
        return self.readout(torch.cat(pooled, dim=2), None, batch.graph_mask)


class RingLayer(Layer):
    r"""A layer of Ring-GNN with maps L of `EquivariantLinear`.

    .. math::
        A' = \mathrm{ReLU}\big(k_1 L_1(A) + k_2 \, L_2(A) \cdot L_3(A)\big)

    The product is a matrix product for each channel; k_1 and k_2 are learned.

    Args:
        num_members: networks that are computed together.
        in_channels: channels of the n×n tensor.
        out_channels: channels of the output.
        diagonal_channels: channels that are passed as vectors; see `EquivariantLinear`.
        norm: whether to apply `GraphNorm` before the ReLU.
        product_weight: initial value of k_2; that of k_1 is 1.

    Shapes:
        - x: `[members, graphs, in_channels, nodes, nodes]`
        - diagonal: `[members, graphs, diagonal_channels, nodes]`, or None
        - mask: `[members, graphs, 1, nodes]`
        - output: `[members, graphs, out_channels, nodes, nodes]`
    """

    def __init__(
        self,
        num_members: int,
        in_channels: int,
        out_channels: int,
        *,
        diagonal_channels: int = 0,
        norm: bool = True,
        product_weight: float = 1.0,
    ) -> None:
        super().__init__()
        self.maps = EquivariantLinear(
            num_members, in_channels, 3 * out_channels, diagonal_channels=diagonal_channels
        )
        self.initial_product_weight = product_weight
        self.sum_weight = nn.Parameter(torch.empty(num_members, 1, 1, 1, 1))
        self.product_weight = nn.Parameter(torch.empty(num_members, 1, 1, 1, 1))
        self.norm = GraphNorm(num_members, out_channels) if norm else None
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, generators: Generators = None) -> None:
        """Set k_1 to 1 and k_2 to its initial value."""
        self.sum_weight.fill_(1)
        self.product_weight.fill_(self.initial_product_weight)

    def forward(self, x: Entries, diagonal: NodeValues | None, mask: NodeMask) -> Mapped:
        """Apply the layer; entries of padding remain zero."""
        # Each [members, graphs, out_channels, nodes, nodes].
        added, left, right = self.maps(x, diagonal, mask).chunk(3, dim=2)
        result = self.sum_weight * added + self.product_weight * (left @ right)
        return torch.relu(result if self.norm is None else self.norm(result, mask))


def _sums(x: Entries, mask: NodeMask) -> Float[Tensor, "members graphs sums"]:
    """Sum of the diagonal of each channel, and of all entries divided by the number of nodes."""
    total = x.sum((3, 4)) / mask.sum(3).clamp(min=1)
    return torch.cat([x.diagonal(dim1=3, dim2=4).sum(3), total], dim=2)


def _check_size(graphs: PackedGraphs, hidden_channels: int) -> None:
    largest = int(graphs.node_pointers.diff().max())
    stored, widest = (len(graphs) + 1) * largest**2, 3 * hidden_channels * largest**2
    if stored <= MAX_STORED_ENTRIES and widest <= MAX_LAYER_ENTRIES:
        return
    max_entries = min(
        MAX_STORED_ENTRIES // (len(graphs) + 1), MAX_LAYER_ENTRIES // (3 * hidden_channels)
    )
    raise InvalidGraphError(
        f"Ring-GNN stores a tensor of nodes × nodes for every graph: with {len(graphs)} graphs and "
        f"{hidden_channels} hidden channels, a graph must not have more than "
        f"{math.isqrt(max_entries)} nodes. The largest graph of {graphs.name!r} has {largest}. "
        "Remove the largest graphs, or use fewer hidden channels."
    )
