"""Eqs. (4) and (6): nodes with identical attributes get distinct colors."""

from clipgnn.coloring.computed import with_colorings
from clipgnn.coloring.count import log_num_colorings, num_colorings
from clipgnn.coloring.enumerate import all_colorings
from clipgnn.coloring.groups import color_groups
from clipgnn.coloring.sample import sample_colorings
from clipgnn.coloring.schemes import Sampler, Scheme

__all__ = [
    "Sampler",
    "Scheme",
    "all_colorings",
    "color_groups",
    "log_num_colorings",
    "num_colorings",
    "sample_colorings",
    "with_colorings",
]
