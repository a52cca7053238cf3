"""The two graphs of a comparison, given as text: files, graph6 or sparse6, names."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx

from clipgnn.datasets.graph_files.entries import GraphFile
from clipgnn.datasets.graph_files.graph6 import HEADERS, graph_of_text, num_nodes
from clipgnn.datasets.named_graphs import NAMED_GRAPHS, named_graph
from clipgnn.datasets.sources import open_source
from clipgnn.errors import (
    DatasetFileError,
    DatasetNotFoundError,
    InvalidGraphError,
    InvalidParameterError,
    shown,
    suggestion,
)
from clipgnn.graphs.formats.molecules import as_molecule
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters.datasets import DATASETS, looks_like_a_path

if TYPE_CHECKING:
    Graph = nx.Graph[Any]  # generic in its type stubs only
else:
    Graph = nx.Graph

MOST_NODES = 200
"""Largest number of nodes of a graph that is compared."""

SMILES_PREFIX = "smiles:"
"""Before the SMILES of a molecule: many SMILES are also valid graph6."""

_LONGEST_NAME = 40
"""Number of characters of a string that are shown as the name of its graph."""


@dataclass(frozen=True)
class GivenGraph:
    """A graph with a name, such as "hexagon" or "molecules.g6, line 7".

    Attributes:
        name: its name on the page.
        graph: the graph.
        path: its file or folder; empty for other graphs.
    """

    name: str
    graph: Graph
    path: str = ""


def told_apart(first: GivenGraph, second: GivenGraph) -> tuple[GivenGraph, GivenGraph]:
    """Extend equal names of two graphs: by folders of their files, or by "(A)" and "(B)".

    Example:
        >>> given = [GivenGraph("x.g6", nx.Graph(), path) for path in ("old/x.g6", "new/x.g6")]
        >>> [own.name for own in told_apart(*given)]
        ['old/x.g6', 'new/x.g6']
    """
    if first.name != second.name:
        return first, second
    parts = [Path(own.path).parts for own in (first, second)]
    for number in range(2, max(map(len, parts)) + 1):
        ends = [os.path.join(*own[-number:]) for own in parts if own]
        if len(set(ends)) == 2:
            one, other = (_with_folder(first.name, end) for end in ends)
            return replace(first, name=one), replace(second, name=other)
    return (
        replace(first, name=f"{first.name} (A)"),
        replace(second, name=f"{second.name} (B)"),
    )


def _with_folder(name: str, path: str) -> str:
    """Return the name of a graph with the folders of its file."""
    base = Path(path).name
    return path + name.removeprefix(base) if name.startswith(base) else f"{path}, {name}"


@dataclass(frozen=True)
class FileOptions:
    """How files are read; see `clipgnn.datasets.sources.open_source`."""

    format: str | None = None
    smiles_column: str | None = None
    root: Path | None = None


class _NotAStringError(ValueError):
    """Text that is not graph6 or sparse6; empty if it has other characters than they have."""


def read_graph(text: str, options: FileOptions | None = None) -> GivenGraph:
    """Read a graph from a text.

    The text is a file or folder of graphs, or the name of a data set, each with `#NUMBER` if there
    are several graphs; a graph in graph6 or sparse6, with or without its header; a molecule as
    `smiles:SMILES`; or a name of `clipgnn.datasets.named_graphs`.

    Raises:
        InvalidParameterError: if the text is none of these, or more than one.
        DatasetNotFoundError: if it is the path of a file that does not exist.
        InvalidGraphError: if the graph is too large, or SMILES are not valid.
        DatasetFileError: if a file is not valid, or has several graphs and no number was given.
    """
    options = options or FileOptions()
    if text.startswith(SMILES_PREFIX):
        return _checked(_from_smiles(text.removeprefix(SMILES_PREFIX)))
    named, problem = named_graph(text), ""
    string: Graph | None = None
    try:
        string = _from_string(text)
    except _NotAStringError as error:
        problem = str(error)
    path, number = _with_number(text)
    found = {
        "a file": _exists(path),
        "a name of an example": named is not None,
        "a graph in graph6": string is not None,
    }
    kinds = [kind for kind, own in found.items() if own]
    if len(kinds) > 1:
        file = os.path.join(".", text)
        other = f"write >>graph6<<{text} for graph6"
        raise InvalidParameterError(
            f"A graph must be given in one way. {text!r} is {' and '.join(kinds)}. Write {file} "
            f"for the file, or {other if named is None else 'use another folder for the example'}."
        )
    if named is not None:
        return GivenGraph(text, named)
    if string is not None and named_graph(text.lower()) is not None:
        raise InvalidParameterError(
            f"The name of an example must be in lower case, and graph6 that differs from one only "
            f"in case must have its header. Got {text}. Write {text.lower()} or >>graph6<<{text}."
        )
    if string is not None:
        return _checked(GivenGraph(_shortened(text), string))
    if not _exists(path) and named_graph(path) is not None:
        raise InvalidParameterError(
            f"The example {path} is one graph, without a number. Got {shown(text)}. Write {path}."
        )
    if not _exists(path) and looks_like_a_path(path):
        raise DatasetNotFoundError(f"There must be a file or folder {shown(path)}. It is missing.")
    if not _exists(path) and number is None and text not in DATASETS:
        raise InvalidParameterError(
            "A graph must be a file, a graph in graph6 or sparse6, a molecule such as smiles:CCO, "
            f"or the name of an example, such as hexagon. Got {shown(text)}."
            f"{suggestion(text, NAMED_GRAPHS) or (problem and f' As graph6: {problem}')}"
        )
    return _checked(_from_file(path, number, options))


def _with_number(text: str) -> tuple[str, int | None]:
    """Split `file#3`; a file whose name ends in this way is not split."""
    found = re.fullmatch(r"(.+)#([0-9]{1,18})", text, re.S)
    if found is None or _exists(text):
        return text, None
    return found[1], int(found[2])


def _exists(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):  # too long, or with a null character
        return False


def _from_string(text: str) -> Graph:
    """Read graph6 or sparse6.

    Raises:
        _NotAStringError: if it is not one of them.
        InvalidGraphError: if the graph is too large, or the text has a header and is not valid.
    """
    given = text.encode("utf-8", "replace")
    header = next((own for own in HEADERS if given.startswith(own)), b"")
    content = given.removeprefix(header)
    if not header and not all(63 <= byte <= 126 for byte in content.removeprefix(b":")):
        raise _NotAStringError
    if content.startswith(b":") and (size := num_nodes(content)) > MOST_NODES:
        raise _too_large(text, size)
    try:
        graph: Graph = graph_of_text(content)
    except InvalidGraphError as error:
        if header:
            raise InvalidGraphError(f"{shown(text)} is not valid. {error}") from error
        raise _NotAStringError(str(error)) from error
    return graph


def _from_smiles(smiles: str) -> GivenGraph:
    molecules = PackedGraphs.from_smiles([as_molecule(smiles)])
    return GivenGraph(_shortened(smiles), molecules.to_networkx()[0])


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}…"


def _from_file(name: str, number: int | None, options: FileOptions) -> GivenGraph:
    source = open_source(
        name, format=options.format, smiles_column=options.smiles_column, root=options.root
    )
    count = len(source.entries)
    base = source.name or name  # the name of the folder "." is empty
    if number is None and count > 1:
        raise DatasetFileError(
            f"{base} must have one graph, or the number of a graph must be given. It has "
            f"{count} graphs. Write {name}#1 for the first one."
        )
    if number is not None and not 1 <= number <= count:
        raise DatasetFileError(
            f"The number of a graph of {base} must be from 1 to {count}. Got {number}."
        )
    place = (number or 1) - 1
    entry = source.entries[place]
    full = base if entry.place == base else f"{base}, {entry.place}"
    if entry.problem is not None:
        raise DatasetFileError(f"{full}: {entry.problem}")
    return GivenGraph(base if count == 1 else full, _as_networkx(source, place), name)


def _as_networkx(source: GraphFile, place: int) -> Graph:
    graphs = source.graphs([place])
    if not isinstance(graphs, PackedGraphs):
        [own] = graphs
        if isinstance(own, nx.Graph):
            return own
        graphs = PackedGraphs.from_smiles([own])
    return graphs.to_networkx()[0]


def _checked(given: GivenGraph) -> GivenGraph:
    if len(given.graph) > MOST_NODES:
        raise _too_large(given.name, len(given.graph))
    return given


def _too_large(name: str, size: int) -> InvalidGraphError:
    return InvalidGraphError(
        f"A graph must have at most {MOST_NODES} nodes to be compared. {name} has {size}."
    )
