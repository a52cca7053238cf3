"""A whole data set as flat tensors, from which a batch is assembled by index arithmetic."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.graphs.batch import Edges, GraphBatch
from clipgnn.graphs.checks import check_edges, check_node_attributes, check_rows

if TYPE_CHECKING:  # PyG takes seconds to import, and only those who use its classes need it
    import torch_geometric.data


@dataclass(frozen=True, eq=False, repr=False)
class PackedGraphs:
    """Graphs end to end: nodes and edges of graph g stand between two pointers.

    Attributes:
        name: what the data set is called.
        x: attributes `[nodes, channels]`, or integer labels `[nodes]` that stand for one-hot rows.
        in_channels: channels of the attributes; as many as labels can occur.
        edge_index: `[2, edges]`, nodes numbered inside their graph.
        node_pointers: `[graphs + 1]`.
        edge_pointers: `[graphs + 1]`.
        y: target of each graph: classes `[graphs]` in int64, or floats to regress.
        edge_attr: `[edges, channels]`, or None.
    """

    name: str
    x: Tensor
    in_channels: int
    edge_index: Tensor
    node_pointers: Tensor
    edge_pointers: Tensor
    y: Tensor
    edge_attr: Tensor | None = None

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
            >>> from clipgnn.graphs.properties import circular_skip_links
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
        """Does every edge stand in the data set both ways?

        Raises:
            InvalidGraphError: if one does not.
        """
        source, target = self.edges_through
        if not torch.equal(
            torch.sort(source * self.x.shape[0] + target).values,
            torch.sort(target * self.x.shape[0] + source).values,
        ):
            raise InvalidGraphError(
                "Graphs of an experiment must be undirected: every edge stands in them both ways. "
                f"Got one in {self.name!r} that does not."
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
        moved: dict[str, Any] = {
            field.name: value.to(device)
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), Tensor)
        }
        return replace(self, **moved)

    @classmethod
    def from_data_list(
        cls, graphs: Iterable["torch_geometric.data.Data"], name: str = "graphs"
    ) -> "PackedGraphs":
        """Pack graphs of PyG: their `x`, `edge_index`, `edge_attr` and `y`, nothing else.

        Nodes without attributes all get the same label.

        Raises:
            InvalidGraphError: if there are none, one is no graph, or they do not have the same
                kinds of attributes and targets.
        """
        graphs = list(graphs)
        if not graphs:
            raise InvalidGraphError("A data set must have at least one graph. Got none.")
        for number, graph in enumerate(graphs):
            _check_edges(graph, number)
        edge_index = _joined("edge_index", [graph.edge_index for graph in graphs], dim=1)
        node_counts = torch.tensor([graph.num_nodes for graph in graphs], device=edge_index.device)
        edge_counts = torch.tensor(
            [graph.edge_index.shape[1] for graph in graphs], device=edge_index.device
        )
        if all(graph.x is None for graph in graphs):
            x = torch.zeros(int(node_counts.sum()), dtype=torch.int64, device=edge_index.device)
        else:
            x = _joined("x", [graph.x for graph in graphs], dim=0)
        check_node_attributes(x)
        edge_attr = None
        if any(graph.edge_attr is not None for graph in graphs):
            edge_attr = _joined("edge_attr", [graph.edge_attr for graph in graphs], dim=0)
            check_rows("edge_attr", edge_attr, [edge_index.shape[1], None], "edge")
        return cls(
            name=name,
            x=x,
            in_channels=int(x.max()) + 1 if x.dim() == 1 else x.shape[1],
            edge_index=edge_index,
            node_pointers=running_sum(node_counts),
            edge_pointers=running_sum(edge_counts),
            y=_targets([graph.y for graph in graphs]),
            edge_attr=edge_attr,
        )

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
            InvalidParameterError: if `chosen` is no such tensor.
        """
        if chosen.dtype != torch.int64 or chosen.dim() != 1:
            raise InvalidParameterError(
                "Chosen graphs must be an int64 tensor of their numbers, with one axis. Got "
                f"{chosen.dtype} of shape {list(chosen.shape)}. A mask becomes one with "
                ".nonzero().flatten()."
            )
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


def running_sum(counts: Tensor) -> Tensor:
    """Pointers from counts: where each segment begins, and where the last one ends."""
    return functional.pad(counts.cumsum(0), (1, 0))


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


def _joined(name: str, parts: Sequence[Tensor | None], dim: int) -> Tensor:
    present = [part for part in parts if part is not None]
    if len(present) < len(parts):
        raise InvalidGraphError(
            f"Every graph of a data set must have {name}. "
            f"Got {len(parts) - len(present)} without it."
        )
    kinds = {f"{part.dtype} {[*part.shape[:dim], *part.shape[dim + 1 :]]}" for part in present}
    if len(kinds) > 1:
        raise InvalidGraphError(
            f"{name} must have one dtype and the same channels in all graphs. "
            f"Got {' and '.join(sorted(kinds))}."
        )
    return torch.cat(present, dim)


def _targets(parts: Sequence[Tensor | None]) -> Tensor:
    """Classes in int64, or floats, a row for each graph."""
    rows = [part.view(1) if part is not None and part.dim() == 0 else part for part in parts]
    y = _joined("y", rows, dim=0)
    if y.shape[0] != len(parts):
        raise InvalidGraphError(
            f"y must have one row for each graph. Got {y.shape[0]} rows for {len(parts)} graphs; "
            "several targets of a graph stand in one row, [1, targets]."
        )
    if y.dim() == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.is_floating_point():
        return y
    if y.dim() != 1 or int(y.min()) < 0:
        raise InvalidGraphError(
            "y must be one class for each graph, counted from 0, or floats to regress. Got "
            f"integers of shape {list(y.shape)}, the smallest {int(y.min())}."
        )
    return y.long()


def _check_edges(graph: "torch_geometric.data.Data", number: int) -> None:
    """Edges name nodes of their own graph: a batch would join others to the next graph's."""
    if graph.edge_index is None:
        return  # _joined says how many are without
    try:
        check_edges(graph.edge_index, graph.num_nodes)
    except InvalidGraphError as error:
        raise InvalidGraphError(f"Graph {number}: {error}") from error
