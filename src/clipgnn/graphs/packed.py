"""A data set as flat tensors, from which batches are assembled by index arithmetic."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.graphs.checks import check_dense, describe
from clipgnn.graphs.conversions import GraphConversions
from clipgnn.graphs.encoding import AttributeEncoding
from clipgnn.graphs.exact import ExactBatch, ExactEdges, rows_of
from clipgnn.graphs.fingerprint import fingerprint
from clipgnn.graphs.indices import as_graph_indices, check_range
from clipgnn.graphs.packed_checks import check_packed
from clipgnn.ops.pointers import expand_segments, pointers_from_counts, pointers_from_index


@dataclass(frozen=True, eq=False, repr=False)
class PackedGraphs(GraphConversions):
    """A set of graphs as concatenated tensors, with pointers to the nodes and edges of each graph.

    Attributes:
        name: name of the data set.
        x: attributes `[nodes, channels]`, or integer labels `[nodes]`, equivalent to one-hot rows.
        in_channels: channels of the attributes, or number of labels.
        edge_index: `[2, edges]`, with nodes numbered within their graph. Duplicate edges are added
            twice in sums over neighbors, and a self-loop makes a node its own neighbor;
            `simplify` removes both.
        node_pointers: `[graphs + 1]`, first node of each graph, and the number of nodes.
        edge_pointers: `[graphs + 1]`, first edge of each graph, and the number of edges.
        y: targets: classes `[graphs]` in int64, or floats `[graphs]` or `[graphs, targets]`, NaN
            where a target is missing; None without targets.
        edge_attr: `[edges, channels]`, or None.
        edge_weight: `[edges]`, factors in the sums over neighbors, or None.
        graph_attr: `[graphs, channels]`, or None.
        colorings: `[colorings, nodes]`, precomputed colors of the nodes for the coloring scheme
            "precomputed"; or None.
        encoding: how named attributes were encoded as channels; None if they were given as tensors.

    Raises:
        InvalidGraphError: if the tensors are not consistent.
    """

    name: str
    x: Tensor
    in_channels: int
    edge_index: Tensor
    node_pointers: Tensor
    edge_pointers: Tensor
    y: Tensor | None = None
    edge_attr: Tensor | None = None
    edge_weight: Tensor | None = None
    graph_attr: Tensor | None = None
    colorings: Tensor | None = None
    encoding: AttributeEncoding | None = None

    def __post_init__(self) -> None:
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        del content["name"], content["encoding"]
        check_packed(**content)

    def __len__(self) -> int:
        return self.node_pointers.numel() - 1

    @property
    def shape(self) -> tuple[int]:
        """`(graphs,)`, which scikit-learn reads to select graphs."""
        return (len(self),)

    def __getitem__(self, chosen: Any) -> "PackedGraphs":
        """Select graphs as a new data set.

        Args:
            chosen: a graph, a slice, indices or a boolean mask, as for an array.

        Raises:
            IndexError: if there is no such graph.
            InvalidParameterError: if it is neither of these, or selects no graph.
        """
        if isinstance(chosen, tuple) and len(chosen) == 2 and chosen[1] is Ellipsis:
            chosen = chosen[0]  # scikit-learn selects rows of arrays with any number of axes
        if isinstance(chosen, slice):
            chosen = range(*chosen.indices(len(self)))
        elif isinstance(chosen, int | np.integer) and not isinstance(chosen, bool):
            if not -len(self) <= int(chosen) < len(self):
                raise IndexError(f"There is no graph {int(chosen)} of {len(self)}.")
            chosen = [int(chosen) % len(self)]
        indices, mask_length = as_graph_indices("The index", chosen)
        if mask_length not in (None, len(self)):
            raise InvalidParameterError(
                f"A mask must have an entry for each of the {len(self)} graphs. Got {mask_length}."
            )
        return self.subset(indices.to(self.device))

    def __repr__(self) -> str:
        return (
            f"PackedGraphs({self.name!r}, graphs={len(self)}, nodes={self.x.shape[0]}, "
            f"edges={self.edge_index.shape[1]}, in_channels={self.in_channels})"
        )

    @property
    def targets(self) -> Tensor:
        """The targets `y`.

        Raises:
            InvalidParameterError: if `y` is None.
        """
        if self.y is None:
            raise InvalidParameterError(
                f"The graphs must have targets. Got {self.name!r} without y. Set y when you create "
                "the PackedGraphs."
            )
        return self.y

    @cached_property
    def num_classes(self) -> int:
        """Number of classes.

        Raises:
            InvalidParameterError: if the targets are floats to regress, or `y` is None.
        """
        if self.targets.is_floating_point():
            raise InvalidParameterError(
                f"Targets must be int64 to have classes. The targets of {self.name!r} are floats "
                "to regress. Use y.long() if they are classes."
            )
        return int(self.targets.max()) + 1

    @property
    def has_classes(self) -> bool:
        """Whether the targets are classes."""
        return not self.targets.is_floating_point()

    @property
    def num_targets(self) -> int:
        """Number of targets of each graph."""
        return 1 if self.targets.dim() == 1 else self.targets.shape[1]

    @property
    def edge_channels(self) -> int:
        """Channels of the edge attributes; 0 without edge attributes."""
        return 0 if self.edge_attr is None else self.edge_attr.shape[1]

    @property
    def graph_channels(self) -> int:
        """Channels of the graph attributes; 0 without graph attributes."""
        return 0 if self.graph_attr is None else self.graph_attr.shape[1]

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the content (attributes, edges, targets), but not of the name or the device.

        Data sets with the same fingerprint have the same graphs in the same order.

        Example:
            >>> from clipgnn.datasets.properties import circular_skip_links
            >>> circular_skip_links(0).fingerprint == circular_skip_links(1).fingerprint
            False
        """
        in_channels = torch.tensor([self.in_channels])
        pointers = (self.node_pointers, self.edge_pointers)
        return fingerprint(
            (self.x, in_channels, self.edge_index, *pointers, self.y, self.edge_attr),
            {
                "edge_weight": self.edge_weight,
                "graph_attr": self.graph_attr,
                "colorings": self.colorings,
            },
        )

    @cached_property
    def graph_of_node(self) -> Tensor:
        """The graph of each node."""
        graphs = torch.arange(len(self), device=self.device)
        return graphs.repeat_interleave(self.node_pointers.diff())

    @cached_property
    def graph_of_edge(self) -> Tensor:
        """The graph of each edge."""
        graphs = torch.arange(len(self), device=self.device)
        return graphs.repeat_interleave(self.edge_pointers.diff())

    @cached_property
    def global_edge_index(self) -> Tensor:
        """Edges `[2, edges]` with nodes numbered across the whole data set."""
        return self.edge_index + self.node_pointers[self.graph_of_edge]

    @cached_property
    def directed(self) -> bool:
        """Whether the two directions of an edge differ.

        They do if an edge is not stored as often in one direction as in the other, or with another
        weight or other attributes.
        """
        source, target = self.global_edge_index
        nodes = self.x.shape[0]
        keys, order = torch.sort(source * nodes + target, stable=True)
        reversed_keys, reversed_order = torch.sort(target * nodes + source, stable=True)
        if not torch.equal(keys, reversed_keys):
            return True
        values = [value for value in (self.edge_weight, self.edge_attr) if value is not None]
        return any(not torch.equal(value[order], value[reversed_order]) for value in values)

    def check_undirected(self) -> None:
        """Check that every edge is stored in both directions.

        Raises:
            InvalidGraphError: if one is not.
        """
        if self.directed:
            raise InvalidGraphError(
                "The graphs must be undirected, with every edge stored in both directions. Got an "
                f"edge in one direction in {self.name!r}. Use torch_geometric.utils.to_undirected."
            )

    def attributes(self) -> Tensor:
        """Node attributes as floats `[nodes, channels]`; labels are converted to one-hot rows."""
        if self.x.dim() == 1:
            return functional.one_hot(self.x, self.in_channels).to(torch.get_default_dtype())
        return self.x

    @property
    def device(self) -> torch.device:
        """Device of the tensors."""
        return self.x.device

    def to(self, device: torch.device | str) -> "PackedGraphs":
        """Copy the graphs to another device."""
        return self.with_tensors(lambda own: own.to(device))

    def with_tensors(self, change: Callable[[Tensor], Tensor]) -> "PackedGraphs":
        """Apply a function, which does not change the content, to all tensors."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        known = {"directed": self.directed} if "directed" in vars(self) else {}
        return self.unchecked(
            **known,
            **{
                name: change(value) if isinstance(value, Tensor) else value
                for name, value in values.items()
            },
        )

    def with_targets(self, y: Tensor | None) -> "PackedGraphs":
        """Return the same graphs with other targets, which are not checked."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return self.unchecked(**{**values, "y": y})

    def with_floats(self, dtype: torch.dtype) -> "PackedGraphs":
        """Convert floating-point tensors (attributes and targets) to a dtype.

        Raises:
            InvalidGraphError: if a number is too large for the dtype.
        """
        converted: dict[str, Any] = {
            field.name: value.to(dtype)
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), Tensor)
            and value.is_floating_point()
            and value.dtype != dtype
        }
        return replace(self, **converted) if converted else self

    def simplify(self) -> "PackedGraphs":
        """Remove self-loops and duplicate edges.

        Of duplicate edges the first one is kept, with its attributes and weight. The order of the
        edges does not change.

        Example:
            >>> from torch_geometric.data import Data
            >>> edges = torch.tensor([[0, 1, 0, 1, 1], [1, 0, 1, 0, 1]])
            >>> graph = Data(edge_index=edges, num_nodes=2, y=torch.tensor([0]))
            >>> PackedGraphs.from_data_list([graph]).simplify().edge_index
            tensor([[0, 1],
                    [1, 0]])
        """
        source, target = self.global_edge_index
        keys, order = torch.sort(source * self.x.shape[0] + target, stable=True)
        first = torch.ones_like(keys, dtype=torch.bool)
        first[1:] = keys[1:] != keys[:-1]
        keep = torch.zeros_like(first).scatter_(0, order, first) & (source != target)
        return replace(
            self,
            edge_index=self.edge_index[:, keep],
            edge_pointers=pointers_from_counts(keep.long())[self.edge_pointers],
            edge_attr=None if self.edge_attr is None else self.edge_attr[keep],
            edge_weight=None if self.edge_weight is None else self.edge_weight[keep],
        )

    @classmethod
    @override
    def _from_fields(cls, **values: Any) -> "PackedGraphs":
        return cls(**values)

    def batch(self, chosen: Tensor) -> ExactBatch:
        """Assemble the chosen graphs as one batch, on the device.

        Args:
            chosen: int64 indices of graphs, in any order, with or without duplicates.

        Raises:
            InvalidParameterError: if `chosen` is not such a tensor, or an index is out of range.
        """
        return self._take(chosen).to_batch()

    def to_batch(self) -> ExactBatch:
        """Assemble all graphs as one batch."""
        source, target = self.global_edge_index
        return ExactBatch.of(
            x=self.x,
            edges=ExactEdges.from_edge_index(
                source, target, self.x.shape[0], self.edge_weight, self.edge_attr
            ),
            graph_of_node=self.graph_of_node,
            num_graphs=len(self),
            graph_attr=self.graph_attr,
        )

    def subset(self, chosen: Tensor) -> "PackedGraphs":
        """Select graphs as a new data set.

        Args:
            chosen: int64 indices of graphs, in any order, with or without duplicates.

        Raises:
            InvalidParameterError: if `chosen` is not such a tensor, is empty, or an index is out of
                range.
        """
        taken = self._take(chosen)
        if len(taken) == 0:
            raise InvalidParameterError("chosen must have at least one graph. Got none.")
        return taken

    @classmethod
    def from_batch(cls, batch: ExactBatch, in_channels: int) -> "PackedGraphs":
        """Convert a batch to a data set without targets."""
        pointers = pointers_from_counts(batch.nodes.counts)
        # Edges are sorted by target, so that those of a graph are consecutive.
        graph_of_edge = batch.graph_of_node[batch.edges.pattern.row]
        return cls.unchecked(
            name="batch",
            x=batch.x,
            in_channels=in_channels,
            edge_index=batch.edge_index - pointers[graph_of_edge],
            node_pointers=pointers,
            edge_pointers=pointers_from_index(graph_of_edge, batch.num_graphs),
            y=None,
            edge_attr=batch.edges.attr,
            edge_weight=batch.edges.weight,
            graph_attr=batch.graph_attr,
            colorings=None,
            encoding=None,
        )

    @classmethod
    def unchecked(cls, **values: Any) -> "PackedGraphs":
        """Create a data set without checks, from tensors that are known to be consistent."""
        graphs = object.__new__(cls)
        for name, value in values.items():
            object.__setattr__(graphs, name, value)
        return graphs

    def _take(self, chosen: Tensor) -> "PackedGraphs":
        self._check_chosen(chosen)
        node_pointers, _, nodes = expand_segments(
            self.node_pointers[:-1][chosen], self.node_pointers.diff()[chosen]
        )
        edge_pointers, _, edges = expand_segments(
            self.edge_pointers[:-1][chosen], self.edge_pointers.diff()[chosen]
        )
        return self.unchecked(
            name=self.name,
            x=self.x[nodes],
            in_channels=self.in_channels,
            edge_index=self.edge_index[:, edges],
            node_pointers=node_pointers,
            edge_pointers=edge_pointers,
            y=rows_of(self.y, chosen),
            edge_attr=rows_of(self.edge_attr, edges),
            edge_weight=rows_of(self.edge_weight, edges),
            graph_attr=rows_of(self.graph_attr, chosen),
            colorings=None if self.colorings is None else self.colorings[:, nodes],
            encoding=self.encoding,
        )

    def _check_chosen(self, chosen: Tensor) -> None:
        if not isinstance(chosen, Tensor) or chosen.dtype != torch.int64 or chosen.dim() != 1:
            raise InvalidParameterError(
                "chosen must be an int64 tensor of indices of graphs, with one axis. Got "
                f"{describe(chosen)}. Use mask.nonzero().flatten() for a boolean mask."
            )
        check_dense("chosen", chosen, InvalidParameterError)
        check_range("chosen", chosen, len(self))


def check_graph_set(graphs: object) -> None:
    """Check that an argument is a data set.

    Raises:
        InvalidGraphError: if it is not.
    """
    if not isinstance(graphs, PackedGraphs):
        raise InvalidGraphError(
            f"graphs must be a PackedGraphs. Got {type(graphs).__name__}. Use "
            "PackedGraphs.from_data_list for a list of PyG's Data, and from_networkx, from_igraph, "
            "from_scipy or from_smiles for other graphs, and load() of graphs on disk."
        )
