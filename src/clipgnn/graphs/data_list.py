"""Conversion of a list of PyG's `Data` to the flat tensors of a data set.

Types and shapes are checked for each graph. `PackedGraphs` checks values (edges in range, finite
numbers) for all graphs together.
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
    check_dense,
    check_edge_index,
    check_node_attributes,
    check_row_type,
)
from clipgnn.graphs.formats.listing import listed
from clipgnn.graphs.packed_checks import with_classes
from clipgnn.ops.pointers import pointers_from_counts

MAX_NODES = 10**8
"""Largest `num_nodes` of a graph, because it is given as a number, without rows of x."""

if TYPE_CHECKING:  # importing PyG takes seconds
    from torch_geometric.data import Data


def flat_tensors(graphs: Iterable["Data"], *, with_targets: bool = True) -> dict[str, Any]:
    """Concatenate the tensors of graphs; the keys are fields of `PackedGraphs`.

    Args:
        graphs: the graphs.
        with_targets: whether to read `y`.

    Raises:
        InvalidGraphError: if there are no graphs, one is not a graph, or they do not have the same
            kinds of attributes and targets. The message names the graph.
    """
    from torch_geometric.data import Data

    graphs = listed(graphs, Data, "torch_geometric.data.Data")
    node_counts = []
    for number, graph in enumerate(graphs):
        try:
            node_counts.append(_check_graph(graph, with_targets=with_targets))
        except InvalidGraphError as error:
            raise InvalidGraphError(f"Graph {number}: {error}") from error
    edge_index = _joined("edge_index", [graph.edge_index for graph in graphs], dim=1)
    device = edge_index.device
    edge_counts = [graph.edge_index.shape[1] for graph in graphs]
    if all(graph.x is None for graph in graphs):
        x = torch.zeros(sum(node_counts), dtype=torch.int64, device=device)
    else:
        x = _joined("x", [graph.x for graph in graphs], dim=0)
    node_pointers = pointers_from_counts(torch.tensor(node_counts, device=device))
    check_node_attributes(x, pointers=node_pointers)
    return {
        "x": x,
        "in_channels": int(x.max()) + 1 if x.dim() == 1 else x.shape[1],
        "edge_index": edge_index,
        "node_pointers": node_pointers,
        "edge_pointers": pointers_from_counts(torch.tensor(edge_counts, device=device)),
        "y": _targets(graphs) if with_targets else None,
        "edge_attr": _optional("edge_attr", graphs),
        "edge_weight": _optional("edge_weight", graphs),
        "graph_attr": _optional("graph_attr", graphs),
    }


def _optional(name: str, graphs: Sequence["Data"]) -> Tensor | None:
    """The rows of all graphs; None if no graph has them."""
    parts = [getattr(graph, name, None) for graph in graphs]
    return None if all(part is None for part in parts) else _joined(name, parts, dim=0)


def _check_graph(graph: "Data", *, with_targets: bool) -> int:
    """Check the types and shapes of the tensors of a graph, and return its number of nodes."""
    from torch_geometric.data import Batch

    if isinstance(graph, Batch):
        raise InvalidGraphError(
            f"it must be one graph. Got a batch of {graph.num_graphs}. Use its to_data_list()."
        )
    if graph.edge_index is None:
        raise InvalidGraphError(
            "edge_index must be given. Got none. Use torch.zeros(2, 0, dtype=torch.int64) for a "
            "graph without edges."
        )
    check_edge_index(graph.edge_index)
    if graph.x is not None:
        check_attribute_type(graph.x)
    if graph.edge_attr is not None:
        check_row_type("edge_attr", graph.edge_attr, [graph.edge_index.shape[1], None], "edge")
    if "edge_weight" in graph and graph["edge_weight"] is not None:
        check_row_type("edge_weight", graph["edge_weight"], [graph.edge_index.shape[1]], "edge")
    if "graph_attr" in graph and graph["graph_attr"] is not None:
        check_row_type("graph_attr", graph["graph_attr"], [1, None], "graph")
    if with_targets and graph.y is not None:
        _check_target(graph.y)
    return _num_nodes(graph)


def _num_nodes(graph: "Data") -> int:
    count = None
    if "num_nodes" in graph:
        count = graph["num_nodes"]
    if count is None:
        count = graph.num_nodes if graph.x is None else graph.x.shape[0]
    integer = isinstance(count, Integral) and not isinstance(count, bool)
    if not integer or not 0 <= count <= MAX_NODES:
        raise InvalidGraphError(
            f"num_nodes must be an integer from 0 to {MAX_NODES:,}, or x must be given. "
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
        raise InvalidGraphError(
            f"y must be a tensor with one row. Got {type(y).__name__}. Use torch.tensor([1]), for "
            "example."
        )
    check_dense("y", y)
    if y.dtype not in FLOATS and (y.is_floating_point() or y.is_complex()):
        raise InvalidGraphError(
            "y must be a class (an integer) or floats to regress of 16 to 64 bits. Got "
            f"{str(y.dtype).removeprefix('torch.')}."
        )
    if y.dim() > 0 and y.numel() == 0 and y.shape[0] == 1:
        raise InvalidGraphError(f"y must have at least one target. Got the shape {list(y.shape)}.")
    if y.dim() > 0 and y.shape[0] != 1:
        raise InvalidGraphError(
            f"y must have one row. Got {y.shape[0]} rows. Use the shape [1, targets] for several "
            "targets of a graph."
        )


def _joined(name: str, parts: Sequence[Tensor | None], dim: int) -> Tensor:
    """Concatenate and detach tensors, which must have the dtype and channels of the first."""
    present: list[Tensor] = []
    for number, part in enumerate(parts):
        if part is None:
            raise InvalidGraphError(
                f"Graph {number}: {name} must be given for all graphs or for none. Got None."
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


def _targets(graphs: Sequence["Data"]) -> Tensor | None:
    """Concatenate the targets: classes in int64, or floats, with a row for each graph."""
    parts = [graph.y for graph in graphs]
    if all(part is None for part in parts):
        return None
    rows = [part.view(1) if part is not None and part.dim() == 0 else part for part in parts]
    y = _joined("y", rows, dim=0)
    if y.dim() == 2 and y.shape[1] == 1:
        y = y[:, 0]
    return with_classes(y)
