"""Joining of data sets."""

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.pointers import pointers_from_counts


def join(first: PackedGraphs, second: PackedGraphs) -> PackedGraphs:
    """Return the graphs of one data set followed by those of another, with the name of the first.

    Raises:
        InvalidGraphError: if the data sets differ in the number or encoding of channels, in dtypes,
            or in what their graphs have: targets, weights, attributes or colorings.
    """
    joined: dict[str, Any] = {"name": first.name}
    for name in ("in_channels", "encoding"):
        joined[name] = getattr(first, name)
        _check_equal(name, joined[name], getattr(second, name))
    for name in ("node_pointers", "edge_pointers"):
        counts = [getattr(own, name).diff().to(first.device) for own in (first, second)]
        joined[name] = pointers_from_counts(torch.cat(counts))
    for name in (own.name for own in fields(PackedGraphs) if own.name not in joined):
        one, other = getattr(first, name), getattr(second, name)
        axis = 1 if name in ("edge_index", "colorings") else 0  # of edges, nodes or graphs
        _check_equal(name, _kind(one, axis), _kind(other, axis))
        joined[name] = None if one is None else torch.cat([one, other.to(one.device)], axis)
    return PackedGraphs(**joined)


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
