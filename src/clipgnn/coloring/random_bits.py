"""Random bits of graphs and nodes: from a generator, or hashed from keys of the graphs."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clipgnn.coloring.groups import Partition
from clipgnn.ops.hashing import mix
from clipgnn.ops.pointers import pointers_from_index


@dataclass(frozen=True)
class RandomBits:
    """A source of random bits.

    If a partition has keys, its bits are a function of the key of a graph, the number of the draw
    and the position in the graph. The bits of a graph then do not depend on the other graphs.

    Attributes:
        generator: source of randomness for partitions without keys; the global generator of torch
            by default.
    """

    generator: torch.Generator | None

    def of_nodes(self, partition: Partition, rows: int, draw: int) -> Tensor:
        """64 random bits for each row and node, `[rows, nodes]`.

        Args:
            partition: the graphs.
            rows: number of rows.
            draw: a number that differs in every draw.
        """
        graph_of_node = partition.graph_of_node
        if partition.keys is None:
            return self._drawn((rows, graph_of_node.numel()), graph_of_node.device)
        nodes = torch.arange(graph_of_node.numel(), device=graph_of_node.device)
        first = pointers_from_index(graph_of_node, partition.num_graphs)
        position = nodes - first[graph_of_node]
        row = torch.arange(rows, device=nodes.device)[:, None]
        start = _start(partition.keys, draw)[graph_of_node]
        return mix(start ^ mix((row << 32) + position + 1))

    def of_graphs(self, partition: Partition, columns: int) -> Tensor:
        """64 random bits for each graph and column, `[graphs, columns]`."""
        if partition.keys is None:
            return self._drawn((partition.num_graphs, columns), partition.groups.device)
        column = torch.arange(columns, device=partition.keys.device)
        return mix(_start(partition.keys, 0)[:, None] ^ mix(column + 1))

    def _drawn(self, shape: tuple[int, int], device: torch.device) -> Tensor:
        drawn_on = device if self.generator is None else self.generator.device
        low, high = -(2**63), 2**63 - 1
        drawn = torch.randint(low, high, shape, generator=self.generator, device=drawn_on)
        return drawn.to(device)


def _start(keys: Tensor, draw: int) -> Tensor:
    return mix(keys + mix(torch.full_like(keys, draw + 1)))
