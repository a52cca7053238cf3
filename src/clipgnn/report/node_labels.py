"""Attributes in the nodes of two drawings: in full, shortened or left out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from clipgnn.report.graph_svg import GraphDrawing

_READABLE_AT = 300.0
"""Width of a box, in pixels, at which attributes in nodes can be read, or are not shown."""

_CLOSE = 145.0
"""Width of a box, in pixels, of two that are side by side on a phone."""

_LONGEST_SHORT = 3
"""Largest number of characters of a shortened attribute."""

_LEFT_OUT = (
    "The nodes are too small for the names of their attributes and show their colors only. Nodes "
    "with different attributes can have the same color."
)


def short_names(names: Collection[str]) -> dict[str, str]:
    """Shorten names of more than three characters to beginnings of at most three.

    Returns:
        The short form of each name; empty strings if they would not be distinct.

    Example:
        >>> short_names(["carbon", "nitrogen"]), short_names(["carbon1", "carbon2"])
        ({'carbon': 'c', 'nitrogen': 'n'}, {'carbon1': '', 'carbon2': ''})
    """
    unique = dict.fromkeys(names)
    for length in range(1, _LONGEST_SHORT + 1):
        found = {name: name if len(name) <= _LONGEST_SHORT else name[:length] for name in unique}
        if len({*found.values()}) == len(unique):
            return found
    return dict.fromkeys(unique, "")


@dataclass(frozen=True)
class Labels:
    """What is written in the nodes of two drawings before the numbers of their colors.

    Attributes:
        first, second: the text in each node.
        key: what the texts mean, if attributes are shortened or left out.
        close: whether the labels can be read in two drawings side by side on a phone.
    """

    first: Sequence[str]
    second: Sequence[str]
    key: str
    close: bool

    @classmethod
    def of(cls, drawn: Sequence[GraphDrawing], most: int, *, names: bool) -> "Labels":
        """Choose attributes, shortened attributes or nothing: the first that can be read.

        Args:
            drawn: the two drawings.
            most: largest number of colors that the drawings will have.
            names: whether to write attributes.
        """
        full = {name: name for own in drawn for name in own.graph.names}
        short = short_names(full)
        chosen = none = dict.fromkeys(full, "")
        if names:
            fitting = (own for own in (full, short) if _widest(drawn, own, most) <= _READABLE_AT)
            chosen = next(fitting, none)
        key = ""
        if names and chosen != full:
            parts = [
                f"{chosen[name]} is {name}"
                for name in sorted(full)
                if chosen[name] not in ("", name)
            ]
            key = f"In the nodes, {', '.join(parts)}." if parts else _LEFT_OUT
        first, second = ([chosen[name] for name in own.graph.names] for own in drawn)
        return cls(first, second, key, _widest(drawn, chosen, most) <= _CLOSE)


def _widest(drawn: Sequence[GraphDrawing], chosen: Mapping[str, str], most: int) -> float:
    return max(own.needed([chosen[name] for name in own.graph.names], most) for own in drawn)
