"""Validation of the tensors of a batch of graphs."""

import torch
from torch import Tensor

from clipgnn.errors import ClipGNNError, InvalidGraphError, shown

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""Floating-point types that torch can compute with; it can only store smaller ones."""

MAX_EMPTY_GRAPHS = 10_000_000
"""Largest number of graphs without nodes in a batch. Every graph takes memory."""


def check_dense(
    name: str, values: Tensor, error: type[ClipGNNError] = InvalidGraphError, fix: str | None = None
) -> None:
    """Check that a tensor is dense and has values.

    Args:
        name: name of the tensor in the message.
        values: the tensor.
        error: class of the error to raise.
        fix: fix for a sparse tensor in the message; by default `.to_dense()`.

    Raises:
        ClipGNNError: if it is sparse, nested, quantized, or on the meta device.
    """
    if values.layout != torch.strided:
        got, fix = f"a sparse one ({values.layout})", fix or f"Use {name}.to_dense()."
    elif values.is_nested:
        got, fix = "a nested one", "Concatenate its parts."
    elif values.is_quantized:
        got, fix = "a quantized one", f"Use {name}.dequantize()."
    elif values.is_meta:
        got, fix = "one on the meta device", "Create it on the CPU or a GPU."
    else:
        return
    raise error(f"{name} must be a dense tensor with values. Got {got}. {fix}")


def check_node_attributes(x: Tensor, *, pointers: Tensor | None = None) -> None:
    """Check that attributes are finite floats `[nodes, channels]`, or integer labels `[nodes]`.

    Args:
        x: the attributes.
        pointers: first row of each graph, to name the graph in the message.

    Raises:
        InvalidGraphError: if they are neither, are not finite, or if there are no nodes.
    """
    check_attribute_type(x)
    if x.shape[0] == 0:
        raise InvalidGraphError("A batch must have at least one node. Got x with no rows.")
    if x.is_floating_point():
        check_finite("x", x, pointers=pointers)
    elif int(x.min()) < 0:
        row = int((x < 0).nonzero()[0])
        graph, row_in_graph = _locate(row, pointers)
        raise InvalidGraphError(
            f"{graph}Labels must not be negative. Got {int(x[row])} in row {row_in_graph}."
        )


def check_attribute_type(x: object) -> None:
    """Check that attributes are floats `[nodes, channels]` or integer labels `[nodes]`.

    Raises:
        InvalidGraphError: if they are neither.
    """
    if not isinstance(x, Tensor):
        raise InvalidGraphError(
            f"x must be a torch.Tensor. Got {type(x).__name__} instead. "
            "Use torch.ones(num_nodes, 1) for nodes without attributes."
        )
    check_dense("x", x)
    labels = x.dim() == 1 and x.dtype == torch.int64
    if not labels and not (x.dim() == 2 and x.dtype in FLOATS):
        raise InvalidGraphError(
            "x must be floating-point attributes [nodes, channels] or int64 labels [nodes]. "
            f"Got {describe(x)} instead. Use x.float(), or x.long() with one axis for labels."
        )


def check_edge_index(edge_index: Tensor) -> None:
    """Check that edges are int64 `[2, edges]`.

    Raises:
        InvalidGraphError: if they are not.
    """
    if isinstance(edge_index, Tensor):
        fix = "Use torch_geometric.utils.to_edge_index(adjacency)[0] for an adjacency matrix."
        check_dense("edge_index", edge_index, fix=fix)
    if not isinstance(edge_index, Tensor) or edge_index.dtype != torch.int64:
        raise InvalidGraphError(
            f"edge_index must be an int64 tensor. Got {describe(edge_index)} instead. "
            "Use edge_index.long()."
        )
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise InvalidGraphError(
            f"edge_index must have shape [2, edges]. Got {list(edge_index.shape)} instead. "
            "Use adjacency.nonzero().t() for a dense adjacency matrix."
        )


def check_edges(edge_index: Tensor, num_nodes: int) -> None:
    """Check that edges are int64 `[2, edges]` with valid node indices.

    Raises:
        InvalidGraphError: if they are not.
    """
    check_edge_index(edge_index)
    if edge_index.numel() == 0:
        return
    low, high = int(edge_index.min()), int(edge_index.max())
    if low < 0 or high >= num_nodes:
        raise InvalidGraphError(
            f"edge_index must have nodes from 0 to {num_nodes - 1} (x has {num_nodes} rows). "
            f"Got node {low if low < 0 else high}."
        )


def check_batch(batch: Tensor | None, num_nodes: int, batch_size: int | None = None) -> None:
    """Check that the batch vector is int64 `[nodes]`, ascending from 0, up to `batch_size` - 1.

    None stands for one graph.

    Raises:
        InvalidGraphError: if it is not.
    """
    if batch_size is not None and (isinstance(batch_size, bool) or not isinstance(batch_size, int)):
        raise InvalidGraphError(f"batch_size must be an integer or None. Got {shown(batch_size)}.")
    if batch is None:
        if batch_size not in (None, 1):
            raise InvalidGraphError(
                "batch must be given for several graphs. Got batch_size "
                f"{shown(batch_size)} and no batch."
            )
        return
    if not isinstance(batch, Tensor) or batch.dtype != torch.int64 or batch.dim() != 1:
        raise InvalidGraphError(
            f"batch must be an int64 tensor with one axis. Got {describe(batch)} instead."
        )
    check_dense("batch", batch)
    if batch.numel() != num_nodes:
        raise InvalidGraphError(
            f"batch must have an entry for each of the {num_nodes} nodes. Got {batch.numel()} "
            "entries."
        )
    if bool((batch[1:] < batch[:-1]).any()):
        raise InvalidGraphError(
            "batch must be sorted. Got a smaller entry after a larger one. "
            "Sort x, edge_index and batch by graph."
        )
    if num_nodes and int(batch[0]) < 0:
        raise InvalidGraphError(f"batch must not be negative. Got {int(batch[0])}.")
    last = int(batch[-1]) if num_nodes else 0
    if max(last, (batch_size or 0) - 1) >= num_nodes + MAX_EMPTY_GRAPHS:
        raise InvalidGraphError(
            "batch must number the graphs from 0 without large gaps: at most "
            f"{MAX_EMPTY_GRAPHS:,} graphs can be without nodes. Got graph {last} and batch_size "
            f"{shown(batch_size)} for {num_nodes} nodes. Renumber the graphs with "
            "torch.unique(batch, return_inverse=True)[1]."
        )
    if batch_size is not None and num_nodes and last >= batch_size:
        raise InvalidGraphError(
            f"batch_size must be greater than every entry of batch. Got batch_size "
            f"{batch_size} and graph {last}."
        )


def check_rows(
    name: str,
    values: Tensor,
    shape: list[int | None],
    per: str,
    *,
    pointers: Tensor | None = None,
) -> None:
    """Check that values are finite floats of a shape, with a row for each edge or graph.

    Args:
        name: name of the values in the message.
        values: the values.
        shape: the required shape; None for any size.
        per: "edge" or "graph", for the message.
        pointers: first row of each graph, to name the graph in the message.

    Raises:
        InvalidGraphError: if they are not.
    """
    check_row_type(name, values, shape, per)
    check_finite(name, values, pointers=pointers)


def check_row_type(name: str, values: object, shape: list[int | None], per: str) -> None:
    """Check that values are floats of a shape, as `check_rows`, but not that they are finite.

    Raises:
        InvalidGraphError: if they are not.
    """
    if isinstance(values, Tensor):
        check_dense(name, values)
    if not isinstance(values, Tensor) or values.dtype not in FLOATS:
        raise InvalidGraphError(
            f"{name} must be a floating-point tensor of 16 to 64 bits. Got {describe(values)} "
            "instead."
        )
    fits = values.dim() == len(shape) and all(
        wanted in (None, got) for wanted, got in zip(shape, values.shape, strict=True)
    )
    if not fits:
        wanted_shape = ", ".join("channels" if size is None else str(size) for size in shape)
        raise InvalidGraphError(
            f"{name} must have shape [{wanted_shape}], a row for each {per}. "
            f"Got {list(values.shape)} instead."
        )


def check_finite(name: str, values: Tensor, *, pointers: Tensor | None = None) -> None:
    """Check that values are not NaN or infinite.

    Args:
        name: name of the values in the message.
        values: the values.
        pointers: first row of each graph, to name the graph in the message.

    Raises:
        InvalidGraphError: if one is.
    """
    if bool(torch.isfinite(values).all()):
        return
    row = int((~torch.isfinite(values)).nonzero()[0, 0])
    graph, row_in_graph = _locate(row, pointers)
    raise InvalidGraphError(
        f"{graph}{name} must be finite. Got {_worst(values[row])} in row {row_in_graph}. Replace "
        "or drop it."
    )


def check_devices(x: Tensor, *others: Tensor | None) -> None:
    """Check that all tensors are on one device.

    Raises:
        InvalidGraphError: if they are not.
    """
    devices = {str(other.device) for other in (x, *others) if isinstance(other, Tensor)}
    if len(devices) > 1:
        raise InvalidGraphError(
            f"All tensors of a batch must be on one device. Got {' and '.join(sorted(devices))}."
        )


def _locate(row: int, pointers: Tensor | None) -> tuple[str, int]:
    """Return a prefix of a message that names the graph of a row, and the row in that graph."""
    if pointers is None:
        return "", row
    number = int((pointers <= row).sum()) - 1
    return f"Graph {number}: ", row - int(pointers[number])


def _worst(row: Tensor) -> str:
    return "NaN" if bool(torch.isnan(row).any()) else "an infinite value"


def first_beyond_int64(values: Tensor) -> tuple[int, int] | None:
    """Row and value of the first uint64 number of at least 2^63, which int64 cannot store."""
    has_values = values.layout == torch.strided and not values.is_meta and values.numel() > 0
    if values.dtype != torch.uint64 or not has_values:
        return None
    rows = values.cpu().long().reshape(values.shape[0] if values.dim() else 1, -1)
    wrapped = (rows < 0).nonzero()
    if wrapped.numel() == 0:
        return None
    row, column = wrapped[0].tolist()
    return row, int(rows[row, column]) + 2**64


def describe(value: object) -> str:
    """Describe a value in a message: dtype and shape of a tensor, or the type."""
    if isinstance(value, Tensor) and value.is_nested:
        return "a nested tensor"
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} of shape {list(value.shape)}"
    return type(value).__name__
