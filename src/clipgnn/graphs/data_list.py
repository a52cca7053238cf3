"""From a list of PyG's `Data` to the flat tensors of a data set, every graph checked by itself.

Only types and shapes are checked graph by graph. Values (edges in range, finite numbers) are
checked for all graphs at once by `PackedGraphs`.
"""

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from clipgnn.errors import InvalidGraphError, shown
from clipgnn.graphs.checks import (
    FLOATS,
    check_attribute_type,
    check_edge_index,
    check_node_attributes,
    check_plain,
    check_row_type,
)
from clipgnn.graphs.packed_checks import with_classes
from clipgnn.graphs.sparse import running_sum

MOST_NODES = 10**8
"""Nodes of one graph. `num_nodes` is a number that anybody can write; rows of x must exist."""

if TYPE_CHECKING:  # PyG takes seconds to import, and only those who use its classes need it
    from torch_geometric.data import Data


def flat_tensors(graphs: Iterable["Data"]) -> dict[str, Any]:
    """Join the tensors of graphs; the keys are fields of `PackedGraphs`.

    Raises:
        InvalidGraphError: if there are no graphs, one is not a graph, or they do not have the same
            kinds of attributes and targets. The message names the graph.
    """
    graphs = _as_list(graphs)
    node_counts = []
    for number, graph in enumerate(graphs):
        try:
            node_counts.append(_check_graph(graph))
        except InvalidGraphError as error:
            raise InvalidGraphError(f"Graph {number}: {error}") from error
    edge_index = _joined("edge_index", [graph.edge_index for graph in graphs], dim=1)
    device = edge_index.device
    edge_counts = [graph.edge_index.shape[1] for graph in graphs]
    if all(graph.x is None for graph in graphs):
        x = torch.zeros(sum(node_counts), dtype=torch.int64, device=device)
    else:
        x = _joined("x", [graph.x for graph in graphs], dim=0)
    node_pointers = running_sum(torch.tensor(node_counts, device=device))
    check_node_attributes(x, pointers=node_pointers)
    edge_attr = None
    if any(graph.edge_attr is not None for graph in graphs):
        edge_attr = _joined("edge_attr", [graph.edge_attr for graph in graphs], dim=0)
    return {
        "x": x,
        "in_channels": int(x.max()) + 1 if x.dim() == 1 else x.shape[1],
        "edge_index": edge_index,
        "node_pointers": node_pointers,
        "edge_pointers": running_sum(torch.tensor(edge_counts, device=device)),
        "y": _targets([graph.y for graph in graphs]),
        "edge_attr": edge_attr,
    }


def _as_list(graphs: Iterable["Data"]) -> list["Data"]:
    from torch_geometric.data import Data

    advice = (
        "A networkx graph becomes one with torch_geometric.utils.from_networkx, and a single graph "
        "a list of one."
    )
    if isinstance(graphs, Data | str) or not isinstance(graphs, Iterable):
        raise InvalidGraphError(
            "graphs must be a list of torch_geometric.data.Data. Got a single "
            f"{type(graphs).__name__}. {advice}"
        )
    listed = list(graphs)
    if not listed:
        raise InvalidGraphError("A data set must have at least one graph. Got none.")
    for number, graph in enumerate(listed):
        if not isinstance(graph, Data):
            raise InvalidGraphError(
                f"Graph {number}: it must be a torch_geometric.data.Data. Got "
                f"{type(graph).__name__}. {advice}"
            )
    return listed


def _check_graph(graph: "Data") -> int:
    """Check that rows, edges and target belong to this graph alone, and count its nodes."""
    if graph.edge_index is None:
        raise InvalidGraphError(
            "edge_index must be given. Got none. A graph without edges has "
            "torch.zeros(2, 0, dtype=torch.int64)."
        )
    check_edge_index(graph.edge_index)
    if "edge_weight" in graph and graph["edge_weight"] is not None:
        raise InvalidGraphError(
            "a data set has no edge weights yet. Got edge_weight. Remove it (del "
            "data.edge_weight), put it into edge_attr, or give it to CLIP.forward directly."
        )
    if graph.x is not None:
        check_attribute_type(graph.x)
    if graph.edge_attr is not None:
        check_row_type("edge_attr", graph.edge_attr, [graph.edge_index.shape[1], None], "edge")
    _check_target(graph.y)
    return _num_nodes(graph)


def _num_nodes(graph: "Data") -> int:
    count = None
    if "num_nodes" in graph:
        count = graph["num_nodes"]
    if count is None:
        count = graph.num_nodes if graph.x is None else graph.x.shape[0]
    integer = isinstance(count, Integral) and not isinstance(count, bool)
    if not integer or not 0 <= count <= MOST_NODES:
        raise InvalidGraphError(
            f"num_nodes must be an integer from 0 to {MOST_NODES:,}, or x must be given. "
            f"Got {shown(count)}."
        )
    if graph.x is not None and graph.x.shape[0] != count:
        raise InvalidGraphError(
            f"x must have a row for each of the {count} nodes (num_nodes). Got "
            f"{graph.x.shape[0]} rows."
        )
    return int(count)


def _check_target(y: object) -> None:
    if not isinstance(y, Tensor):
        got = "none" if y is None else f"{type(y).__name__}"
        raise InvalidGraphError(
            f"y must be a tensor with one row, such as torch.tensor([1]). Got {got}."
        )
    check_plain("y", y)
    if y.dtype not in FLOATS and (y.is_floating_point() or y.is_complex()):
        raise InvalidGraphError(
            "y must be a class (an integer) or floats to regress of 16 to 64 bits. Got "
            f"{str(y.dtype).removeprefix('torch.')}."
        )
    if y.dim() > 0 and y.numel() == 0 and y.shape[0] == 1:
        raise InvalidGraphError(
            f"y must have at least one target. Got none, in shape {list(y.shape)}."
        )
    if y.dim() > 0 and y.shape[0] != 1:
        raise InvalidGraphError(
            f"y must have one row. Got {y.shape[0]} rows; several targets of a graph must be in "
            "one row, [1, targets]."
        )


def _joined(name: str, parts: Sequence[Tensor | None], dim: int) -> Tensor:
    """Concatenate and detach, if all graphs have it with the dtype and channels of the first."""
    present: list[Tensor] = []
    for number, part in enumerate(parts):
        if part is None:
            raise InvalidGraphError(
                f"Graph {number}: every graph of a data set must have {name} if one has. Got none."
            )
        if present and _kind(part, dim) != _kind(present[0], dim):
            raise InvalidGraphError(
                f"Graph {number}: {name} must have one dtype, the same channels and one device in "
                f"all graphs. Got {_kind(part, dim)}, but {_kind(present[0], dim)} in graph 0."
            )
        present.append(part)
    return torch.cat(present, dim).detach()  # a data set has no autograd history


def _kind(part: Tensor, dim: int) -> str:
    channels = [*part.shape[:dim], *part.shape[dim + 1 :]]
    return f"{str(part.dtype).removeprefix('torch.')} {channels} on {part.device}"


def _targets(parts: Sequence[Tensor]) -> Tensor:
    """Classes in int64, or floats, a row for each graph."""
    y = _joined("y", [part.view(1) if part.dim() == 0 else part for part in parts], dim=0)
    if y.dim() == 2 and y.shape[1] == 1:
        y = y[:, 0]
    return with_classes(y)
