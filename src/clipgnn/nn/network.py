"""The interface of all networks."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import chain
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn

from clipgnn.coloring.random import Random
from clipgnn.coloring.schemes import Scheme
from clipgnn.coloring.stream import ColoringStream
from clipgnn.errors import InvalidParameterError, shown
from clipgnn.graphs.batch import Batch
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.keys import graph_keys
from clipgnn.graphs.packed import PackedGraphs, check_graph_set
from clipgnn.graphs.seeds import as_signed, check_seed
from clipgnn.nn.batch_colorings import drawn_colorings, given_colorings
from clipgnn.nn.checks import check_graph_attributes, check_readable, check_transforms
from clipgnn.nn.dropout import Dropout
from clipgnn.nn.graph_set_checks import check_channels, check_supported
from clipgnn.nn.layer import Generators, Layer
from clipgnn.nn.mlp import MLP
from clipgnn.ops.hashing import mix
from clipgnn.parameters import NetworkParameters
from clipgnn.shapes import Colorings, GraphFeatures

# Not typing.Self, which beartype does not support in methods of classes that it does not decorate.
_N = TypeVar("_N", bound="Network")


class Network(nn.Module, ABC):
    """A network on graphs whose parameters carry a leading members axis.

    `forward` takes tensors as networks of PyTorch Geometric do. `forward_batch` takes the batches
    that training assembles. Members are independent networks of one configuration that are computed
    together: folds, seeds, an ensemble.

    Attributes:
        name: name of the network in experiments and model files.
        schema: the parameters of the network.
        reads_edge_weights: whether the network supports edge weights.
        config: the values of the parameters.
        scheme: the coloring scheme.
    """

    name: ClassVar[str]
    schema: ClassVar[type[NetworkParameters]]
    reads_edge_weights: ClassVar[bool] = False

    def __init__(self, config: NetworkParameters, scheme: Scheme | None = None) -> None:
        super().__init__()
        self.config = config
        self.scheme = Random() if scheme is None else scheme

    @classmethod
    def from_config(cls: type[_N], config: NetworkParameters) -> _N:
        """Build a network from its configuration."""
        return cls(**asdict(config))

    @classmethod
    def from_graphs(
        cls: type[_N],
        graphs: PackedGraphs,
        *,
        out_channels: int | None = None,
        num_members: int = 1,
        **parameters: Any,
    ) -> _N:
        """Build a network for the graphs of a data set.

        Args:
            graphs: the data set, which determines the number of channels.
            out_channels: channels of the output; by default the number of classes, or of targets.
            num_members: independent networks that are computed together.
            **parameters: parameters of the network. Those that depend on the data are computed
                unless they are given.

        Raises:
            InvalidParameterError: if a parameter is unknown or has an invalid value.
            InvalidGraphError: if the network cannot read the graphs.
        """
        check_graph_set(graphs)
        given_by_graphs = ("in_channels", "out_channels", "num_members")
        cls.schema.check_names(
            parameters, [name for name in cls.schema.names() if name not in given_by_graphs]
        )
        cls.check_graphs(graphs)
        if out_channels is None:
            regression = graphs.targets.is_floating_point()
            out_channels = graphs.num_targets if regression else graphs.num_classes
        values = cls.parameters_from_graphs(graphs, parameters) | parameters
        return cls(graphs.in_channels, out_channels, num_members=num_members, **values)  # type: ignore[call-arg, arg-type]

    @classmethod
    def parameters_from_graphs(
        cls, graphs: PackedGraphs, parameters: dict[str, Any]
    ) -> dict[str, Any]:
        """Compute the parameters that depend on the data set.

        Args:
            graphs: the data set.
            parameters: the parameters that were given.
        """
        return {}

    @classmethod
    def joined_parameters(cls, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        """Join `parameters_from_graphs` of two parts of a data set.

        Raises:
            InvalidParameterError: if they cannot be joined.
        """
        for name, value in one.items():
            if other[name] != value:
                raise InvalidParameterError(
                    f"The {name!r} parameter of {cls.__name__} must be given for graphs on disk, "
                    f"because it depends on all graphs. Got {shown(value)} and "
                    f"{shown(other[name])} for two parts of them."
                )
        return one

    @classmethod
    def check_packages(cls) -> None:
        """Check that optional packages are installed which networks of this class need.

        Raises:
            MissingDependencyError: if one of them is missing.
        """

    @classmethod
    def check_graphs(cls, graphs: PackedGraphs) -> None:
        """Check that networks of this class can read the graphs.

        Raises:
            InvalidGraphError: if they cannot.
        """
        check_supported(graphs, cls.schema, reads_edge_weights=cls.reads_edge_weights)

    def check_channels(self, graphs: PackedGraphs) -> None:
        """Check that the graphs have the channels that the network was built for.

        Raises:
            InvalidGraphError: if they do not.
        """
        self.check_graphs(graphs)
        check_channels(graphs, self.config, type(self).__name__)

    def prepare(self, graphs: PackedGraphs) -> tuple[Tensor, ...]:
        """Compute tensors that the network needs once for each graph: `Batch.prepared`.

        Tables with a row for each graph have an additional row for padding.
        """
        return ()

    def num_colorings_for(self, *, training: bool) -> int:
        """Number of colorings of every graph that the network requests; 0 for no colors."""
        return 0

    @property
    def training_scheme(self) -> Scheme:
        """The scheme for batches of training; without colors, one that needs no preparation."""
        return self.scheme if self.num_colorings_for(training=True) else Random()

    def cost_of_graph(self, num_nodes: float, largest_graph: int, num_colorings: int) -> float:
        """Number of rows of activations that a layer stores for a graph.

        Args:
            num_nodes: number of nodes of the graph.
            largest_graph: number of nodes of the largest graph of the data set.
            num_colorings: number of colorings of the graph.
        """
        return num_nodes * max(1, num_colorings)

    def redundant_biases(self) -> list[nn.Parameter]:
        """Biases that do not change the output in training, because batch statistics remove them.

        Their gradient is 0. Computed, it is rounding error, which Adam would scale to the size of
        the learning rate, while running averages lag behind. Training therefore does not change
        them.
        """
        mlps = [module for module in self.modules() if isinstance(module, MLP)]
        biases = [own.first.bias for own in mlps if own.norm is not None]
        return [bias for bias in biases if bias is not None]

    def has_kernels(self, batch: Batch) -> bool:
        """Whether `forward_batch` uses fused GPU kernels for the batch, not single operations."""
        return False

    @abstractmethod
    def forward_batch(self, batch: Batch, colorings: Colorings | None) -> GraphFeatures:
        """Compute the output for each graph of each member.

        Args:
            batch: a batch for each member.
            colorings: `[colorings, nodes]`; None for no colors.

        Returns:
            `[members, graphs, out_channels]`; any value for graphs that are padding.
        """

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
        generator: torch.Generator | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Compute the output for each graph.

        Args:
            x: node attributes `[nodes, in_channels]`, or integer labels `[nodes]`.
            edge_index: edges `[2, edges]`, from sources to targets. An undirected edge is stored in
                both directions. An edge that occurs twice is added twice, and a self-loop makes a
                node its own neighbor; `coalesce` and `remove_self_loops` of
                `torch_geometric.utils` remove them.
            batch: the graph of each node, ascending; one graph without it.
            edge_weight: `[edges]`, factors in the sums over neighbors, if the network supports it.
            edge_attr: `[edges, edge_channels]`, if the network supports them.
            graph_attr: `[graphs, graph_channels]`, if the network supports them.
            colorings: `[colorings, nodes]`, colorings to use instead of those of the scheme, if the
                network uses colors.
            generator: source of random colorings; the global generator of torch by default.
            batch_size: number of graphs, if the last ones can be without nodes.

        Returns:
            `[graphs, out_channels]`, or `[members, graphs, out_channels]` with several members.

        Raises:
            InvalidGraphError: if the tensors are not a batch of graphs that the network can read.
            InvalidColoringError: if the colors do not match the network.
            UnsupportedTransformError: in a transform of `torch.func` or forward-mode AD.
        """
        graphs = self._read(x, edge_index, batch, edge_weight, edge_attr, graph_attr, batch_size)
        k = self.num_colorings_for(training=self.training)
        stream = self._colorings(graphs, colorings, k, self.scheme, generator)
        return self._without_member_axis(self._outputs(graphs, stream, generator))

    @torch.no_grad()
    def predict(
        self,
        graphs: PackedGraphs,
        *,
        seed: int = 0,
        batch_size: int = 256,
        wrap_colors: bool = False,
    ) -> Tensor:
        """Compute outputs for all graphs of a data set, in evaluation mode without gradients.

        Random colorings of a graph are hashed from its content and the seed. Its outputs are the
        same, up to rounding, whatever the other graphs, their order and the size of batches are.

        Args:
            graphs: the data set; targets are not needed.
            seed: seed of random colorings.
            batch_size: number of graphs that are computed at the same time.
            wrap_colors: what to do if a graph has more nodes with identical attributes than the
                network has colors: reduce colors modulo their number, with a warning. Some of these
                nodes then have the same color. By default it is an error.

        Returns:
            `[graphs, out_channels]`, or `[members, graphs, out_channels]` with several members.

        Raises:
            InvalidGraphError: if the network cannot read the graphs.
            InvalidColoringError: if the network has too few colors.
            InvalidParameterError: if `seed` or `batch_size` is not a valid number.
        """
        outputs = self._in_parts(graphs, seed, batch_size, self._outputs, wrap=wrap_colors)
        return self._without_member_axis(outputs)

    def _in_parts(
        self,
        graphs: PackedGraphs,
        seed: int,
        batch_size: int,
        compute: Callable[[ExactBatch, ColoringStream | None, None], GraphFeatures],
        *,
        wrap: bool,
    ) -> GraphFeatures:
        """Compute rows for all graphs, in evaluation mode; see `predict`."""
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise InvalidParameterError(
                f"batch_size must be an integer of at least 1. Got {shown(batch_size)}."
            )
        check_graph_set(graphs)
        weight = self._any_weight()
        self.check_channels(graphs)
        # Targets are not needed, and may not fit into the dtype.
        graphs = replace(graphs, y=None).to(weight.device).with_floats(weight.dtype)
        keys = graph_keys(graphs, as_signed(check_seed(seed)))
        table = self._prepared_colorings(graphs)
        was_training = self.training
        self.eval()
        try:
            parts = torch.arange(len(graphs), device=weight.device).split(batch_size)
            drawn = (self._with_colorings(graphs, part, keys, table, wrap=wrap) for part in parts)
            return torch.cat([compute(*part, None)[:, 1:] for part in drawn], dim=1)
        finally:
            self.train(was_training)

    def colorings_of(
        self, graphs: PackedGraphs, seed: int, *, wrap_colors: bool = False
    ) -> Tensor | None:
        """Colorings that `predict` uses, `[nodes, colorings]`; None for no colors.

        Args:
            graphs: graphs with at least one node. The network must have one member.
            seed: seed of random colorings.
            wrap_colors: see `predict`.
        """
        weight = self._any_weight()
        graphs = replace(graphs, y=None).to(weight.device).with_floats(weight.dtype)
        keys = graph_keys(graphs, as_signed(check_seed(seed)))
        table = self._prepared_colorings(graphs)
        everything = torch.arange(len(graphs), device=weight.device)
        batch, stream = self._with_colorings(graphs, everything, keys, table, wrap=wrap_colors)
        if stream is None:
            return None
        added = batch.num_nodes - graphs.x.shape[0]  # nodes of the graph that was added
        return stream.all()[:, added:].t()

    def _prepared_colorings(self, graphs: PackedGraphs) -> Colorings | None:
        """Colorings `[colorings, nodes]` of a data set; None if those of its parts are drawn."""
        k = self.num_colorings_for(training=False)
        return self.scheme.prepare(graphs, k) if k and graphs.x.shape[0] else None

    def _with_colorings(
        self,
        graphs: PackedGraphs,
        chosen: Tensor,
        keys: Tensor,
        table: Colorings | None,
        *,
        wrap: bool,
    ) -> tuple[ExactBatch, ColoringStream | None]:
        """Assemble a batch of a graph with nodes and the chosen graphs, and draw its colorings.

        Args:
            graphs: the data set.
            chosen: numbers of the graphs.
            keys: random bits of all graphs.
            table: colorings of all graphs; None to draw them.
            wrap: see `predict`.
        """
        # Layers need at least one node, so a graph with nodes is added to each part.
        with_nodes = graphs.graph_of_node[:1]
        chosen = torch.cat([with_nodes, chosen])
        part = replace(graphs, colorings=table).subset(chosen)
        batch = self._checked(part.to_batch())
        k = self.num_colorings_for(training=False)
        members = torch.arange(self.config.num_members, device=keys.device)
        # [members * graphs]; the bits of the first member do not change with the others.
        of_members = (keys[chosen] ^ mix(members)[:, None]).flatten()
        return batch, self._colorings(
            batch, part.colorings, k, self.scheme, None, of_members, wrap=wrap
        )

    def reset_parameters(self, generators: Generators = None) -> None:
        """Initialize all parameters and buffers.

        Args:
            generators: a generator for each member; the global generator of torch by default.
        """
        layers = [module for module in self.modules() if isinstance(module, Layer)]
        # Dropout is last, so that weights are the same with and without dropout.
        for layer in sorted(layers, key=lambda layer: isinstance(layer, Dropout)):
            layer.reset_parameters(generators)

    def member(self: _N, number: int) -> _N:
        """Copy one member to a separate network.

        Args:
            number: index of the member, from 0 to num_members - 1.

        Raises:
            InvalidParameterError: if there is no such member.
        """
        if number not in range(self.config.num_members):
            raise InvalidParameterError(
                f"number must be an integer from 0 to {self.config.num_members - 1}, the last "
                f"member. Got {shown(number)}."
            )
        with torch.random.fork_rng([]):  # a constructor draws weights, which are replaced
            alone = type(self).from_config(replace(self.config, num_members=1))
        alone.scheme = self.scheme
        alone.to(self._any_weight())
        alone.load_state_dict(
            {name: value[number : number + 1] for name, value in self.state_dict().items()}
        )
        return alone.train(self.training)

    def __repr__(self) -> str:
        values = asdict(self.config)
        parts = [str(values.pop("in_channels")), str(values.pop("out_channels"))]
        defaults = self.schema.defaults()
        parts += [f"{name}={v!r}" for name, v in values.items() if v != defaults.get(name)]
        parts.append(f"num_parameters={sum(p.numel() for p in self.parameters())}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _outputs(
        self, graphs: ExactBatch, stream: ColoringStream | None, generator: torch.Generator | None
    ) -> GraphFeatures:
        """Compute the output for each graph with the colorings of a stream."""
        return self.forward_batch(graphs, None if stream is None else stream.all())

    def _read(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None,
        edge_weight: Tensor | None,
        edge_attr: Tensor | None,
        graph_attr: Tensor | None,
        batch_size: int | None,
        *,
        needs_graph_attr: bool = True,
    ) -> ExactBatch:
        """Check the tensors of a user, and repeat them for each member."""
        if not torch.compiler.is_compiling():
            check_transforms(chain([x, edge_weight, edge_attr, graph_attr], self.parameters()))
        return self._checked(
            ExactBatch.from_tensors(
                x, edge_index, batch, edge_weight, edge_attr, graph_attr, batch_size
            ),
            needs_graph_attr=needs_graph_attr,
        )

    def _checked(self, graphs: ExactBatch, *, needs_graph_attr: bool = True) -> ExactBatch:
        """Check that the network can read a batch, prepare it, and repeat it for each member."""
        if not torch.compiler.is_compiling():
            check_readable(graphs, self.config, self._any_weight(), self.reads_edge_weights)
            if needs_graph_attr:
                check_graph_attributes(graphs.graph_attr, self.config)
        prepared = self.prepare(PackedGraphs.from_batch(graphs, self.config.in_channels))
        return replace(graphs, prepared=prepared).repeat(self.config.num_members)

    def _colorings(
        self,
        graphs: ExactBatch,
        given: Tensor | None,
        k: int,
        scheme: Scheme,
        generator: torch.Generator | None,
        keys: Tensor | None = None,
        *,
        wrap: bool = False,
    ) -> ColoringStream | None:
        """Colorings of a batch: given by the user, or of the scheme; None for no colors."""
        if given is not None:
            return given_colorings(
                given,
                graphs,
                k,
                self.config.num_members,
                largest_color=self.largest_color(),
                wrap=wrap,
            )
        if k == 0:
            return None
        # Drawing depends on values and is not compiled.
        compiling = torch.compiler.is_compiling()
        draw = torch.compiler.disable(drawn_colorings) if compiling else drawn_colorings
        largest = self.largest_color()
        wrap_at = largest + 1 if wrap and largest is not None else None
        return draw(graphs, k, scheme, generator, self.check_num_colors, keys, wrap_at)

    def check_num_colors(self, num_colors: int) -> None:
        """Check that the network has at least `num_colors` colors.

        Raises:
            InvalidColoringError: if it has fewer.
        """

    def largest_color(self) -> int | None:
        """The largest color of the network; None if any color is valid."""
        return None

    def _any_weight(self) -> Tensor:
        return next(self.parameters())

    def _without_member_axis(self, rows: GraphFeatures) -> Tensor:
        return rows[0] if self.config.num_members == 1 else rows
