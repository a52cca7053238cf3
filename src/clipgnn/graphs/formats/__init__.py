"""Formats of graphs in memory: each is read into `GraphColumns`, and written from a data set."""

from collections.abc import Iterable
from importlib import import_module

from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.columns import GraphColumns
from clipgnn.graphs.formats.listing import advice, as_list, package_of

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
    what = f"graphs of {', '.join(FORMATS)}, or of SMILES, or a PackedGraphs"
    listed = as_list(graphs, what)
    package = package_of(listed[0])
    if package is None:
        raise InvalidGraphError(
            f"graphs must be a list of {what}. Got {type(listed[0]).__name__} as graph 0."
            f"{advice(listed[0])}"
        )
    columns: GraphColumns = import_module(f"{__name__}.{FORMATS[package]}").read(listed)
    return columns
