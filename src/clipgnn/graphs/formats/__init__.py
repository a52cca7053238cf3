"""Formats of graphs in memory: each is read into `GraphColumns`, and written from a data set."""

from collections.abc import Iterable
from importlib import import_module

from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.columns import GraphColumns

FORMATS = {
    "networkx": "networkx_graphs",
    "torch_geometric": "pyg_graphs",
    "igraph": "igraph_graphs",
    "scipy": "adjacency",
}
"""Module that reads graphs, by the package of their class."""


def read(graphs: Iterable[object]) -> GraphColumns:
    """Read graphs of one of the packages in `FORMATS`; the first graph decides which.

    Raises:
        InvalidGraphError: if they are not such graphs.
    """
    kinds = ", ".join(FORMATS)
    if isinstance(graphs, str) or not isinstance(graphs, Iterable):
        raise InvalidGraphError(
            f"graphs must be a PackedGraphs or a list of graphs of {kinds}. Got "
            f"{type(graphs).__name__}."
        )
    listed = list(graphs)
    if not listed:
        raise InvalidGraphError("A data set must have at least one graph. Got none.")
    packages = {base.__module__.partition(".")[0] for base in type(listed[0]).__mro__}
    for package, module in FORMATS.items():
        if package in packages:
            columns: GraphColumns = import_module(f"{__name__}.{module}").read(listed)
            return columns
    raise InvalidGraphError(
        f"graphs must be a PackedGraphs or a list of graphs of {kinds}. Got "
        f"{type(listed[0]).__name__} as graph 0."
    )
