"""Comparison of two graphs: what message passing, colorings and canonical colorings distinguish."""
