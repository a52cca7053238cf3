"""A package of a user: a data set and a network for an experiment of clipgnn."""
