"""Sizes of a batch as arguments of kernels."""

# mypy: ignore-errors
import triton

SIZES = (
    "all_nodes",
    "capacity",
    "colorings",
    "first_row",
    "graphs",
    "in_channels",
    "largest",
    "nodes",
    "num_colors",
    "num_rows",
    "out_channels",
    "padding",
    "phi_rows",
    "psi_rows",
    "size",
    "threshold",
    "tiles",
)
"""Arguments for whose values a kernel is not compiled again, as Triton does for 1 and for multiples
of 16. Kernels are compiled for each number of channels only."""

kernel = triton.jit(do_not_specialize=SIZES)
"""Decorator of kernels that are launched."""
