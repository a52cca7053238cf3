"""CLIP, the Colored Local Iterative Procedure: Eqs. (5) and (9)."""

from typing import Any, Unpack, cast

import torch
from torch import Tensor, nn

from clipgnn.coloring.codes import ColorCode
from clipgnn.coloring.random import Random
from clipgnn.coloring.schemes import Scheme, scheme_named
from clipgnn.coloring.stream import ColoringStream
from clipgnn.errors import InvalidParameterError, shown
from clipgnn.graphs.batch import Batch
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn import kernel_support
from clipgnn.nn.aggregation import Aggregation
from clipgnn.nn.inputs import Inputs
from clipgnn.nn.iterations import LocalIterations
from clipgnn.nn.network import Network
from clipgnn.nn.norm import shares_statistics
from clipgnn.nn.readout import Readout, sum_nodes
from clipgnn.parameters import COLORINGS, CLIPParameters, documented
from clipgnn.shapes import Colorings, GraphFeatures


@documented(CLIPParameters)
class CLIP(Network):
    r"""CLIP: a message passing network with a maximum over k colorings of each graph.

    From `"Coloring graph neural networks for node disambiguation"
    <https://arxiv.org/abs/1912.06058>`_. Nodes with identical attributes get distinct colors
    (Eq. 4); then, for T steps and every coloring c,

    .. math::
        x^c_{i,0} = (v_i, c_i), \qquad
        x^c_{i,t+1} = \psi^{(t)}\Big(x^c_{i,t}, \sum_{j \in N(i)} \varphi^{(t)}(x^c_{j,t})\Big),
        \qquad x_G = \psi\Big(\max_c \sum_i x^c_{i,T}\Big)

    with 2-layer MLPs φ and ψ. ∞-CLIP (`coloring="all"`) is deterministic and universal even
    with one layer (Theorem 3). k-CLIP is random, and its variance decreases with k.

    Differs from the paper: batch normalization inside the MLPs (the paper does not mention any, but
    its property tasks are not learned without it), and no output bias in φ (see `Aggregation`).

    **Many colorings.** If a single activation would need more than 1 MB in evaluation or 32 MB in
    training (512 MB on other devices than the CPU), colorings are streamed with a running maximum;
    in training only if there are also more than `hidden_channels` colorings. Only the colorings
    that attain the maximum have gradients, as in any maximum. Batch statistics are then computed
    first, from 16 random colorings of every graph (the first 16 of `colorings`), with gradients.
    They are used for all colorings and update the running averages once. Without streaming they are
    computed from all colorings.

    {parameters}

    Raises:
        InvalidParameterError: if a parameter has an invalid value.

    Shapes:
        - x: `[nodes, in_channels]`, or labels `[nodes]`
        - edge_index: `[2, edges]`
        - batch: `[nodes]`
        - colorings: `[colorings, nodes]`
        - output: `[graphs, out_channels]`; `[members, graphs, out_channels]` with several members

    Example:
        >>> import torch
        >>> model = CLIP(in_channels=1, out_channels=2, num_colorings=4).eval()
        >>> square = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
        >>> model(torch.ones(4, 1), square).shape
        torch.Size([1, 2])
    """

    name = "clip"
    schema = CLIPParameters
    reads_edge_weights = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = CLIPParameters.hidden_channels,
        num_layers: int = CLIPParameters.num_layers,
        coloring: str | Scheme = CLIPParameters.coloring,
        num_colorings: int = CLIPParameters.num_colorings,
        num_colors: int = CLIPParameters.num_colors,
        color_code: str = CLIPParameters.color_code,
        activation: str = CLIPParameters.activation,
        norm: str | None = CLIPParameters.norm,
        initialization: str = CLIPParameters.initialization,
        dropout: float = CLIPParameters.dropout,
        directed: bool = CLIPParameters.directed,
        edge_channels: int = CLIPParameters.edge_channels,
        graph_channels: int = CLIPParameters.graph_channels,
        num_members: int = CLIPParameters.num_members,
        colorings_at_once: int | None = CLIPParameters.colorings_at_once,
    ) -> None:
        scheme = scheme_named(coloring)
        config = CLIPParameters(
            in_channels=in_channels,
            out_channels=out_channels,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            coloring=scheme.name if scheme.name in COLORINGS else CLIPParameters.coloring,
            num_colorings=num_colorings,
            num_colors=num_colors,
            color_code=color_code,
            activation=activation,
            norm=norm,
            initialization=initialization,
            dropout=dropout,
            directed=directed,
            edge_channels=edge_channels,
            graph_channels=graph_channels,
            num_members=num_members,
            colorings_at_once=colorings_at_once,
        )
        super().__init__(config, scheme)
        self.config: CLIPParameters = config
        self.code = ColorCode(config.color_code, config.num_colors)
        widths = [self._input_channels()] + [config.hidden_channels] * (config.num_layers - 1)
        self.layers = nn.ModuleList(
            Aggregation(
                config.num_members,
                width,
                config.hidden_channels,
                edge_channels=config.edge_channels,
                directed=config.directed,
                activation=config.activation,
                norm=config.norm,
                initialization=config.initialization,
            )
            for width in widths
        )
        self.readout = Readout(
            config.num_members,
            config.hidden_channels + config.graph_channels,
            config.hidden_channels,
            config.out_channels,
            activation=config.activation,
            norm=config.norm,
            dropout=config.dropout,
            initialization=config.initialization,
        )

    @classmethod
    def parameters_from_graphs(
        cls, graphs: PackedGraphs, parameters: dict[str, Any]
    ) -> dict[str, Any]:
        """Compute the number of colors, the channels of attributes, and the direction."""
        scheme = scheme_named(parameters.get("coloring", CLIPParameters.coloring))
        if parameters.get("num_colorings") == 0:  # colors are not used
            scheme = Random()
        return {
            "num_colors": scheme.num_colors(graphs, scheme.partition_of(graphs)),
            "edge_channels": graphs.edge_channels,
            "graph_channels": graphs.graph_channels,
            "directed": graphs.directed,
        }

    @property
    def num_colorings(self) -> int:
        """The number k of colorings; saved with the model.

        It can be changed, because no weight depends on it: `model.num_colorings = 64`. A model that
        was built with 0 has no weights for colors and remains at 0; all others need at least 1.

        Raises:
            InvalidParameterError: if it is set to an invalid value.
        """
        return self.config.num_colorings

    @num_colorings.setter
    def num_colorings(self, value: int) -> None:
        self.config = self.config.with_num_colorings(value)

    def num_colorings_for(self, *, training: bool) -> int:
        """Number k of colorings, in training and in evaluation."""
        return self.config.num_colorings

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        *,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        graph_attr: Tensor | None = None,
        colorings: Tensor | None = None,
        num_colorings: int | None = None,
        coloring: str | Scheme | None = None,
        generator: torch.Generator | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Compute the output for each graph, Eq. (5).

        Args:
            x: node attributes `[nodes, in_channels]`, or integer labels `[nodes]`.
            edge_index: edges `[2, edges]`, from sources to targets. An undirected edge is stored in
                both directions. An edge that occurs twice is added twice, and a self-loop makes a
                node its own neighbor; `coalesce` and `remove_self_loops` of
                `torch_geometric.utils` remove them.
            batch: the graph of each node, ascending; one graph without it.
            edge_weight: `[edges]`, factors in the sums over neighbors.
            edge_attr: `[edges, edge_channels]`.
            graph_attr: `[graphs, graph_channels]`.
            colorings: `[colorings, nodes]`, colorings to use instead of those of the scheme. Colors
                must be less than `num_colors`. Whether nodes with identical attributes have
                distinct colors is not checked.
            num_colorings: k of this call instead of the model; not together with `colorings`.
            coloring: scheme of this call instead of the model; not together with `colorings`.
            generator: source of random colorings; the global generator of torch by default.
            batch_size: number of graphs, if the last ones can be without nodes.

        Returns:
            `[graphs, out_channels]`, or `[members, graphs, out_channels]` with several members.

        Raises:
            InvalidGraphError: if the tensors are not a batch of graphs that the model can read.
            InvalidColoringError: if the colors do not match the model.
            InvalidParameterError: if `num_colorings` or `coloring` is invalid for the model.
            TooManyColoringsError: if all colorings are used and a graph has too many.
            UnsupportedTransformError: in a transform of `torch.func` or forward-mode AD.
        """
        graphs = self._read(x, edge_index, batch, edge_weight, edge_attr, graph_attr, batch_size)
        stream = self._stream(graphs, colorings, num_colorings, coloring, generator)
        return self._without_member_axis(self._outputs(graphs, stream, generator))

    def forward_batch(self, batch: Batch, colorings: Colorings | None) -> GraphFeatures:
        """Compute the output for each graph of each member; see `Network`."""
        if self.has_kernels(batch):
            from clipgnn.nn import fused  # requires Triton, which comes with torch for GPUs

            return fused.outputs(
                batch, colorings, self.config, self.layers, self.readout, training=self.training
            )
        # [members, graphs, colorings, channels] -> [members, graphs, channels]
        pooled = sum_nodes(self._iterations.features(batch, colorings), batch.nodes).amax(2)
        return self.readout(pooled, batch.graph_attr, batch.graph_mask)

    @classmethod
    def joined_parameters(cls, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        """Join the largest number of colors and the direction; see `Network`."""
        joined = {
            "num_colors": max(one["num_colors"], other["num_colors"]),
            "directed": one["directed"] or other["directed"],
        }
        return super().joined_parameters({**one, **joined}, {**other, **joined})

    def redundant_biases(self) -> list[nn.Parameter]:
        """Also those of the last maps of all layers but the last; see `Network`."""
        if self.config.norm is None:
            return []
        before = [cast(Aggregation, layer).psi.second.bias for layer in self.layers[:-1]]
        return super().redundant_biases() + [bias for bias in before if bias is not None]

    def has_kernels(self, batch: Batch) -> bool:
        """Whether `forward_batch` uses fused GPU kernels for the batch."""
        width, dtype = self.config.hidden_channels, self.readout.first.weight.dtype
        return (
            kernel_support.supports_clip(self.config)
            and kernel_support.supports_batch(batch, width, dtype, training=self.training)
            and not shares_statistics(self)
        )

    def embed(
        self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None, **inputs: Unpack[Inputs]
    ) -> Tensor:
        r"""Compute the representation of each graph: :math:`\max_c \sum_i x^c_{i,T}`.

        Arguments and errors are those of `forward`. Graph attributes are inputs of the last MLP
        only, and are ignored here.

        Returns:
            `[graphs, hidden_channels]`, or `[members, graphs, hidden_channels]`.
        """
        return self._embed(x, edge_index, batch, inputs, per_node=False)

    def embed_nodes(
        self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None, **inputs: Unpack[Inputs]
    ) -> Tensor:
        r"""Compute the representation of each node, for node tasks: :math:`\max_c x^c_{i,T}`.

        Arguments and errors are those of `forward`. Graph attributes are inputs of the last MLP
        only, and are ignored here. If colorings are streamed, the backward pass computes each part
        again.

        Returns:
            `[nodes, hidden_channels]`, or `[members, nodes, hidden_channels]`.
        """
        return self._embed(x, edge_index, batch, inputs, per_node=True)

    @torch.no_grad()
    def embed_graphs(
        self,
        graphs: PackedGraphs,
        *,
        seed: int = 0,
        batch_size: int = 256,
        wrap_colors: bool = False,
    ) -> Tensor:
        """Compute the representations of all graphs of a data set, as `embed` does.

        Arguments, colorings and errors are those of `predict`.

        Returns:
            `[graphs, hidden_channels]`, or `[members, graphs, hidden_channels]`.
        """

        def compute(batch: ExactBatch, stream: ColoringStream | None, _: None) -> GraphFeatures:
            return self._iterations.maximum(batch, stream, None)

        rows = self._in_parts(graphs, seed, batch_size, compute, wrap=wrap_colors)
        return self._without_member_axis(rows)

    def _embed(
        self, x: Tensor, edge_index: Tensor, batch: Tensor | None, inputs: Inputs, *, per_node: bool
    ) -> Tensor:
        graphs = self._read(
            x,
            edge_index,
            batch,
            inputs.get("edge_weight"),
            inputs.get("edge_attr"),
            inputs.get("graph_attr"),
            inputs.get("batch_size"),
            needs_graph_attr=False,
        )
        generator = inputs.get("generator")
        stream = self._stream(
            graphs,
            inputs.get("colorings"),
            inputs.get("num_colorings"),
            inputs.get("coloring"),
            generator,
        )
        rows = self._iterations.maximum(graphs, stream, generator, per_node=per_node)
        return self._without_member_axis(rows)

    def _outputs(
        self, graphs: ExactBatch, stream: ColoringStream | None, generator: torch.Generator | None
    ) -> GraphFeatures:
        pooled = self._iterations.maximum(graphs, stream, generator)
        return self.readout(pooled, graphs.graph_attr)

    def _stream(
        self,
        graphs: ExactBatch,
        colorings: Tensor | None,
        num_colorings: int | None,
        coloring: str | Scheme | None,
        generator: torch.Generator | None,
    ) -> ColoringStream | None:
        """Colorings of a call: passed by the user, or of a scheme; None for 0-CLIP."""
        for name, value in (("num_colorings", num_colorings), ("coloring", coloring)):
            if colorings is not None and value is not None:
                raise InvalidParameterError(
                    f"Either colorings or {name} must be None. Got both, with {name}="
                    f"{shown(value)}. Leave one out."
                )
        config = self.config
        if num_colorings is not None:
            config = self.config.with_num_colorings(num_colorings)
        scheme = self.scheme if coloring is None else scheme_named(coloring)
        return self._colorings(graphs, colorings, config.num_colorings, scheme, generator)

    @property
    def _iterations(self) -> LocalIterations:
        return LocalIterations(self.config, self.layers, self.code, self.training)

    def _input_channels(self) -> int:
        """Input channels of the first layer: attributes and the code of the color."""
        if self.config.num_colorings == 0:
            return self.config.in_channels
        return self.config.in_channels + self.code.width

    def check_num_colors(self, num_colors: int) -> None:
        """Check that the network has at least `num_colors` colors."""
        self.code.check(num_colors)

    def largest_color(self) -> int:
        """The largest color of the model."""
        return self.config.num_colors - 1
