"""How many colorings to hold at a time."""

from dataclasses import dataclass

from clipgnn.graphs.batch import GraphBatch
from clipgnn.nn.config import CLIPConfig

LARGEST_ACTIVATION = {"cpu": 2**25, "other": 2**29}
"""Bytes of an activation, with gradients; more colorings than fit in it are streamed."""

LARGEST_PART = {"cpu": 2**22, "other": 2**29}
"""Bytes of an activation without gradients, or of a part of the stream: a CPU's cache is small."""


@dataclass(frozen=True)
class Memory:
    """What a model may hold of its colorings.

    Attributes:
        config: the model's configuration.
        device_type: where it computes.
        element_size: bytes of a number.
    """

    config: CLIPConfig
    device_type: str
    element_size: int

    def colorings_held(self, graphs: GraphBatch, *, learning: bool) -> int:
        """Colorings up to which nothing is streamed.

        Winners are as many as channels: with gradients, fewer colorings are not worth a search.
        """
        if self.config.colorings_at_once is not None:
            return self.config.colorings_at_once
        if learning:
            return max(self.colorings_with_gradients(graphs), self.config.hidden_channels)
        return self.colorings_in_part(graphs)

    def colorings_in_part(self, graphs: GraphBatch) -> int:
        """Colorings of these graphs to take at a time."""
        return self._fitting(graphs, LARGEST_PART)

    def colorings_with_gradients(self, graphs: GraphBatch) -> int:
        """Colorings of these graphs to hold at a time with all that gradients need."""
        return self._fitting(graphs, LARGEST_ACTIVATION)

    def _fitting(self, graphs: GraphBatch, limits: dict[str, int]) -> int:
        if self.config.colorings_at_once is not None:
            return self.config.colorings_at_once
        rows = graphs.num_nodes
        if self.config.edge_channels:  # φ then has activations on edges
            rows = max(rows, graphs.edges.pattern.row.numel())
        limit = limits["cpu" if self.device_type == "cpu" else "other"]
        return max(1, limit // (rows * self.config.hidden_channels * self.element_size))
