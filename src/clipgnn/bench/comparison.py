"""Rates of clipgnn and of PyTorch Geometric in the same rounds."""

import statistics
from dataclasses import dataclass

from clipgnn.bench.measurement import Row
from clipgnn.bench.setting import Setting


@dataclass(frozen=True)
class Comparison(Row):
    """Rates of both, by round.

    Attributes:
        setting: the setting.
        ours: rates of clipgnn.
        peer: rates of PyTorch Geometric.
    """

    setting: Setting
    ours: list[float]
    peer: list[float]

    @property
    def ratio(self) -> float:
        """Ratio of the medians."""
        return statistics.median(self.ours) / statistics.median(self.peer)

    @property
    def ratios(self) -> list[float]:
        """Ratio of each round."""
        return [own / other for own, other in zip(self.ours, self.peer, strict=True)]

    def cells_in(self, unit: str) -> dict[str, str]:
        """Return the texts of a table, with the unit of the rates."""
        ours, peer = statistics.median(self.ours), statistics.median(self.peer)
        return {
            **self.setting.cells(),
            unit: f"{ours:.4g}",
            "PyG": f"{peer:.4g}",
            "ratio": f"{self.ratio:.1f}",
            "by round": f"{min(self.ratios):.1f} to {max(self.ratios):.1f}",
        }
