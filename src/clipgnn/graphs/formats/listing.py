"""Check of the lists of graphs that users pass."""

from collections.abc import Iterable
from typing import TypeVar

from clipgnn.errors import InvalidGraphError

_T = TypeVar("_T")


def listed(graphs: object, kind: type[_T] | tuple[type[_T], ...], what: str) -> list[_T]:
    """Check that an argument is a list of graphs of a kind.

    Args:
        graphs: the argument.
        kind: type of the graphs.
        what: what the graphs are, for the message.

    Raises:
        InvalidGraphError: if it is a single graph, is empty, or has other objects.
    """
    if (
        isinstance(graphs, kind | str)
        if isinstance(kind, type)
        else isinstance(graphs, (*kind, str))
    ):
        raise InvalidGraphError(
            f"graphs must be a list of {what}. Got a single {type(graphs).__name__}. Use a list of "
            "one for a single graph."
        )
    if not isinstance(graphs, Iterable):
        raise InvalidGraphError(f"graphs must be a list of {what}. Got {type(graphs).__name__}.")
    result = list(graphs)
    if not result:
        raise InvalidGraphError("A data set must have at least one graph. Got none.")
    for number, graph in enumerate(result):
        if not isinstance(graph, kind):
            raise InvalidGraphError(
                f"graphs must be a list of {what}. Got {type(graph).__name__} as graph {number}."
            )
    return result
