"""How fast it is: against PyTorch Geometric in one run, and as k, E and T grow."""
