"""Formats of graphs in memory: each is read into `GraphColumns`, and written from a data set."""
