"""PATCHY-SAN: convolutions over neighborhoods in a canonical order."""

from typing import Any

from torch import Tensor
from torch.nn import functional

from clipgnn.baselines.receptive_fields import import_igraph, receptive_fields
from clipgnn.baselines.sequences import Convolution
from clipgnn.graphs.batch import Batch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.network import Network
from clipgnn.nn.readout import Readout
from clipgnn.parameters import PatchySANParameters, documented
from clipgnn.shapes import Colorings, GraphFeatures

FILTERS = (16, 8)
"""Filters of the two convolutions."""

KERNEL_SIZE = 10
"""Kernel size of the second convolution, and the smallest `width`."""


@documented(PatchySANParameters)
class PatchySAN(Network):
    r"""A convolution over the receptive fields of selected nodes, and one over their sequence.

    From `"Learning Convolutional Neural Networks for Graphs"
    <https://proceedings.mlr.press/v48/niepert16.html>`_. Nodes are labeled by 1-dimensional
    Weisfeiler-Lehman colors, and the `width` nodes with the largest colors are selected (stride 1).
    For each, a breadth-first search collects a field of `field_size` nodes, ordered by distance to
    the root, then by color, then by a canonical labeling of the field. With :math:`v_{i,1}, \dots,
    v_{i,s}` the nodes of field i,

    .. math::
        a_i = \mathrm{ReLU}\Big(\sum_{j=1}^{s} W_j x_{v_{i,j}}\Big), \qquad
        b_i = \mathrm{ReLU}\Big(\sum_{j=0}^{9} U_j a_{i+j}\Big)

    followed by a dense layer on all b. Missing nodes are zero rows. The fields of a graph are
    computed once.

    Differs from the paper: colors are those of the whole graph, refined again from the attributes
    of the nodes, so that the result does not depend on the order of the nodes. Of nodes that are
    equal in distance and color, the last in the canonical labeling of the graph are cut off. The
    paper specifies neither. Canonical labelings are computed by BLISS instead of NAUTY. Edge
    channels (k = 10ᴱ in the paper) are not implemented, and degrees of nodes without labels are
    one-hot rows. If graphs have fewer than ten nodes on average, `from_graphs` sets `width` to ten.
    Training uses Adam instead of RMSProp.

    {parameters}

    Raises:
        InvalidParameterError: if a parameter has an invalid value.

    Shapes:
        - x: `[nodes, in_channels]`, or labels `[nodes]`
        - edge_index: `[2, edges]`
        - batch: `[nodes]`
        - output: `[graphs, out_channels]`
    """

    name = "patchy-san"
    schema = PatchySANParameters

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        num_members: int = PatchySANParameters.num_members,
        width: int = PatchySANParameters.width,
        field_size: int = PatchySANParameters.field_size,
        dense_channels: int = PatchySANParameters.dense_channels,
        dropout: float = PatchySANParameters.dropout,
    ) -> None:
        config = PatchySANParameters(
            in_channels=in_channels,
            out_channels=out_channels,
            num_members=num_members,
            width=width,
            field_size=field_size,
            dense_channels=dense_channels,
            dropout=dropout,
        )
        super().__init__(config)
        self.config: PatchySANParameters = config
        field_channels = config.field_size * config.in_channels
        self.first = Convolution(config.num_members, field_channels, FILTERS[0])
        self.second = Convolution(
            config.num_members, FILTERS[0], FILTERS[1], kernel_size=KERNEL_SIZE
        )
        self.dense = Readout(
            config.num_members,
            (config.width - KERNEL_SIZE + 1) * FILTERS[1],
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
        """Compute `width`, the mean number of nodes, as in the experiments of the paper."""
        return {"width": max(KERNEL_SIZE, round(graphs.x.shape[0] / len(graphs)))}

    @classmethod
    def check_packages(cls) -> None:
        """Check that igraph is installed."""
        import_igraph()

    def prepare(self, graphs: PackedGraphs) -> tuple[Tensor, ...]:
        """Compute the fields, `[graphs + 1, width, field_size]`, and the attributes of all nodes.

        The last row of both is padding.

        Raises:
            MissingDependencyError: if igraph is not installed.
        """
        fields = receptive_fields(graphs, self.config.width, self.config.field_size)
        padding = graphs.x.shape[0]
        fields = functional.pad(fields, (0, 0, 0, 0, 0, 1), value=padding).to(graphs.device)
        attributes = graphs.attributes().to(self.first.linear.weight.dtype)
        return fields, functional.pad(attributes, (0, 0, 0, 1))

    def forward_batch(self, batch: Batch, colorings: Colorings | None) -> GraphFeatures:
        """Compute the output for each graph of each member; see `Network`."""
        fields, attributes = batch.prepared
        # [members, graphs, width, field_size, in_channels]
        # -> [members, graphs, width, field_size * in_channels]
        rows = attributes[fields[batch.graph_ids]].flatten(3)
        # [members, graphs, windows, filters] -> [members, graphs, windows * filters]
        return self.dense(self.second(self.first(rows)).flatten(2))
