"""PATCHY-SAN: neighborhoods in a canonical order, read by an ordinary convolutional network."""

import torch
from torch import Tensor
from torch.nn import functional

from clipgnn.baselines.checks import check_dropout, check_integers
from clipgnn.baselines.receptive_fields import receptive_fields
from clipgnn.baselines.sequences import Convolution
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.padded import PaddedBatch
from clipgnn.nn.members import Members
from clipgnn.nn.readout import Readout
from clipgnn.shapes import Colorings, GraphFeatures

FILTERS = (16, 8)
"""Filters of the two convolutions."""

KERNEL = 10
"""Fields that a filter of the second one sees at once: a graph must have as many."""


class PatchySAN(Members):
    """A convolution over the receptive fields of chosen nodes, then one over their sequence.

    From Niepert, Ahmed and Kutzkov, "Learning Convolutional Neural Networks for Graphs" (ICML
    2016), https://proceedings.mlr.press/v48/niepert16.html. Nodes are labeled by 1-dimensional
    Weisfeiler-Lehman colors, and the `width` nodes of the largest colors are chosen (stride 1).
    Around each, breadth-first search collects a field of `field_size` nodes, ordered by distance to
    the root and by color, ties by a canonical labeling of the field. A filter of the first
    convolution sees one field; a filter of the second, ten of them in a row; then come a dense
    layer and the classes. Missing nodes are zero rows.

    All fields are found once, when the network is made: what is kept of them is the numbers of
    their nodes.

    Differs from the paper: colors are those of the whole graph, and refined again from the nodes'
    attributes, so that the result does not depend on the order in which nodes are given; the paper
    leaves both open, and which of equal nodes are cut off: here the last in the canonical labeling
    of the graph. Canonical labelings are those of BLISS, not NAUTY. Channels for edges (the
    paper's k = 10ᴱ) are left out, and degrees of nodes without labels come as one-hot rows. With
    fewer than ten nodes on average, `width` is ten. The paper trains with RMSProp; here Adam trains
    all systems.

    Args:
        graphs: the whole data set.
        out_channels: channels of the output.
        num_members: networks side by side.
        width: nodes that are chosen from a graph, at least ten; by default the mean number of
            nodes, as in the paper's experiments.
        field_size: nodes of a receptive field.
        dense_channels: units of the dense layer.
        dropout: dropout after the dense layer.

    Raises:
        InvalidParameterError: if a parameter has a value that it cannot have.
        MissingDependencyError: without igraph.
    """

    fields: Tensor
    rows: Tensor

    def __init__(
        self,
        graphs: PackedGraphs,
        out_channels: int,
        *,
        num_members: int = 1,
        width: int | None = None,
        field_size: int = 10,
        dense_channels: int = 128,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        num_nodes = graphs.x.shape[0]
        if width is None:
            width = max(KERNEL, round(num_nodes / len(graphs)))
        check_integers("PATCHY-SAN", least=KERNEL, width=width)
        check_integers(
            "PATCHY-SAN",
            num_members=num_members,
            out_channels=out_channels,
            field_size=field_size,
            dense_channels=dense_channels,
        )
        check_dropout("PATCHY-SAN", dropout)
        fields = receptive_fields(graphs, width, field_size)
        # The last row of both stands for what is missing: a graph, and a node.
        self.register_buffer(
            "fields",
            functional.pad(fields, (0, 0, 0, 0, 0, 1), value=num_nodes).to(graphs.device),
            persistent=False,
        )
        attributes = graphs.attributes().to(torch.get_default_dtype())
        self.register_buffer("rows", functional.pad(attributes, (0, 0, 0, 1)), persistent=False)
        self.first = Convolution(num_members, field_size * graphs.in_channels, FILTERS[0])
        self.second = Convolution(num_members, FILTERS[0], FILTERS[1], kernel=KERNEL)
        self.dense = Readout(
            num_members,
            (width - KERNEL + 1) * FILTERS[1],
            dense_channels,
            out_channels,
            activation="relu",
            norm=None,
            dropout=dropout,
        )

    def classify(self, graphs: PaddedBatch, colorings: Colorings | None) -> GraphFeatures:
        """The output for each graph of each member's own batch; see `Members`."""
        nodes = self.fields[graphs.number]
        sequence = self.second(self.first(self.rows[nodes].flatten(3)))
        return self.dense(sequence.flatten(2))
