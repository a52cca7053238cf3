"""Numbers of colorings that fit in memory."""

from dataclasses import dataclass

from clipgnn.graphs.exact import ExactBatch
from clipgnn.parameters import CLIPParameters

MAX_ACTIVATION_BYTES = {"cpu": 2**25, "other": 2**29}
"""Largest size of an activation with gradients. Colorings that do not fit are streamed."""

MAX_PART_BYTES = {"cpu": 2**20, "other": 2**29}
"""Largest size of an activation without gradients, which should fit in the cache of a CPU."""


@dataclass(frozen=True)
class MemoryLimits:
    """Limits of the number of colorings that a model computes at the same time.

    Attributes:
        config: configuration of the model.
        device_type: type of the device of the model.
        element_size: bytes of a number.
    """

    config: CLIPParameters
    device_type: str
    element_size: int

    def max_unstreamed(self, graphs: ExactBatch, *, with_gradients: bool) -> int:
        """Largest number of colorings that are computed without streaming.

        With gradients it is at least the number of channels, because streaming would compute up to
        one winning coloring for each channel again.
        """
        if self.config.colorings_at_once is not None:
            return self.config.colorings_at_once
        if with_gradients:
            return max(self.part_size_with_gradients(graphs), self.config.hidden_channels)
        return self.part_size(graphs)

    def part_size(self, graphs: ExactBatch) -> int:
        """Number of colorings of a part without gradients."""
        return self._fitting(graphs, MAX_PART_BYTES)

    def part_size_with_gradients(self, graphs: ExactBatch) -> int:
        """Number of colorings of a part with gradients."""
        return self._fitting(graphs, MAX_ACTIVATION_BYTES)

    def _fitting(self, graphs: ExactBatch, limits: dict[str, int]) -> int:
        if self.config.colorings_at_once is not None:
            return self.config.colorings_at_once
        rows = graphs.num_nodes
        if self.config.edge_channels:  # φ then has activations on edges
            rows = max(rows, graphs.edges.num_edges)
        limit = limits["cpu" if self.device_type == "cpu" else "other"]
        return max(1, limit // (rows * self.config.hidden_channels * self.element_size))
