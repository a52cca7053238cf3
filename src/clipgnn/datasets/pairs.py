"""Sets of pairs of graphs to distinguish: graphs 2i and 2i + 1 are pair i."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations
from pathlib import Path

import networkx as nx
import torch

from clipgnn.coloring.labeling import canonical_colors
from clipgnn.datasets.graph_files import file_in, graph6
from clipgnn.datasets.isomorphism import refined_classes
from clipgnn.datasets.properties import circular_skip_links
from clipgnn.errors import (
    DatasetFileError,
    DatasetNotFoundError,
    InvalidParameterError,
    MissingDependencyError,
    counted,
    suggestion,
)
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters.datasets import (
    COPIES,
    PAIR_PREFIXES,
    PAIR_SETS,
    graphs_of_a_pair,
)

MAX_PAIRS = 20_000
"""Largest number of pairs of a set."""


def load_pairs(name: str, root: str | Path | None = None) -> PackedGraphs:
    """Load a set of pairs.

    Args:
        name: one of `PAIR_SETS`; "pairs:FILE" for a graph6 file whose lines 1 and 2, 3 and 4, …
            are pairs; "different:FILE" for one whose graphs are all different: all pairs of them
            that 1-WL does not distinguish are then compared; or "copies:FILE" for one with 64
            lines for each pair: 32 relabeled copies of its two graphs in turn.
        root: folder of the files of BREC, see `load_brec`, or of a file that is not found from the
            current folder.

    Raises:
        DatasetNotFoundError: if a file does not exist.
        DatasetFileError: if a file is damaged or has too many pairs, graphs of a pair are
            isomorphic, or copies of a graph are not.
        InvalidParameterError: if there is no such set.
    """
    for prefix in PAIR_PREFIXES:
        if name.startswith(prefix):
            path = file_in(Path(name.removeprefix(prefix)), root)
            if prefix == "different:":
                return _ambiguous(_read(path))
            size = graphs_of_a_pair(name)
            return _checked(_read(path, most=size * MAX_PAIRS), size)
    if name not in PAIR_SETS:
        raise InvalidParameterError(
            f"name must be one of {', '.join(PAIR_SETS)}, or a file with one of the prefixes "
            f"{', '.join(PAIR_PREFIXES)}. Got {name!r}.{suggestion(name, PAIR_SETS)}"
        )
    module, function = PAIR_SETS[name].rsplit(".", 1)
    load = getattr(import_module(module), function)
    found: PackedGraphs = load(name.removeprefix("brec-"), root) if "brec" in name else load()
    return found


def csl_pairs() -> PackedGraphs:
    """All 45 pairs of the ten circular skip links of 41 nodes."""
    graphs = circular_skip_links(0)
    first = [int((graphs.targets == target).nonzero()[0]) for target in range(10)]
    chosen = [graph for pair in combinations(first, 2) for graph in pair]
    return graphs.subset(torch.tensor(chosen))


def atlas_pairs() -> PackedGraphs:
    """All pairs of graphs of up to 7 nodes that 1-WL does not distinguish."""
    return _atlas_pairs(7, "atlas-pairs")


def small_atlas_pairs() -> PackedGraphs:
    """Those of up to 6 nodes, of which all colorings can be used in training."""
    return _atlas_pairs(6, "atlas-6-pairs")


def _atlas_pairs(most_nodes: int, name: str) -> PackedGraphs:
    graphs = [own for own in nx.graph_atlas_g()[1:] if len(own) <= most_nodes]
    numbers = range(1, len(graphs) + 1)
    return _ambiguous(_Given(PackedGraphs.from_networkx(graphs, name=name), name, numbers))


@dataclass(frozen=True)
class _Given:
    """Graphs of a file, with its name and the number of the line of each of them."""

    graphs: PackedGraphs
    name: str
    lines: Sequence[int]

    def place(self, first: int, second: int) -> str:
        return f"lines {self.lines[first]} and {self.lines[second]} of {self.name}"


def _read(path: Path, most: int | None = None) -> _Given:
    """Read a file of at most this many graphs."""
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a pipe or a device"
        raise DatasetFileError(
            "Pairs of graphs must be in a regular file, which every trial reads. "
            f"{path} is {kind}. Use a file of graph6."
        )
    try:
        if most is not None and (count := sum(1 for _ in graph6.raw_entries(path)[1])) > most:
            raise DatasetFileError(
                f"{path} must have at most {most:,} graphs, those of {MAX_PAIRS:,} pairs. Got "
                f"{count:,}. Use several files."
            )
        entries = list(graph6.entries(path))
    except OSError as error:
        start = " Set root to the folder that its path starts from." * (not path.is_absolute())
        raise DatasetNotFoundError(
            f"A file of graphs must exist. {path} cannot be read: {error.strerror}.{start}"
        ) from error
    for entry in entries:
        if entry.problem is not None:
            raise DatasetFileError(f"{path}, {entry.place}: {entry.problem}")
        if len(entry.graph) == 0:
            raise DatasetFileError(
                f"{path}, {entry.place}: A graph must have at least one node. Got none."
            )
    if len(entries) < 2:
        raise DatasetFileError(f"{path} must have at least two graphs. Got {len(entries)}.")
    graphs = PackedGraphs.from_networkx([entry.graph for entry in entries], name=path.stem)
    # Blank lines have no entries.
    return _Given(graphs, str(path), [int(own.place.removeprefix("line ")) for own in entries])


def _checked(given: _Given, size: int) -> PackedGraphs:
    """Check that graphs of a pair are different, and that copies of a graph are not.

    Args:
        given: the graphs.
        size: number of graphs of each pair.
    """
    graphs = given.graphs
    if len(graphs) % size:
        content = "an even number of graphs, two for each pair"
        if size > 2:
            content = f"{size} graphs for each pair, {COPIES} copies of its two graphs in turn"
        raise DatasetFileError(f"{given.name} must have {content}. Got {len(graphs)}.")
    forms = canonical_forms(graphs)
    for first in range(0, len(graphs), size):
        if forms[first] == forms[first + 1]:
            raise DatasetFileError(
                "The graphs of a pair must not be isomorphic. Those of "
                f"{given.place(first, first + 1)} are."
            )
        for copy in range(first + 2, first + size):
            original = first + copy % 2
            if forms[copy] != forms[original]:
                raise DatasetFileError(
                    "Relabeled copies of a graph must be isomorphic. Those of "
                    f"{given.place(original, copy)} are not, which must be copies of the "
                    f"{'second' if copy % 2 else 'first'} graph of pair {first // size + 1}."
                )
    return graphs


def _ambiguous(given: _Given) -> PackedGraphs:
    """All pairs of graphs that 1-WL does not distinguish."""
    graphs, name = given.graphs, given.name
    classes, _ = refined_classes(graphs)
    members: dict[int, list[int]] = {}
    for graph, own in enumerate(classes.tolist()):
        members.setdefault(own, []).append(graph)
    sizes = [len(own) for own in members.values()]
    total = sum(size * (size - 1) // 2 for size in sizes)
    if total == 0:
        raise DatasetFileError(
            f"{name} must have graphs that 1-WL does not distinguish. It distinguishes all "
            f"{counted(len(graphs), 'graph')}."
        )
    if total > MAX_PAIRS:
        raise DatasetFileError(
            f"{name} must have at most {MAX_PAIRS:,} pairs that 1-WL does not distinguish. Got "
            f"{total:,}. Use a part of the graphs."
        )
    chosen = [graph for own in members.values() for pair in combinations(own, 2) for graph in pair]
    forms = canonical_forms(graphs)
    for first, second in zip(chosen[::2], chosen[1::2], strict=True):
        if forms[first] == forms[second]:
            raise DatasetFileError(
                "The graphs must be pairwise different. Those of "
                f"{given.place(first, second)} are isomorphic."
            )
    return graphs.subset(torch.tensor(chosen))


def canonical_forms(graphs: PackedGraphs) -> list[bytes]:
    """Edges of each graph with canonically numbered nodes; equal for isomorphic graphs only.

    Args:
        graphs: graphs without attributes and weights.

    Raises:
        DatasetFileError: if a graph could not be labeled in time.
        MissingDependencyError: if igraph is not installed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            labels = canonical_colors(graphs.to_batch())
    except MissingDependencyError as error:
        raise MissingDependencyError(
            "Pairs of graphs require igraph, which shows that their graphs are different. It is "
            "not installed. Use pip install 'clipgnn[canonical]'."
        ) from error
    except UserWarning as error:
        raise DatasetFileError(f"Whether graphs are isomorphic is not known. {error}") from error
    colors = labels[graphs.global_edge_index]
    nodes, edges = graphs.node_pointers.diff().tolist(), graphs.edge_pointers.tolist()
    forms = []
    for number, count in enumerate(nodes):
        own = colors[:, edges[number] : edges[number + 1]]
        pairs = (own[0] * max(count, 1) + own[1]).sort().values  # parallel edges are kept
        forms.append(count.to_bytes(8, "little") + pairs.numpy().tobytes())
    return forms
