"""What comes in: batches of graphs, checked, and graphs made from a seed."""
