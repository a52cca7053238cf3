"""A whole data set as flat tensors, from which a batch is assembled by index arithmetic."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.graphs.batch import Edges, GraphBatch
from clipgnn.graphs.checks import check_plain, describe
from clipgnn.graphs.data_list import flat_tensors
from clipgnn.graphs.numbers import check_range
from clipgnn.graphs.packed_checks import check_packed
from clipgnn.graphs.sparse import running_sum

if TYPE_CHECKING:  # PyG takes seconds to import, and only those who use its classes need it
    import torch_geometric.data


@dataclass(frozen=True, eq=False, repr=False)
class PackedGraphs:
    """Graphs end to end: nodes and edges of graph g stand between two pointers.

    Attributes:
        name: what the data set is called.
        x: attributes `[nodes, channels]`, or integer labels `[nodes]` that stand for one-hot rows.
        in_channels: channels of the attributes, or how many labels there are.
        edge_index: `[2, edges]`, nodes numbered inside their graph. An edge that occurs twice is
            added twice in sums over neighbors, and a self-loop makes a node its own neighbor;
            `simplify` removes both.
        node_pointers: `[graphs + 1]`.
        edge_pointers: `[graphs + 1]`.
        y: target of each graph: classes `[graphs]` in int64, or floats to regress.
        edge_attr: `[edges, channels]`, or None.

    Raises:
        InvalidGraphError: if the tensors do not agree with each other.
    """

    name: str
    x: Tensor
    in_channels: int
    edge_index: Tensor
    node_pointers: Tensor
    edge_pointers: Tensor
    y: Tensor
    edge_attr: Tensor | None = None

    def __post_init__(self) -> None:
        check_packed(
            self.x,
            self.in_channels,
            self.edge_index,
            self.node_pointers,
            self.edge_pointers,
            self.y,
            self.edge_attr,
        )

    def __len__(self) -> int:
        return self.node_pointers.numel() - 1

    def __repr__(self) -> str:
        return (
            f"PackedGraphs({self.name!r}, graphs={len(self)}, nodes={self.x.shape[0]}, "
            f"edges={self.edge_index.shape[1]}, in_channels={self.in_channels})"
        )

    @cached_property
    def num_classes(self) -> int:
        """Classes of the targets.

        Raises:
            InvalidParameterError: if the targets are floats to regress.
        """
        if self.y.is_floating_point():
            raise InvalidParameterError(
                f"Only targets in int64 have classes. The targets of {self.name!r} are floats to "
                "regress; call .long() on them if they are classes."
            )
        return int(self.y.max()) + 1

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content: attributes, edges, targets; not of the name or the device.

        It is the first 16 hexadecimal digits of a SHA-256 over data type, shape and bytes of every
        tensor, so that two data sets with the same fingerprint hold the same graphs in the same
        order.

        Example:
            >>> from clipgnn.datasets.properties import circular_skip_links
            >>> circular_skip_links(0).fingerprint == circular_skip_links(1).fingerprint
            False
        """
        digest = sha256()
        for part in (
            self.x,
            torch.tensor([self.in_channels]),
            self.edge_index,
            self.node_pointers,
            self.edge_pointers,
            self.y,
            self.edge_attr,
        ):
            if part is None:
                digest.update(b"None\0")
                continue
            digest.update(f"{part.dtype} {list(part.shape)}\0".encode())
            # As bytes, because NumPy does not have all data types of torch.
            digest.update(part.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
        return digest.hexdigest()[:16]

    @cached_property
    def graph_of_node(self) -> Tensor:
        """The graph of each node."""
        graphs = torch.arange(len(self), device=self.device)
        return graphs.repeat_interleave(self.node_pointers.diff())

    @cached_property
    def edges_through(self) -> Tensor:
        """The edges `[2, edges]` with nodes numbered through the whole data set."""
        first = self.node_pointers[:-1].repeat_interleave(self.edge_pointers.diff())
        return self.edge_index + first

    def check_undirected(self) -> None:
        """Check that every edge is stored in both directions.

        Raises:
            InvalidGraphError: if one does not.
        """
        source, target = self.edges_through
        if not torch.equal(
            torch.sort(source * self.x.shape[0] + target).values,
            torch.sort(target * self.x.shape[0] + source).values,
        ):
            raise InvalidGraphError(
                "The graphs must be undirected, every edge stored in both directions. Got one in "
                f"{self.name!r} that is not."
            )

    def attributes(self) -> Tensor:
        """Attributes of the nodes as floats `[nodes, channels]`; labels become one-hot rows."""
        if self.x.dim() == 1:
            return functional.one_hot(self.x, self.in_channels).to(torch.get_default_dtype())
        return self.x

    @property
    def device(self) -> torch.device:
        """Where the tensors lie."""
        return self.x.device

    def to(self, device: torch.device | str) -> "PackedGraphs":
        """The same graphs on another device."""
        # Not through the constructor: what was checked once need not be checked again.
        moved = object.__new__(PackedGraphs)
        for field in fields(self):
            value = getattr(self, field.name)
            value = value.to(device) if isinstance(value, Tensor) else value
            object.__setattr__(moved, field.name, value)
        return moved

    def with_floats(self, dtype: torch.dtype) -> "PackedGraphs":
        """The same graphs with their floats (attributes and targets) in this dtype.

        Raises:
            InvalidGraphError: if a number is too large for the dtype.
        """
        converted: dict[str, Any] = {
            field.name: value.to(dtype)
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), Tensor) and value.is_floating_point()
        }
        return replace(self, **converted)

    def simplify(self) -> "PackedGraphs":
        """The same graphs without self-loops and duplicate edges.

        Of duplicate edges the first one remains, with its attributes. The order of the remaining
        edges does not change.

        Example:
            >>> from torch_geometric.data import Data
            >>> edges = torch.tensor([[0, 1, 0, 1, 1], [1, 0, 1, 0, 1]])
            >>> graph = Data(edge_index=edges, num_nodes=2, y=torch.tensor([0]))
            >>> PackedGraphs.from_data_list([graph]).simplify().edge_index
            tensor([[0, 1],
                    [1, 0]])
        """
        source, target = self.edges_through
        keys, order = torch.sort(source * self.x.shape[0] + target, stable=True)
        first = torch.ones_like(keys, dtype=torch.bool)
        first[1:] = keys[1:] != keys[:-1]
        keep = torch.zeros_like(first).scatter_(0, order, first) & (source != target)
        return replace(
            self,
            edge_index=self.edge_index[:, keep],
            edge_pointers=running_sum(keep.long())[self.edge_pointers],
            edge_attr=None if self.edge_attr is None else self.edge_attr[keep],
        )

    @classmethod
    def from_data_list(
        cls, graphs: Iterable["torch_geometric.data.Data"], name: str = "graphs"
    ) -> "PackedGraphs":
        """Pack graphs of PyG: their `x`, `edge_index`, `edge_attr` and `y`, nothing else.

        Nodes without attributes all get the same label. Duplicate edges and self-loops are kept;
        `simplify` removes them.

        Raises:
            InvalidGraphError: if there are none, one is not a graph or has edge weights, or they do
                not have the same kinds of attributes and targets. The message names the graph.
        """
        return cls(name=name, **flat_tensors(graphs))

    def to_data_list(self) -> list["torch_geometric.data.Data"]:
        """The graphs as PyG has them; labels become one-hot attributes."""
        from torch_geometric.data import Data

        x = self.attributes()
        nodes, edges = self.node_pointers.tolist(), self.edge_pointers.tolist()
        result = []
        for graph in range(len(self)):
            own = slice(edges[graph], edges[graph + 1])
            data = Data(
                x=x[nodes[graph] : nodes[graph + 1]],
                edge_index=self.edge_index[:, own],
                y=self.y[graph : graph + 1],
            )
            if self.edge_attr is not None:
                data.edge_attr = self.edge_attr[own]
            result.append(data)
        return result

    def batch(self, chosen: Tensor) -> GraphBatch:
        """The chosen graphs as one batch, assembled on the device without a loop.

        Args:
            chosen: int64 numbers of graphs, in any order, with or without repeats.

        Raises:
            InvalidParameterError: if `chosen` is not such a tensor, or a number is out of range.
        """
        if not isinstance(chosen, Tensor) or chosen.dtype != torch.int64 or chosen.dim() != 1:
            raise InvalidParameterError(
                "chosen must be an int64 tensor of numbers of graphs, with one axis. Got "
                f"{describe(chosen)}. A mask becomes one with .nonzero().flatten()."
            )
        check_plain("chosen", chosen, InvalidParameterError)
        check_range("chosen", chosen, len(self))
        nodes, graph_of_node, first = _members(self.node_pointers, chosen)
        edges, graph_of_edge, _ = _members(self.edge_pointers, chosen)
        source, target = self.edge_index[:, edges] + first[graph_of_edge]
        attributes = None if self.edge_attr is None else self.edge_attr[edges]
        return GraphBatch(
            x=self.x[nodes],
            graph_of_node=graph_of_node,
            num_graphs=chosen.numel(),
            edges=Edges.between(source, target, nodes.numel(), None, attributes),
        )


def _members(starts: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """All nodes (or edges) of the chosen graphs.

    Returns:
        Their numbers in the data set, which of the chosen graphs each is in, and where each chosen
        graph begins among them.
    """
    begin = starts[:-1][chosen]
    counts = starts[1:][chosen] - begin
    place = torch.arange(chosen.numel(), device=chosen.device).repeat_interleave(counts)
    first = counts.cumsum(0) - counts
    number = torch.arange(place.numel(), device=chosen.device)
    return number + (begin - first)[place], place, first
