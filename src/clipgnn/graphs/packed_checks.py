"""Validation of the flat tensors of a data set, for all graphs together."""

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from clipgnn.errors import InvalidGraphError, shown
from clipgnn.graphs.checks import (
    FLOATS,
    check_dense,
    check_devices,
    check_edge_index,
    check_finite,
    check_node_attributes,
    check_rows,
    describe,
    first_beyond_int64,
)

MAX_CLASSES = 10_000_000
"""Largest number of classes or labels of a data set. A network has weights for each."""


def check_packed(
    x: Tensor,
    in_channels: int,
    edge_index: Tensor,
    node_pointers: Tensor,
    edge_pointers: Tensor,
    y: Tensor | None,
    edge_attr: Tensor | None,
    edge_weight: Tensor | None,
    graph_attr: Tensor | None,
    colorings: Tensor | None,
) -> None:
    """Check that the fields of `PackedGraphs` are consistent.

    Raises:
        InvalidGraphError: if they are not. The message names the graph if it is about one graph.
    """
    optional = (y, edge_attr, edge_weight, graph_attr, colorings)
    check_devices(x, edge_index, node_pointers, edge_pointers, *optional)
    if isinstance(x, Tensor) and x.dim() > 0:  # otherwise check_node_attributes raises
        check_dense("x", x)
        _check_pointers("node_pointers", node_pointers, x.shape[0], "nodes (rows of x)")
    check_node_attributes(x, pointers=node_pointers)
    check_edge_index(edge_index)
    _check_pointers("edge_pointers", edge_pointers, edge_index.shape[1], "edges")
    if node_pointers.numel() != edge_pointers.numel():
        raise InvalidGraphError(
            "node_pointers and edge_pointers must have the same length, the number of graphs plus "
            f"1. Got {node_pointers.numel()} and {edge_pointers.numel()}."
        )
    _check_channels(x, in_channels)
    _check_inside(edge_index, node_pointers, edge_pointers)
    if edge_attr is not None:
        check_rows(
            "edge_attr", edge_attr, [edge_index.shape[1], None], "edge", pointers=edge_pointers
        )
    if edge_weight is not None:
        check_rows(
            "edge_weight", edge_weight, [edge_index.shape[1]], "edge", pointers=edge_pointers
        )
    num_graphs = node_pointers.numel() - 1
    if graph_attr is not None:
        check_rows("graph_attr", graph_attr, [num_graphs, None], "graph")
    if colorings is not None:
        _check_colorings(colorings, x.shape[0])
    if y is not None:
        check_targets(y, num_graphs)


def with_classes(y: Tensor) -> Tensor:
    """Convert integer targets, or booleans, to classes in int64; return all others unchanged.

    Raises:
        InvalidGraphError: if a target is too large for int64. The message names the graph.
    """
    if y.is_floating_point() or y.is_complex() or y.is_quantized:
        return y
    if (wrapped := first_beyond_int64(y)) is not None:
        raise _not_a_class(*wrapped)
    return y.long()


def targets_of(y: ArrayLike | Tensor) -> Tensor:
    """Convert the targets of a user: integers to classes, floats to the default dtype.

    Raises:
        InvalidGraphError: if they are not numbers.
    """
    if isinstance(y, Tensor):
        return with_classes(y)
    try:
        values = np.asarray(y)
    except ValueError as error:  # rows of several lengths
        raise InvalidGraphError(
            f"y must have the same number of targets for each graph. Got {shown(y)}."
        ) from error
    if values.dtype.kind not in "biuf":
        example = values.flat[0] if values.size else "nothing"
        if isinstance(example, np.generic):
            example = example.item()
        raise InvalidGraphError(
            f"y must be classes as integers, or floats. Got {shown(example)} in an array of "
            f"{values.dtype}. Number the classes with np.unique(y, return_inverse=True)[1]."
        )
    if values.dtype.kind == "f":
        return torch.from_numpy(values.copy()).to(torch.get_default_dtype())
    return with_classes(torch.from_numpy(values.copy()))


def check_targets(y: Tensor, num_graphs: int | None = None) -> None:
    """Check that targets are classes `[graphs]` in int64, or floats, a row for each graph.

    NaN is a missing target. Infinite targets are not valid.

    Raises:
        InvalidGraphError: if they are not. The message names the graph.
    """
    classes = isinstance(y, Tensor) and y.dtype == torch.int64 and y.dim() == 1
    numbers = isinstance(y, Tensor) and y.dtype in FLOATS and y.dim() in (1, 2)
    numbers = numbers and 0 not in y.shape[1:]
    if not classes and not numbers:
        raise InvalidGraphError(
            "y must be int64 classes [graphs], or floats to regress, [graphs] or "
            f"[graphs, targets]. Got {describe(y)}."
        )
    check_dense("y", y)
    if num_graphs is not None and y.shape[0] != num_graphs:
        raise InvalidGraphError(
            f"y must have one row for each of the {num_graphs} graphs. Got {y.shape[0]}."
        )
    if numbers:
        known = torch.where(y.isnan(), 0, y)
        check_finite("y", known, pointers=torch.arange(y.shape[0] + 1, device=y.device))
        return
    wrong = ((y < 0) | (y >= MAX_CLASSES)).nonzero()
    if wrong.numel():
        graph = int(wrong[0])
        raise _not_a_class(graph, int(y[graph]))


def _not_a_class(graph: int, got: int) -> InvalidGraphError:
    return InvalidGraphError(
        f"Graph {graph}: y must be a class from 0 to {MAX_CLASSES - 1:,}, or a float to regress. "
        f"Got {got}. Number the classes with torch.unique(y, return_inverse=True)[1]."
    )


def _check_colorings(colorings: Tensor, num_nodes: int) -> None:
    if isinstance(colorings, Tensor):
        check_dense("colorings", colorings)
    fits = isinstance(colorings, Tensor) and colorings.dtype == torch.int64
    if not fits or colorings.dim() != 2 or colorings.shape[1] != num_nodes:
        raise InvalidGraphError(
            f"colorings must be an int64 tensor [colorings, {num_nodes}]. Got "
            f"{describe(colorings)}."
        )
    if colorings.numel() == 0 or int(colorings.min()) < 0:
        raise InvalidGraphError(
            "colorings must have at least one row, and colors of at least 0. Got "
            f"{describe(colorings) if colorings.numel() == 0 else int(colorings.min())}."
        )


def _check_pointers(name: str, pointers: Tensor, end: int, of_what: str) -> None:
    if not isinstance(pointers, Tensor) or pointers.dtype != torch.int64 or pointers.dim() != 1:
        raise InvalidGraphError(
            f"{name} must be an int64 tensor [graphs + 1]. Got {describe(pointers)}."
        )
    check_dense(name, pointers)
    if pointers.numel() < 2:
        raise InvalidGraphError(
            f"A data set must have at least one graph, so {name} must have at least two entries. "
            f"Got {pointers.numel()}."
        )
    if int(pointers[0]) != 0 or int(pointers[-1]) != end or bool((pointers.diff() < 0).any()):
        raise InvalidGraphError(
            f"{name} must ascend from 0 to the number of {of_what}, {end}. Got "
            f"{int(pointers[0])} to {int(pointers[-1])}, the smallest step "
            f"{int(pointers.diff().min())}."
        )


def _check_channels(x: Tensor, in_channels: int) -> None:
    if isinstance(in_channels, bool) or not isinstance(in_channels, int) or in_channels < 1:
        raise InvalidGraphError(
            f"in_channels must be an integer of at least 1. Got {shown(in_channels)}. Use labels "
            "torch.zeros(nodes, dtype=torch.int64) for nodes without attributes."
        )
    if x.dim() == 2 and x.shape[1] != in_channels:
        raise InvalidGraphError(
            f"x must have in_channels={shown(in_channels)} channels. Got {x.shape[1]}."
        )
    if x.dim() == 1 and (int(x.max()) >= in_channels or in_channels > MAX_CLASSES):
        raise InvalidGraphError(
            f"Labels must be less than in_channels, which must be at most {MAX_CLASSES:,}. Got "
            f"label {int(x.max())} and in_channels={shown(in_channels)}. Number the labels with "
            "torch.unique(x, return_inverse=True)[1]."
        )


def _check_inside(edge_index: Tensor, node_pointers: Tensor, edge_pointers: Tensor) -> None:
    """Check that edges have nodes of their graph. In a batch, others would connect two graphs."""
    sizes = node_pointers.diff()
    graphs = torch.arange(sizes.numel(), device=sizes.device)
    graph_of_edge = graphs.repeat_interleave(edge_pointers.diff())
    outside = (edge_index < 0) | (edge_index >= sizes[graph_of_edge])
    if bool(outside.any()):
        edge = int(outside.any(0).nonzero()[0])
        graph, node = int(graph_of_edge[edge]), int(edge_index[:, edge][outside[:, edge]][0])
        size = int(sizes[graph])
        rule = f"have nodes from 0 to {size - 1}" if size else "be empty, as the graph has no nodes"
        raise InvalidGraphError(f"Graph {graph}: edge_index must {rule}. Got node {node}.")
