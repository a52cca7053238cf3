"""The data sets of the paper and the formats of data sets by name, without torch."""

from collections.abc import Mapping

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

BENCHMARKS = ("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI")
"""The real data sets of the paper, which calls them MUTAG, PTC, PROTEINS, IMDBb and IMDBm."""

DATASETS = (*PROPERTY_TASKS, *BENCHMARKS)
"""All data sets of the paper, and one that it does not have: matched triangle-freeness."""

TU_FORMAT = "tu"
"""Name of the format of data sets of the TU collection, and of property tasks."""

FILE_FORMATS: Mapping[str, str] = {
    "smiles": "clipgnn.datasets.graph_files.smiles",
    "json-lines": "clipgnn.datasets.graph_files.node_link",
    "graph6": "clipgnn.datasets.graph_files.graph6",
    "graphml": "clipgnn.datasets.graph_files.markup",
    "gml": "clipgnn.datasets.graph_files.markup",
}
"""Module that reads files of graphs, by the name of their format."""

DATA_FORMATS = (TU_FORMAT, *FILE_FORMATS)
"""Names of all formats of data sets."""
