"""Benchmarks: speed and memory compared with PyTorch Geometric, and growth of cost.

Each measurement is a module with a `MEASUREMENT`, which measures rows of numbers.
"""

MEASUREMENTS = ("training", "start", "inference", "colorings", "memory", "growth", "together")
"""Names of the measurements, which are modules of this package."""
