"""Check of the lists of graphs that users pass."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from clipgnn.errors import InvalidGraphError

_T = TypeVar("_T")


def package_of(graph: object) -> str | None:
    """The package in `FORMATS` of the class of a graph or of its bases; None for other objects.

    Strings are SMILES, which RDKit reads.
    """
    from clipgnn.graphs.formats import FORMATS  # which imports this module

    if isinstance(graph, str):
        return "rdkit"
    found = {base.__module__.partition(".")[0] for base in type(graph).__mro__}
    return next((package for package in FORMATS if package in found), None)


def as_list(graphs: object, what: str) -> list[Any]:
    """Convert an argument to a list with at least one element.

    Args:
        graphs: the argument: any iterable with one axis and an order, also a data set of PyTorch
            Geometric.
        what: what it must contain, for the message.

    Raises:
        InvalidGraphError: if it is a single graph, is empty, or is not a list.
    """
    name = type(graphs).__name__
    if package_of(graphs) is not None and not _is_dataset_of_pyg(graphs):
        if hasattr(graphs, "to_data_list"):
            got, fix = f"a single {name}", "its to_data_list()"  # a batch of PyTorch Geometric
        elif hasattr(graphs, "dataset"):
            got, fix = name, "its dataset"  # a loader of PyTorch Geometric
        else:
            got, fix = f"a single {name}", "a list of one for a single graph"
        raise InvalidGraphError(f"graphs must be a list of {what}. Got {got}. Use {fix}.")
    axes = getattr(graphs, "ndim", 1)
    if isinstance(graphs, Mapping) or not _has_elements(graphs) or axes != 1:
        of_axes = "" if axes == 1 else f" with {axes} axes"
        fix = " Use one of its columns." if hasattr(graphs, "columns") else ""  # of pandas
        raise InvalidGraphError(f"graphs must be a list of {what}. Got {name}{of_axes}.{fix}")
    if isinstance(graphs, set | frozenset):
        raise InvalidGraphError(
            f"graphs must be a list of {what}. Got a {name}, which has no order. Use a list."
        )
    result = list(cast(Iterable[Any], graphs))
    if not result:
        raise InvalidGraphError("A data set must have at least one graph. Got none.")
    return result


def _has_elements(graphs: object) -> bool:
    """Whether it can be iterated, also by numbers alone, like `torch.utils.data.Subset`."""
    by_number = hasattr(graphs, "__getitem__") and hasattr(graphs, "__len__")
    return isinstance(graphs, Iterable) or by_number


def _is_dataset_of_pyg(graphs: object) -> bool:
    """Whether it is a data set, without an import of PyTorch Geometric, which takes seconds."""
    return any(base.__module__ == "torch_geometric.data.dataset" for base in type(graphs).__mro__)


def listed(graphs: object, kind: type[_T] | tuple[type[_T], ...], what: str) -> list[_T]:
    """Check that an argument is a list of graphs of a kind.

    Args:
        graphs: the argument.
        kind: type of the graphs.
        what: what the graphs are, for the message.

    Raises:
        InvalidGraphError: if it is a single graph, is empty, or has other objects.
    """
    result = as_list(graphs, what)
    for number, graph in enumerate(result):
        if not isinstance(graph, kind):
            raise InvalidGraphError(
                f"graphs must be a list of {what}. Got {type(graph).__name__} as graph {number}."
                f"{_advice(graph, number, kind if isinstance(kind, type) else kind[0])}"
            )
    return result


def advice(graph: object) -> str:
    """The end of a message about an object that is no graph: how to convert it, or nothing."""
    if isinstance(graph, np.ndarray) and graph.ndim == 2:
        return " Use scipy.sparse.csr_array for adjacency matrices."
    return ""


def _advice(graph: object, number: int, kind: type) -> str:
    package = package_of(graph)
    if package is None:
        return advice(graph)
    if package == kind.__module__.partition(".")[0]:
        return ""
    if number > 0:
        return f" Convert all graphs to one library; this one is of {package}."
    methods = {"torch_geometric": "from_data_list", "rdkit": "from_smiles"}
    method = methods.get(package, f"from_{package}")
    return f" Use PackedGraphs.{method} for graphs of {package}."
