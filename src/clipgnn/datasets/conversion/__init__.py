"""Conversion of files of graphs to folders that are read in parts."""
