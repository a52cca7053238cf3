"""The interface of a measurement: rows of numbers, and how to measure them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path


@dataclass(frozen=True)
class Plan:
    """What to measure, and for how long.

    Attributes:
        datasets: names of the data sets.
        device: device of torch.
        root: folder of the TU data sets, as for `load_dataset`.
        rounds: number of rounds; each of them measures everything that is compared.
        seconds: minimum duration of the measurement of a rate.
        workers: number of processes of one thread that clipgnn uses on the CPU, and number of
            threads of PyTorch Geometric.
        deterministic: whether runs on a GPU are repeatable in every bit.
    """

    datasets: tuple[str, ...]
    device: str = "cpu"
    root: Path | None = None
    rounds: int = 3
    seconds: float = 5.0
    workers: int = 1
    deterministic: bool = False

    @property
    def on_gpu(self) -> bool:
        """Whether the device is a GPU."""
        return self.device != "cpu"


class Row(ABC):
    """One row of a measurement; subclasses are dataclasses of numbers and names."""

    @abstractmethod
    def cells(self) -> dict[str, str]:
        """Return the texts of the row by the headings of their columns."""

    def remark(self) -> str:
        """Return a line for below the table; empty for none."""
        return ""


@dataclass(frozen=True)
class Measurement:
    """A measurement.

    Attributes:
        title: title of its table.
        note: what is measured, and how.
        row: class of its rows.
        measure: function that measures the rows.
    """

    title: str
    note: str
    row: type[Row]
    measure: Callable[[Plan], Sequence[Row]]


def measurement_named(name: str) -> Measurement:
    """Return the measurement with a name of `MEASUREMENTS`."""
    found: Measurement = import_module(f"clipgnn.bench.{name}").MEASUREMENT
    return found
