"""Encoded graphs with the encoding of other graphs, such as those that a model was trained on."""

import warnings
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from clipgnn.errors import InvalidGraphError, shown
from clipgnn.graphs.attributes import Attribute, Categories, Value
from clipgnn.graphs.columns import Part
from clipgnn.graphs.encoding import AttributeEncoding
from clipgnn.graphs.packed import PackedGraphs


def recoded(graphs: PackedGraphs, encoding: AttributeEncoding, *, strict: bool) -> PackedGraphs:
    """Return graphs with named attributes in another encoding.

    Args:
        graphs: graphs with an encoding.
        encoding: the other encoding.
        strict: whether a category that it does not know is an error; by default such categories
            are encoded as zeros, with a warning.

    Raises:
        InvalidGraphError: if an attribute is missing or of another kind, or an unknown category
            occurs and `strict` is true.
    """
    own = graphs.encoding
    assert own is not None
    if own == encoding:
        return graphs
    if own.weighted != encoding.weighted:
        raise _missing("edges", "weight", "attribute" if own.weighted else "weights")
    edge_attr, graph_attr = graphs.edge_attr, graphs.graph_attr
    return replace(
        graphs,
        x=_nodes(graphs, own.nodes, encoding, strict=strict),
        in_channels=encoding.in_channels,
        edge_attr=_channels("edges", edge_attr, own.edges, encoding.edges, strict=strict),
        graph_attr=_channels("graphs", graph_attr, own.graphs, encoding.graphs, strict=strict),
        encoding=encoding,
    )


def _nodes(
    graphs: PackedGraphs, own: Sequence[Attribute], encoding: AttributeEncoding, *, strict: bool
) -> Tensor:
    """Attributes of nodes; labels stay labels if all of them are known."""
    if not encoding.nodes:
        return torch.zeros_like(graphs.node_pointers[:1]).repeat(graphs.x.shape[0])
    given = graphs.attributes() if own else None
    rows = _channels("nodes", given, own, encoding.nodes, strict=strict)
    assert rows is not None
    single = len(encoding.nodes) == 1 and isinstance(encoding.nodes[0], Categories)
    if single and bool((rows.sum(1) == 1).all()):
        return rows.argmax(1)
    return rows


def _channels(
    part: Part,
    rows: Tensor | None,
    own: Sequence[Attribute],
    wanted: Sequence[Attribute],
    *,
    strict: bool,
) -> Tensor | None:
    """Rows of encoded attributes in another order of channels."""
    if not wanted:
        return None
    if rows is None:
        raise _missing(part, wanted[0].name, "none")
    widths = [attribute.width for attribute in own]
    found = {
        attribute.name: (attribute, columns)
        for attribute, columns in zip(own, rows.split(widths, dim=1), strict=True)
    }
    parts = []
    for attribute in wanted:
        if attribute.name not in found:
            raise _missing(part, attribute.name, ", ".join(map(repr, found)) or "none")
        parts.append(_recoded(part, *found[attribute.name], attribute, strict=strict))
    return torch.cat(parts, dim=1)


def _recoded(
    part: Part, own: Attribute, rows: Tensor, wanted: Attribute, *, strict: bool
) -> Tensor:
    if not isinstance(own, Categories) or not isinstance(wanted, Categories):
        if type(own) is not type(wanted) or own.width != wanted.width:
            raise InvalidGraphError(
                f"{wanted.name!r} of the {part} must be of the kind {wanted} in the encoding. Got "
                f"{own}."
            )
        return rows
    place = {_key(value): number for number, value in enumerate(own.values)}
    columns = [place.get(_key(value), -1) for value in wanted.values]
    # A last channel of zeros, for categories that do not occur here.
    padded = torch.cat([rows, torch.zeros_like(rows[:, :1])], dim=1)
    known = set(columns)
    for number, value in enumerate(own.values):
        count = 0 if number in known else int((rows[:, number] != 0).sum())
        if count:
            _report(part, wanted.name, value, count, strict=strict)
    return padded[:, columns]


def _report(part: Part, name: str, value: Value, count: int, *, strict: bool) -> None:
    if strict:
        raise InvalidGraphError(
            f"{name!r} of the {part} must be one of the values of the encoding. Got {shown(value)}."
        )
    warnings.warn(
        f"{count} {part} have a value of {name!r} that the encoding does not know, {shown(value)}. "
        "It is encoded as zeros.",
        stacklevel=2,
    )


def _key(value: Value) -> tuple[type, Value]:
    """Values of different types are different categories, such as 1, 1.0 and True."""
    return type(value), value


def _missing(part: Part, name: str, found: str) -> InvalidGraphError:
    return InvalidGraphError(
        f"The {part} must have the attribute {name!r} of the encoding. Got {found}."
    )
