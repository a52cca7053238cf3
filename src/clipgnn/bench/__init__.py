"""Benchmarks: speed compared with PyTorch Geometric, and growth of cost with k, E and T."""
