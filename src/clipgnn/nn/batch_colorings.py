"""Colorings of a user's batch for all members: those that are given, and those of a scheme."""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from clipgnn.coloring.schemes import Scheme
from clipgnn.coloring.stream import ColoringStream, InMemoryColorings, WrappedColorings
from clipgnn.graphs.exact import ExactBatch
from clipgnn.nn.checks import check_colorings


def given_colorings(
    given: Tensor,
    graphs: ExactBatch,
    k: int,
    num_members: int,
    *,
    largest_color: int | None,
    wrap: bool = False,
) -> ColoringStream:
    """Check the colorings that are given or stored, and repeat them for each member.

    Args:
        given: `[colorings, nodes]`.
        graphs: the batch of all members.
        k: number of colorings of the network; 0 if it accepts none.
        num_members: number of members.
        largest_color: largest color of the network; None if any color is valid.
        wrap: whether larger colors are reduced modulo the number of colors, with a warning.

    Raises:
        InvalidColoringError: if they do not match the network.
    """
    if wrap and largest_color is not None and int(given.max()) > largest_color:
        _warn_of_reduced_colors(int(given.max()) + 1, largest_color + 1)
        given = given % (largest_color + 1)
    if not torch.compiler.is_compiling():
        check_colorings(given, graphs.num_nodes // num_members, k, largest_color)
    repeated = given.repeat(1, num_members)  # [colorings, members * nodes]
    return InMemoryColorings(repeated, graphs.graph_of_node, graphs.num_graphs)


def drawn_colorings(
    graphs: ExactBatch,
    k: int,
    scheme: Scheme,
    generator: torch.Generator | None,
    check_num_colors: Callable[[int], None],
    keys: Tensor | None = None,
    wrap_at: int | None = None,
) -> ColoringStream:
    """Colorings of a scheme.

    Args:
        graphs: the batch of all members.
        k: number of colorings.
        scheme: the coloring scheme.
        generator: source of random colorings.
        check_num_colors: raises an error if the network has fewer colors than the batch needs.
        keys: random bits of each graph, instead of the generator; see `Partition`.
        wrap_at: number of colors of the network, modulo which colors are reduced, with a warning,
            instead of the check; None not to reduce them.
    """
    partition = scheme.partition(graphs, keys)
    stream = scheme.stream(graphs, partition, k, generator)
    needed = partition.num_colors
    if wrap_at is None or needed <= wrap_at:
        check_num_colors(needed)
        return stream
    _warn_of_reduced_colors(needed, wrap_at)
    return WrappedColorings(stream, wrap_at)


def _warn_of_reduced_colors(needed: int, available: int) -> None:
    warnings.warn(
        f"A graph has {needed} nodes with identical attributes, but the network has {available} "
        f"colors. Some of these nodes get the same color. Train with num_colors={needed}.",
        stacklevel=3,
    )
