"""Triton kernels. Importing these modules requires Triton, which comes with torch for GPUs."""
