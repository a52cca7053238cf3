"""The options of data sets, splits and published tables that an experiment file can use.

Data sets, models and their parameters are in `clipgnn.parameters`. The tests compare the names of
published tables with those of the report, which is a layer above.
"""

from clipgnn.parameters import is_import_path
from clipgnn.parameters.datasets import FILE_PREFIX, is_pair_set

OPTION = "@"
"""Sign before an option of a TU data set, such as `MUTAG@edge_labels`."""

TU_OPTIONS = ("edge_labels", "node_attributes")
"""Options of TU data sets: arguments of `load_tu`."""

TU_PREFIX = "tu:"
"""Prefix of any other data set in the TU layout, such as `tu:NCI1`."""


def is_own_dataset(dataset: str) -> bool:
    """Return whether a data set is loaded by a function of the user, named by its import path.

    The prefixes of TU data sets, files and pairs take precedence: modules named "tu", "file",
    "pairs", "different" and "copies" cannot be used.
    """
    named = dataset.startswith((TU_PREFIX, FILE_PREFIX)) or is_pair_set(dataset)
    return not named and is_import_path(dataset)


FRESH = "fresh"
"""Option of the generated data sets: graphs of another seed, `csl@fresh`."""


def fresh_name(dataset: str) -> str:
    """Return the name of the fresh graphs of a data set."""
    return f"{dataset}{OPTION}{FRESH}"


GROUPS = ("none", "pairs", "isomorphic")
"""Which graphs are kept in one fold: the two graphs of each pair of a property task, or isomorphic
graphs."""

SPLITS = ("cross-validation", "nested", "pairs")
"""Folds of training and test graphs, without or with validation graphs among the former; or pairs
of graphs, with a network for each pair."""

VALIDATION_SHARE = 0.1
"""Share of the training graphs that a nested split holds out for validation, by default."""

PUBLISHED = ("table1", "table2", "table4")
"""Tables of the paper whose numbers a report can show for comparison."""
