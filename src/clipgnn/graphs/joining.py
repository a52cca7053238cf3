"""Joining of data sets."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.pointers import pointers_from_counts

_SECOND_AXIS = ("edge_index", "colorings")
_NOT_JOINED = ("name", "in_channels", "encoding", "node_pointers", "edge_pointers")


def join(first: PackedGraphs, second: PackedGraphs) -> PackedGraphs:
    """Return the graphs of one data set followed by those of another, with the name of the first.

    Raises:
        InvalidGraphError: if the data sets differ in the number or encoding of channels, in dtypes,
            or in what their graphs have: targets, weights, attributes or colorings.
    """
    for name in ("in_channels", "encoding"):
        _check_equal(name, getattr(first, name), getattr(second, name))
    second = second.to(first.device)
    for name in (own.name for own in fields(PackedGraphs) if own.name not in _NOT_JOINED):
        axis = 1 if name in _SECOND_AXIS else 0  # of edges, nodes or graphs
        one, other = getattr(first, name), getattr(second, name)
        _check_equal(name, _kind(one, axis), _kind(other, axis))
    return concatenated([first, second])


def concatenated(parts: Sequence[PackedGraphs]) -> PackedGraphs:
    """Return the graphs of several data sets of one kind, which is not checked."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    joined: dict[str, Any] = {"name": first.name}
    joined |= {"in_channels": first.in_channels, "encoding": first.encoding}
    for name in ("node_pointers", "edge_pointers"):
        joined[name] = pointers_from_counts(torch.cat([getattr(own, name).diff() for own in parts]))
    for name in (own.name for own in fields(PackedGraphs) if own.name not in joined):
        axis = 1 if name in _SECOND_AXIS else 0
        values = [getattr(own, name) for own in parts]
        joined[name] = None if values[0] is None else torch.cat(values, axis)
    return PackedGraphs.unchecked(**joined)


def _kind(tensor: Tensor | None, axis: int) -> str:
    """Describe what must be equal to join two tensors along an axis."""
    if tensor is None:
        return "none"
    others = [str(size) for own, size in enumerate(tensor.shape) if own != axis]
    return f"{tensor.dtype}{' with other axes ' + ', '.join(others) if others else ''}"


def _check_equal(name: str, one: object, other: object) -> None:
    if one != other:
        raise InvalidGraphError(
            f"Data sets to join must have the same kind of {name}. Got {one} and {other}. Convert "
            "one of them, for example with with_floats or dataclasses.replace."
        )
