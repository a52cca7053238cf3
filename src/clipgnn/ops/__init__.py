"""Numeric kernels on tensors, with torch only: sums, look-up, hashing, numbering."""
