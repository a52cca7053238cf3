"""A whole data set as flat tensors, from which a batch is assembled by index arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Data

from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.batch import Edges, GraphBatch
from clipgnn.graphs.sparse import pointers


@dataclass(frozen=True, eq=False)
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

    @cached_property
    def num_classes(self) -> int:
        """Classes of the targets."""
        return int(self.y.max()) + 1

    @cached_property
    def graph_of_node(self) -> Tensor:
        """The graph of each node."""
        graphs = torch.arange(len(self), device=self.x.device)
        return graphs.repeat_interleave(self.node_pointers.diff())

    @property
    def device(self) -> torch.device:
        """Where the tensors lie."""
        return self.x.device

    def to(self, device: torch.device | str) -> "PackedGraphs":
        """The same graphs on another device."""
        moved: dict[str, Any] = {
            field.name: value.to(device) if isinstance(value, Tensor) else value
            for field in fields(self)
            for value in [getattr(self, field.name)]
        }
        return PackedGraphs(**moved)

    @classmethod
    def from_data_list(cls, graphs: Sequence[Data], name: str = "graphs") -> "PackedGraphs":
        """Pack graphs of PyG. Nodes without attributes all get the same one.

        Raises:
            InvalidGraphError: if there are none, or they do not have the same attributes.
        """
        if not graphs:
            raise InvalidGraphError("A data set must have at least one graph. Got none.")
        node_counts = torch.tensor([graph.num_nodes for graph in graphs])
        edge_counts = torch.tensor([graph.edge_index.shape[1] for graph in graphs])
        if all(graph.x is None for graph in graphs):
            x = torch.zeros(int(node_counts.sum()), dtype=torch.int64)
        else:
            x = _joined("x", [graph.x for graph in graphs], dim=0)
        attributes = [graph.edge_attr for graph in graphs]
        has_attributes = any(attribute is not None for attribute in attributes)
        return cls(
            name=name,
            x=x,
            in_channels=int(x.max()) + 1 if x.dim() == 1 else x.shape[1],
            edge_index=_joined("edge_index", [graph.edge_index for graph in graphs], dim=1),
            node_pointers=_running_sum(node_counts),
            edge_pointers=_running_sum(edge_counts),
            y=_joined("y", [graph.y for graph in graphs], dim=0),
            edge_attr=_joined("edge_attr", attributes, dim=0) if has_attributes else None,
        )

    def to_data_list(self) -> list[Data]:
        """The graphs as PyG has them; labels become one-hot attributes."""
        x = self.x
        if x.dim() == 1:
            x = functional.one_hot(x, self.in_channels).to(torch.get_default_dtype())
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
            chosen: numbers of graphs, in any order, with or without repeats.
        """
        nodes, graph_of_node = _members(self.node_pointers, chosen)
        edges, graph_of_edge = _members(self.edge_pointers, chosen)
        first = pointers(graph_of_node, chosen.numel())[:-1]
        source, target = self.edge_index[:, edges] + first[graph_of_edge]
        attributes = None if self.edge_attr is None else self.edge_attr[edges]
        return GraphBatch(
            x=self.x[nodes],
            graph_of_node=graph_of_node,
            num_graphs=chosen.numel(),
            edges=Edges.between(source, target, nodes.numel(), None, attributes),
        )


def _members(starts: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers of all nodes (or edges) of the chosen graphs, and which of the chosen each is in."""
    begin, counts = starts[chosen], starts.diff()[chosen]
    place = torch.arange(chosen.numel(), device=chosen.device).repeat_interleave(counts)
    before = counts.cumsum(0) - counts
    number = torch.arange(place.numel(), device=chosen.device)
    return number - (before - begin)[place], place


def _running_sum(counts: Tensor) -> Tensor:
    return functional.pad(counts.cumsum(0), (1, 0))


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
