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
    "rdkit": "molecules",
}
"""Module that reads graphs, by the package of their class. Strings are SMILES."""


def read(graphs: Iterable[object]) -> GraphColumns:
    """Read graphs of one of the packages in `FORMATS`, or SMILES; the first graph decides which.

    Raises:
        InvalidGraphError: if they are not such graphs.
    """
    kinds = f"a PackedGraphs, a list of graphs of {', '.join(FORMATS)}, or a list of SMILES"
    if _module_for(graphs) is not None:
        raise InvalidGraphError(
            f"graphs must be a list of graphs. Got a single {type(graphs).__name__}. Use a list of "
            "one for a single graph."
        )
    if not isinstance(graphs, Iterable):
        raise InvalidGraphError(f"graphs must be {kinds}. Got {type(graphs).__name__}.")
    listed = list(graphs)
    if not listed:
        raise InvalidGraphError("A data set must have at least one graph. Got none.")
    module = _module_for(listed[0])
    if module is not None:
        columns: GraphColumns = import_module(f"{__name__}.{module}").read(listed)
        return columns
    raise InvalidGraphError(f"graphs must be {kinds}. Got {type(listed[0]).__name__} as graph 0.")


def _module_for(graph: object) -> str | None:
    """Module that reads a graph, by the packages of its class and their bases."""
    if isinstance(graph, str):
        return "molecules"
    packages = {base.__module__.partition(".")[0] for base in type(graph).__mro__}
    return next((module for package, module in FORMATS.items() if package in packages), None)
