"""The data sets of the paper and the formats of data sets by name, without torch."""

import os
from collections.abc import Mapping
from pathlib import Path

PROPERTY_TASKS: Mapping[str, str] = {
    "connectivity": "clipgnn.datasets.properties.connectivity",
    "bipartiteness": "clipgnn.datasets.properties.bipartiteness",
    "triangle-freeness": "clipgnn.datasets.properties.triangle_freeness",
    "csl": "clipgnn.datasets.properties.circular_skip_links",
    "matched-triangle-freeness": "clipgnn.datasets.properties.matched_triangle_freeness",
}
"""The synthetic tasks, with the functions that generate them from a seed. The paper does not have
the last one."""

PAIRED_TASKS = tuple(name for name in PROPERTY_TASKS if name != "csl")
"""Tasks that consist of pairs: a graph with the property, and its copy without it."""

COUNTING_TASKS: Mapping[str, str | None] = {
    "count-triangles": "triangles",
    "count-4-cycles": "4-cycles",
    "count-5-cycles": "5-cycles",
    "count-6-cycles": "6-cycles",
    "count-chordal-cycles": "chordal-cycles",
    "count-tailed-triangles": "tailed-triangles",
    "count-stars": "stars",
    "substructure-counts": None,
}
"""Regression of numbers of subgraphs, with the subgraph that is counted; the last task has all
counts as targets."""

BENCHMARKS = ("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI")
"""The real data sets of the paper, which calls them MUTAG, PTC, PROTEINS, IMDBb and IMDBm."""

DATASETS = (*PROPERTY_TASKS, *BENCHMARKS)
"""All data sets of the paper, and one that it does not have: matched triangle-freeness."""

GENERATED = (*PROPERTY_TASKS, *COUNTING_TASKS)
"""Data sets that are generated from a seed."""

PAIR_SETS: Mapping[str, str] = {
    "brec-basic": "clipgnn.datasets.brec.load_brec",
    "brec-regular": "clipgnn.datasets.brec.load_brec",
    "brec-str": "clipgnn.datasets.brec.load_brec",
    "brec-extension": "clipgnn.datasets.brec.load_brec",
    "brec-cfi": "clipgnn.datasets.brec.load_brec",
    "brec-4vtx": "clipgnn.datasets.brec.load_brec",
    "brec-dr": "clipgnn.datasets.brec.load_brec",
    "csl-pairs": "clipgnn.datasets.pairs.csl_pairs",
    "atlas-pairs": "clipgnn.datasets.pairs.atlas_pairs",
    "atlas-6-pairs": "clipgnn.datasets.pairs.small_atlas_pairs",
}
"""Sets of pairs of graphs to distinguish, with the functions that load them."""

BREC_FAMILIES = tuple(name for name in PAIR_SETS if name.startswith("brec-"))
"""The families of BREC, which have 400 pairs together."""

PAIR_PREFIXES = ("pairs:", "different:", "copies:")
"""Prefixes of files of graphs: of pairs, of graphs that are all different, or of relabeled copies
of the graphs of pairs."""

COPIES = 32
"""Number of relabeled copies of each graph of a pair, in the comparison of BREC."""

FILE_PREFIX = "file:"
"""Prefix of a file or folder of graphs with targets, such as `file:graphs.jsonl`."""

KNOWN = (*DATASETS, *COUNTING_TASKS)
"""Names of all data sets that need no files of the user."""


def is_pair_set(name: str) -> bool:
    """Return whether a data set consists of pairs of graphs to distinguish."""
    return name in PAIR_SETS or name.startswith(PAIR_PREFIXES)


def graphs_of_a_pair(name: str) -> int:
    """Return the number of graphs of each pair of a set: two, or all their copies."""
    return 2 * COPIES if name.startswith("copies:") else 2


def looks_like_a_path(text: str) -> bool:
    """Return whether a text can only be meant as a path: it has a folder or an ending.

    Example:
        >>> [looks_like_a_path(text) for text in ("graphs.g6", "./graphs", "brec-cfi", "2.")]
        [True, True, False, False]
    """
    return "/" in text or os.sep in text or bool(Path(text).suffix)


TU_FORMAT = "tu"
"""Name of the format of data sets of the TU collection, and of property tasks."""

STORED_FORMAT = "stored"
"""Name of the format of folders that `clipgnn convert` writes."""

FILE_FORMATS: Mapping[str, str] = {
    "smiles": "clipgnn.datasets.graph_files.smiles",
    "json-lines": "clipgnn.datasets.graph_files.node_link",
    "graph6": "clipgnn.datasets.graph_files.graph6",
    "graphml": "clipgnn.datasets.graph_files.markup",
    "gml": "clipgnn.datasets.graph_files.markup",
    "gin-text": "clipgnn.datasets.graph_files.gin_text",
}
"""Module that reads files of graphs, by the name of their format."""

DATA_FORMATS = (TU_FORMAT, *FILE_FORMATS)
"""Names of all formats of data sets."""
