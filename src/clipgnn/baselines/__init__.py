"""Baselines of the paper, one file for each."""
