"""Ring-GNN: equivariant linear maps of n×n tensors, added and multiplied as matrices."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clipgnn.baselines.checks import check_dropout, check_integers
from clipgnn.baselines.equivariant import (
    Entries,
    EquivariantLinear,
    GraphNorm,
    Mapped,
    NodeValues,
    Real,
)
from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.padded import PaddedBatch
from clipgnn.nn.members import Members
from clipgnn.nn.readout import Readout
from clipgnn.shapes import Colorings, GraphFeatures

MOST_STORED = 2**28
"""Entries of a data set's adjacency matrices, a byte each, all as large as the largest graph's."""

MOST_PER_GRAPH = 2**22
"""Entries of the widest tensor of a layer for one graph: 3 × hidden channels × nodes²."""


class RingGNN(Members):
    """Ring-GNN, on n×n tensors of channels, one for each graph.

    "On the equivalence between graph isomorphism testing and function approximation with GNNs"
    (Chen, Villar, Chen and Bruna, NeurIPS 2019, https://arxiv.org/abs/1905.12560). The first
    tensor A has the adjacency matrix as a channel and node attributes on the diagonals of the
    others. Layers are `RingLayer`. What is read out is the sum of all entries and the sum of
    the diagonal, of every channel of every layer, and an MLP follows.

    An n×n tensor knows nothing of sparsity: time and memory grow with the square of the largest
    graph of the data set, whatever the others are, and the product with its cube.

    Differs from the paper:
     - `norm="graph"`: every channel of a graph is normalised over its entries before the ReLU, and
       the readout's MLP has batch normalization; `norm=None` has neither, as in the paper. All that
       tells circular skip links apart is a few entries among n², far smaller than what they share;
       results/README.md says what each of the two learns of them.
     - Sums inside the layers are means, and edges are weighted by 1/sqrt(degree) at both ends, as
       in the released code.
     - The readout sees the input and every layer, as in the released code, not only the last; and
       the sum of all entries is divided by the number of nodes, to be of the size of the other.
     - Weights are drawn uniformly and the three maps of a layer have biases of their own, where the
       released code draws from a normal distribution and adds one bias after the product; it has 64
       channels, where CLIP's paper compares at 16.
     - An edge that stands twice in a graph counts once.

    Args:
        graphs: the data set.
        out_channels: channels of the output.
        num_members: networks side by side.
        hidden_channels: channels of every layer, and hidden units of the MLP.
        num_layers: ring layers.
        norm: "graph", or None for none.
        dropout: share of the MLP's hidden units that are dropped in training.

    Raises:
        InvalidParameterError: if a parameter has a value it cannot have.
        InvalidGraphError: if the largest graph is too large: where the matrices of the data set
            exceed `MOST_STORED` entries, or a layer `MOST_PER_GRAPH` entries for one graph.
    """

    adjacency: Tensor
    attributes: Tensor
    scaling: Tensor
    real: Tensor

    def __init__(
        self,
        graphs: PackedGraphs,
        out_channels: int,
        *,
        num_members: int = 1,
        hidden_channels: int = 16,
        num_layers: int = 2,
        norm: str | None = "graph",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_integers("Ring-GNN", hidden_channels=hidden_channels, num_layers=num_layers)
        check_dropout("Ring-GNN", dropout)
        if norm not in ("graph", None):
            raise InvalidParameterError(
                f"The 'norm' parameter of Ring-GNN must be \"graph\" or None. Got {norm!r} instead."
            )
        _check_size(graphs, hidden_channels)
        self._store(graphs)
        mean_nodes = graphs.x.shape[0] / len(graphs)
        self.layers = nn.ModuleList(
            RingLayer(
                num_members,
                hidden_channels if layer else 1,
                hidden_channels,
                diagonal_channels=0 if layer else graphs.in_channels,
                norm=norm == "graph",
                # As in the released code, whose products are otherwise too large to learn from.
                product_weight=1.0 if norm else 0.5 / mean_nodes,
            )
            for layer in range(num_layers)
        )
        self.readout = Readout(
            num_members,
            graphs.in_channels + 2 + 2 * num_layers * hidden_channels,
            hidden_channels,
            out_channels,
            activation="relu",
            norm="batch" if norm else None,
            dropout=dropout,
        )

    def _store(self, graphs: PackedGraphs) -> None:
        """Keep the first tensor of every graph, in parts: all but the adjacency are vectors."""
        numbers = torch.arange(len(graphs), device=graphs.device)
        of_edge = numbers.repeat_interleave(graphs.edge_pointers.diff())
        node = torch.arange(graphs.x.shape[0], device=graphs.device)
        place = (graphs.graph_of_node, node - graphs.node_pointers[graphs.graph_of_node])
        largest, dtype = int(graphs.node_pointers.diff().max()), torch.get_default_dtype()
        real = torch.zeros(len(graphs) + 1, largest, dtype=dtype, device=graphs.device)
        real[place] = 1
        attributes = real.new_zeros(*real.shape, graphs.in_channels)
        attributes[place] = graphs.attributes().to(dtype)
        adjacency = real.new_zeros(*real.shape, largest, dtype=torch.bool)
        adjacency[of_edge, graphs.edge_index[0], graphs.edge_index[1]] = True
        scaling = adjacency.sum(2).clamp(min=1).to(dtype).rsqrt()
        self.register_buffer("real", real, persistent=False)
        self.register_buffer("attributes", attributes.transpose(1, 2), persistent=False)
        self.register_buffer("adjacency", adjacency, persistent=False)
        self.register_buffer("scaling", scaling, persistent=False)

    def rows_of_graph(self, nodes: float, *, training: bool) -> float:
        """Entries of a matrix as large as the largest graph's."""
        return float(self.real.shape[1] ** 2)

    def classify(self, graphs: PaddedBatch, colorings: Colorings | None) -> GraphFeatures:
        """The output for each graph; see `Members`."""
        real, scaling = (values[graphs.number][:, :, None] for values in (self.real, self.scaling))
        x = self.adjacency[graphs.number][:, :, None] * scaling[..., None] * scaling[..., None, :]
        diagonal: Tensor | None = self.attributes[graphs.number]
        pooled = [self.attributes[graphs.number].sum(3), _sums(x, real)]
        for layer in self.layers:
            x, diagonal = layer(x, diagonal, real), None
            pooled.append(_sums(x, real))
        return self.readout(torch.cat(pooled, dim=2), None, graphs.real_graphs)


class RingLayer(nn.Module):
    """`ReLU(k_1 L_1(A) + k_2 L_2(A) L_3(A))`, with the maps L of `EquivariantLinear`.

    The product is one of matrices, channel by channel; k_1 and k_2 are learned.

    Args:
        num_members: networks side by side.
        in_channels: channels of the entries.
        out_channels: channels of the result.
        diagonal_channels: channels given as vectors, which lie on the diagonal.
        norm: whether to normalise before the ReLU.
        product_weight: k_2 at the beginning; k_1 is 1.
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
        one = torch.ones(num_members, 1, 1, 1, 1)
        self.sum_weight = nn.Parameter(one)
        self.product_weight = nn.Parameter(product_weight * one)
        self.norm = GraphNorm(num_members, out_channels) if norm else None

    def forward(self, x: Entries, diagonal: NodeValues | None, real: Real) -> Mapped:
        """Apply the layer; entries of padding stay zero."""
        added, left, right = self.maps(x, diagonal, real).chunk(3, dim=2)
        result = self.sum_weight * added + self.product_weight * (left @ right)
        return torch.relu(result if self.norm is None else self.norm(result, real))


def _sums(x: Entries, real: Real) -> Float[Tensor, "members graphs sums"]:
    """Sums of the diagonal, and of all entries by nodes."""
    total = x.sum((3, 4)) / real.sum(3).clamp(min=1)
    return torch.cat([x.diagonal(dim1=3, dim2=4).sum(3), total], dim=2)


def _check_size(graphs: PackedGraphs, hidden_channels: int) -> None:
    largest = int(graphs.node_pointers.diff().max())
    stored, widest = (len(graphs) + 1) * largest**2, 3 * hidden_channels * largest**2
    if stored <= MOST_STORED and widest <= MOST_PER_GRAPH:
        return
    most = min(MOST_STORED // (len(graphs) + 1), MOST_PER_GRAPH // (3 * hidden_channels))
    raise InvalidGraphError(
        f"Ring-GNN has a tensor of nodes × nodes for every graph: with {len(graphs)} graphs and "
        f"{hidden_channels} hidden channels none may have more than {int(most**0.5)} nodes. The "
        f"largest of {graphs.name!r} has {largest}. Leave out the largest graphs, or use fewer "
        "hidden channels."
    )
