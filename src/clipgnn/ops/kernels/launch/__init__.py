"""Launches of the Triton kernels of CLIP, with their grids and tile sizes."""
