"""Graph sets with every combination of what edges and graphs can carry."""

import torch

from clipgnn.graphs.packed import PackedGraphs

SIZES = (4, 1, 6, 3, 5, 2, 7, 4)
KINDS = ("weights", "edge attributes", "direction", "graph attributes")


def graph_set(kinds: frozenset[str], *, labels: bool = False, seed: int = 0) -> PackedGraphs:
    """Random graphs with some of `KINDS`, duplicate edges and self-loops included.

    Weights and attributes differ between the two directions of an edge. One graph has a single
    node, one has no edges, and one has neither.
    """
    generator = torch.Generator().manual_seed(seed)
    edges, counts = [], []
    for number, size in enumerate((*SIZES, 0)):
        count = 0 if number in (3, 8) else 2 * size
        pairs = torch.randint(max(1, size), (2, count), generator=generator)
        if "direction" not in kinds:
            pairs = torch.cat([pairs, pairs.flip(0)], dim=1)
        edges.append(pairs)
        counts.append(pairs.shape[1])
    sizes = torch.tensor([*SIZES, 0])
    num_nodes, num_edges = int(sizes.sum()), sum(counts)

    def randn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    label = torch.randint(3, (num_nodes,), generator=generator)
    return PackedGraphs(
        name="contract",
        x=label if labels else torch.nn.functional.one_hot(label, 3).double(),
        in_channels=3,
        edge_index=torch.cat(edges, dim=1),
        node_pointers=torch.nn.functional.pad(sizes.cumsum(0), (1, 0)),
        edge_pointers=torch.nn.functional.pad(torch.tensor(counts).cumsum(0), (1, 0)),
        y=torch.arange(sizes.numel()) % 2,
        edge_attr=randn(num_edges, 2) if "edge attributes" in kinds else None,
        edge_weight=randn(num_edges) if "weights" in kinds else None,
        graph_attr=randn(sizes.numel(), 2) if "graph attributes" in kinds else None,
    )


ALL_KINDS = [
    frozenset(kind for place, kind in enumerate(KINDS) if mask >> place & 1)
    for mask in range(2 ** len(KINDS))
]
"""Every subset of `KINDS`."""
