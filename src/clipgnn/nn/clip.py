"""CLIP, the Colored Local Iterative Procedure: Eqs. (5) and (9)."""

from dataclasses import asdict
from functools import partial
from itertools import chain
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from clipgnn.coloring.codes import ColorCode, ColorCodeName
from clipgnn.coloring.stream import ColoringStream, HeldColorings, draw_colorings
from clipgnn.errors import InvalidParameterError, shown
from clipgnn.graphs.batch import Edges, GraphBatch
from clipgnn.graphs.padded import PaddedBatch, PaddedEdges
from clipgnn.nn import streaming
from clipgnn.nn.aggregation import Aggregation
from clipgnn.nn.checks import (
    check_colorings,
    check_graph_attributes,
    check_readable,
    check_transforms,
)
from clipgnn.nn.config import CLIPConfig
from clipgnn.nn.features import ColoredAttributes, Hidden
from clipgnn.nn.members import Members
from clipgnn.nn.memory import Memory
from clipgnn.nn.norm import BatchNorm, Moments
from clipgnn.nn.readout import Readout, each_node, sum_nodes
from clipgnn.shapes import Colorings, GraphFeatures

COLORINGS_MEASURED = 16
"""Colorings that batch statistics are taken from when colorings are streamed in training."""


class CLIP(Members):
    r"""CLIP: a message-passing network on k colorings of a graph at once, and their maximum.

    From `"Coloring graph neural networks for node disambiguation"
    <https://arxiv.org/abs/1912.06058>`_. Nodes with identical attributes get distinct colors
    (Eq. 4); then, for T steps and every coloring c,

    .. math::
        x^c_{i,0} = (v_i, c_i), \qquad
        x^c_{i,t+1} = \psi^{(t)}\Big(x^c_{i,t}, \sum_{j \in N(i)} \varphi^{(t)}(x^c_{j,t})\Big),
        \qquad x_G = \psi\Big(\max_c \sum_i x^c_{i,T}\Big)

    with 2-layer MLPs φ and ψ. ∞-CLIP (`num_colorings="all"`) is deterministic and universal even
    with one layer (Theorem 3); k-CLIP is random, and its variance falls with k.

    Differs from the paper: batch normalization inside the MLPs (the paper names none; without it
    its property tasks are not learned), and no output bias in φ (see `Aggregation`).

    **Many colorings.** Where a single activation would take over 4 MB in evaluation or 32 MB in
    training (512 MB off the CPU), colorings are streamed with a running maximum; in training only
    if they are also more than `hidden_channels`. Gradients then flow through the winning colorings
    only, as they do through any maximum. Batch statistics are those of 16 random colorings of
    every graph of the batch (the first 16 of those passed in): they are measured first, with their
    gradients, used for all colorings alike, and entered into the running averages once. Without
    streaming they are those of all colorings used.

    Args:
        in_channels: channels of the node attributes, or how many integer labels there are.
        out_channels: channels of the output, such as classes.
        hidden_channels: channels inside.
        num_layers: local iterations T.
        num_colorings: k; 0 for no colors at all (0-CLIP), "all" for every coloring (∞-CLIP). It can
            be changed later, on the model or for one call: more colorings in evaluation than in
            training lower the variance.
        num_colors: colors the network knows: the largest number of nodes of one graph that may
            have identical attributes.
        color_code: "one-hot", a row of weights for each color; or "binary", log2(num_colors) rows.
        activation: name of a continuous, non-polynomial activation.
        norm: "batch", or None for no normalization.
        dropout: dropout before the last map.
        directed: tell incoming from outgoing edges.
        edge_channels: channels of edge attributes; 0 for none.
        graph_channels: channels of graph attributes; 0 for none.
        num_members: networks side by side, with weights and statistics of their own.
        colorings_at_once: colorings to hold at a time; by default as memory allows (with gradients,
            activations of 32 MB on the CPU and 512 MB elsewhere).

    Raises:
        InvalidParameterError: if a parameter has a value it cannot have.

    Example:
        >>> import torch
        >>> model = CLIP(in_channels=1, out_channels=2, num_colorings=4).eval()
        >>> square = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
        >>> model(torch.ones(4, 1), square).shape
        torch.Size([1, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 64,
        num_layers: int = 3,
        num_colorings: int | Literal["all"] = 16,
        num_colors: int = 64,
        color_code: ColorCodeName = "one-hot",
        activation: str = "relu",
        norm: Literal["batch"] | None = "batch",
        dropout: float = 0.0,
        directed: bool = False,
        edge_channels: int = 0,
        graph_channels: int = 0,
        num_members: int = 1,
        colorings_at_once: int | None = None,
    ) -> None:
        super().__init__()
        self.config = config = CLIPConfig(
            in_channels=in_channels,
            out_channels=out_channels,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            num_colorings=num_colorings,
            num_colors=num_colors,
            color_code=color_code,
            activation=activation,
            norm=norm,
            dropout=dropout,
            directed=directed,
            edge_channels=edge_channels,
            graph_channels=graph_channels,
            num_members=num_members,
            colorings_at_once=colorings_at_once,
        )
        self.code = ColorCode(color_code, num_colors)
        self.layers = nn.ModuleList(
            Aggregation(
                num_members,
                config.input_channels if layer == 0 else hidden_channels,
                hidden_channels,
                edge_channels=edge_channels,
                directed=directed,
                activation=activation,
                norm=norm,
            )
            for layer in range(num_layers)
        )
        self.readout = Readout(
            num_members,
            hidden_channels + graph_channels,
            hidden_channels,
            out_channels,
            activation=activation,
            norm=norm,
            dropout=dropout,
        )

    @classmethod
    def from_config(cls, config: CLIPConfig) -> "CLIP":
        """The network with these parameters."""
        return cls(**asdict(config))

    @property
    def num_colorings(self) -> int | Literal["all"]:
        """The number k of colorings, or "all"; saved with the model.

        It can be set, since no weight depends on it: `model.num_colorings = 64`. Only a model built
        without colors (0) has no weights for them, and one built with colors cannot do without.

        Raises:
            InvalidParameterError: if it is set to a value the model cannot use.
        """
        return self.config.num_colorings

    @num_colorings.setter
    def num_colorings(self, value: int | Literal["all"]) -> None:
        self.config = self.config.with_colorings(value)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        graph_attr: Tensor | None = None,
        *,
        colorings: Tensor | None = None,
        num_colorings: int | Literal["all"] | None = None,
        generator: torch.Generator | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """The output for each graph, Eq. (5).

        Args:
            x: node attributes `[nodes, in_channels]`, or integer labels `[nodes]`.
            edge_index: edges `[2, edges]`, from sources to targets. An undirected edge is in
                it both ways. An edge that occurs twice is added twice, and a self-loop makes a node
                its own neighbor; `coalesce` and `remove_self_loops` of `torch_geometric.utils`
                remove them.
            batch: the graph of each node, ascending; one graph without it.
            edge_weight: `[edges]`, factors in the sums over neighbors.
            edge_attr: `[edges, edge_channels]`.
            graph_attr: `[graphs, graph_channels]`.
            colorings: `[colorings, nodes]` to use instead of drawing them. Any colors the model
                knows are taken; that nodes with identical attributes have distinct ones is up to
                the caller.
            num_colorings: k of this call, instead of the model's; not together with `colorings`.
            generator: source of the random colorings; torch's global one without it.
            batch_size: number of graphs, where the last ones may have no nodes.

        Returns:
            `[graphs, out_channels]`, or `[members, graphs, out_channels]` with several members.

        Raises:
            InvalidGraphError: if the tensors are not a batch of graphs this model can read.
            InvalidColoringError: if the colors do not fit the model.
            InvalidParameterError: if `num_colorings` is a value the model cannot use.
            TooManyColoringsError: if all colorings are used and a graph has too many.
            UnsupportedTransformError: inside a transform of `torch.func` or forward-mode AD.
        """
        graphs = self._read(x, edge_index, batch, edge_weight, edge_attr, graph_attr, batch_size)
        check_graph_attributes(graphs.graph_attr, self.config)
        pooled = self._maximum(
            graphs, self._color(graphs, colorings, num_colorings, generator), generator
        )
        return self._by_member(self.readout(pooled, graphs.graph_attr))

    def colorings_wanted(self, *, training: bool) -> int:
        """k, in training as in evaluation.

        Raises:
            InvalidParameterError: if it is "all", which depends on the graph.
        """
        if self.config.num_colorings == "all":
            raise InvalidParameterError(
                'Training together needs a number of colorings. Got "all"; train a CLIP module '
                "with your own loop for it."
            )
        return self.config.num_colorings

    def classify(
        self, graphs: PaddedBatch, colorings: Colorings | None
    ) -> Float[Tensor, "members graphs out_channels"]:
        """The output for each graph of each member's own batch, which training assembles."""
        hidden = self._propagate(graphs, colorings, None)
        pooled = sum_nodes(hidden, graphs.membership()).amax(2)
        return self.readout(pooled, None, graphs.real_graphs)

    def embed(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        graph_attr: Tensor | None = None,
        *,
        colorings: Tensor | None = None,
        num_colorings: int | Literal["all"] | None = None,
        generator: torch.Generator | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        r"""The graph representation before the last MLP: :math:`\max_c \sum_i x^c_{i,T}`.

        Args and errors are those of `forward`; graph attributes enter only after it, and are
        accepted so that both can be called alike.

        Returns:
            `[graphs, hidden_channels]`, or `[members, graphs, hidden_channels]`.
        """
        graphs = self._read(x, edge_index, batch, edge_weight, edge_attr, graph_attr, batch_size)
        pooled = self._maximum(
            graphs, self._color(graphs, colorings, num_colorings, generator), generator
        )
        return self._by_member(pooled)

    def embed_nodes(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        graph_attr: Tensor | None = None,
        *,
        colorings: Tensor | None = None,
        num_colorings: int | Literal["all"] | None = None,
        generator: torch.Generator | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        r"""The representation of each node, for node-level tasks: :math:`\max_c x^c_{i,T}`.

        Args and errors are those of `forward`; graph attributes enter only after it, and are
        accepted so that both can be called alike. Where colorings are streamed with gradients,
        the backward pass computes each part again.

        Returns:
            `[nodes, hidden_channels]`, or `[members, nodes, hidden_channels]`.
        """
        graphs = self._read(x, edge_index, batch, edge_weight, edge_attr, graph_attr, batch_size)
        stream = self._color(graphs, colorings, num_colorings, generator)
        return self._by_member(self._maximum(graphs, stream, generator, per_node=True))

    def _maximum(
        self,
        graphs: GraphBatch,
        stream: ColoringStream | None,
        generator: torch.Generator | None,
        *,
        per_node: bool = False,
    ) -> GraphFeatures:
        """The maximum over colorings, of graphs' sums or of nodes: `[members, rows, channels]`."""
        run = partial(self._rows, per_node=per_node)
        weight = self.readout.first.weight
        memory = Memory(self.config, weight.device.type, weight.element_size())
        learning = torch.is_grad_enabled() or self.training
        if stream is None:
            best = run(graphs, None, None).amax(1)
        elif stream.most <= memory.colorings_held(graphs, learning=learning):
            best = run(graphs, stream.everything(), None).amax(1)
        else:
            moments = self._statistics()
            if self.config.norm is not None and not moments:
                run(graphs, stream.sample(COLORINGS_MEASURED, generator), moments)
            best = streaming.maximum(
                run,
                self.layers,
                graphs,
                stream,
                memory.colorings_in_part,
                moments,
                per_node=per_node,
                winners_at_once=memory.colorings_with_gradients(graphs),
            )
        return best.view(self.config.num_members, -1, self.config.hidden_channels)

    def _rows(
        self,
        graphs: GraphBatch,
        colorings: Colorings | None,
        moments: Moments | None,
        *,
        per_node: bool,
    ) -> Tensor:
        """What the maximum is taken over: `[members * rows, colorings, channels]`."""
        hidden = self._propagate(graphs, colorings, moments)
        rows = each_node(hidden) if per_node else sum_nodes(hidden, graphs.membership())
        return rows.flatten(0, 1)

    def _propagate(
        self,
        graphs: GraphBatch | PaddedBatch,
        colorings: Colorings | None,
        moments: Moments | None,
    ) -> Hidden:
        """The T local iterations under some colorings."""
        directions: list[Edges | PaddedEdges] = [graphs.edges]
        if self.config.directed:
            directions.append(graphs.edges.reversed())
        first, *others = self.layers
        colored = ColoredAttributes(graphs.x, self.config.in_channels, colorings, self.code)
        x: Hidden = first(colored, directions, moments, graphs.real_nodes)
        for layer in others:
            x = layer(x, directions, moments, graphs.real_nodes)
        return x

    def _statistics(self) -> Moments:
        """What a stream normalizes with: the running averages, or nothing yet in training."""
        norms = [module for module in self.layers.modules() if isinstance(module, BatchNorm)]
        if any(norm.training for norm in norms):
            return {}
        return {norm: norm.statistics() for norm in norms}

    def _by_member(self, rows: GraphFeatures) -> Tensor:
        return rows[0] if self.config.num_members == 1 else rows

    def _read(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None,
        edge_weight: Tensor | None,
        edge_attr: Tensor | None,
        graph_attr: Tensor | None,
        batch_size: int | None,
    ) -> GraphBatch:
        """The batch, checked against what this model can read, once for each member."""
        if not torch.compiler.is_compiling():
            check_transforms(chain([x, edge_weight, edge_attr, graph_attr], self.parameters()))
        graphs = GraphBatch.from_tensors(
            x, edge_index, batch, edge_weight, edge_attr, graph_attr, batch_size
        )
        if not torch.compiler.is_compiling():
            check_readable(graphs, self.config, self.readout.first.weight)
        return graphs.repeat(self.config.num_members)

    def _color(
        self,
        graphs: GraphBatch,
        colorings: Tensor | None,
        num_colorings: int | Literal["all"] | None,
        generator: torch.Generator | None,
    ) -> ColoringStream | None:
        """The colorings to use: given, drawn, or all of them; None for 0-CLIP."""
        if colorings is not None:
            if num_colorings is not None:
                raise InvalidParameterError(
                    "Either colorings or num_colorings can be given, since the colorings determine "
                    f"their number. Got both, with num_colorings={shown(num_colorings)}. Leave one "
                    "out."
                )
            if not torch.compiler.is_compiling():
                nodes = graphs.num_nodes // self.config.num_members
                check_colorings(colorings, nodes, self.config, self.code)
            held = colorings.repeat(1, self.config.num_members)
            return HeldColorings(held, graphs.graph_of_node, graphs.num_graphs)
        config = self.config if num_colorings is None else self.config.with_colorings(num_colorings)
        if config.num_colorings == 0:
            return None
        # Drawing depends on values; compiled code steps out for it and comes back.
        compiling = torch.compiler.is_compiling()
        draw = torch.compiler.disable(draw_colorings) if compiling else draw_colorings
        return draw(graphs, config.num_colorings, self.code, generator)
