"""Data sets of users: graphs that a function of their own returns."""

from typing import Any

import numpy as np

from clipgnn.errors import ClipGNNError, InvalidParameterError, shown
from clipgnn.graphs import formats
from clipgnn.graphs.formats.listing import package_of
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters.import_paths import described, import_object


def load_own(path: str) -> PackedGraphs:
    """Call a function of the user, which runs its module, and return its graphs.

    The function takes no arguments. It returns a `PackedGraphs` with targets, a list or a data set
    of graphs of PyTorch Geometric with `y`, or a pair of a list of graphs (of networkx, igraph,
    SciPy, PyTorch Geometric or RDKit, or of SMILES) and their targets: numbers, or classes as
    integers or strings.

    Args:
        path: import path of the function, such as "my_package.data:load".

    Raises:
        InvalidParameterError: if it cannot be imported, raises, or returns anything else.
    """
    function = import_object(path)
    if not callable(function):
        raise InvalidParameterError(
            f"{path!r} must be a function without arguments that returns graphs. Got "
            f"{shown(function)}."
        )
    try:
        found = function()
    except (Exception, SystemExit) as error:
        raise InvalidParameterError(
            f"{path!r} must return the graphs of a data set. It raised {described(error)}."
        ) from error
    try:
        graphs = _packed(found, path)
        _ = graphs.targets  # raises if there are none
    except ClipGNNError as error:
        raise InvalidParameterError(
            f"{path!r} must return a PackedGraphs with targets, a list of graphs of PyTorch "
            f"Geometric with y, or a pair of graphs and targets. {error}"
        ) from error
    return graphs


def _packed(found: Any, name: str) -> PackedGraphs:
    if isinstance(found, PackedGraphs):
        return found
    if isinstance(found, tuple) and len(found) == 2 and package_of(found[0]) is None:
        graphs, y = found
        return PackedGraphs.from_columns(formats.read(graphs), y=_numbered(y), name=name)
    if isinstance(found, list | tuple) and found and package_of(found[0]) == "torch_geometric":
        return PackedGraphs.from_data_list(found, name)
    if package_of(found) == "torch_geometric" and _is_dataset(found):
        return PackedGraphs.from_data_list(list(found), name)
    raise InvalidParameterError(f"Got {shown(found)}.")


def _numbered(y: Any) -> Any:
    """Classes that are strings as numbers, in alphabetical order; other targets unchanged."""
    values = np.asarray(y)
    return np.unique(values, return_inverse=True)[1] if values.dtype.kind == "U" else y


def _is_dataset(found: object) -> bool:
    from torch_geometric.data import Dataset  # takes seconds

    return isinstance(found, Dataset)
