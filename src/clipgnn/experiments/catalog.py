"""The names of data sets, splits and published tables that an experiment file can use.

They are listed here because the packages that define them need torch, and experiment files are also
read on machines without it. The tests compare the lists. Models and their parameters are in
`clipgnn.parameters`.
"""

BENCHMARKS = ("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI")
"""Data sets of the TU collection known by name."""

DATASETS = ("connectivity", "bipartiteness", "triangle-freeness", "csl", *BENCHMARKS)
"""Data sets known by name."""

OPTION = "@"
"""Sign before an option of a TU data set, such as `MUTAG@edge_labels`."""

TU_OPTIONS = ("edge_labels", "node_attributes")
"""Options of TU data sets: arguments of `load_tu`."""

TU_PREFIX = "tu:"
"""Prefix of any other data set in the TU layout, such as `tu:NCI1`."""

SPLITS = ("cross-validation", "nested")
"""Folds of training and test graphs, without or with validation graphs among the former."""

PUBLISHED = ("table1", "table2", "colorings")
"""Tables of the paper whose numbers a report can show for comparison."""
