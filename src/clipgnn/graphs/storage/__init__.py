"""Graph sets on disk: a folder of shards, which are mapped into memory when they are read."""
