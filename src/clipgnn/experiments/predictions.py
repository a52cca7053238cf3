"""Predictions of a trained model for the test graphs of a trial, stored without pickle."""

from dataclasses import dataclass
from io import BytesIO
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from clipgnn.errors import InvalidParameterError


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for the test graphs of a trial: probabilities, or numbers for regression.

    Attributes:
        graphs: numbers of the test graphs, `[graphs]`.
        last: probabilities after the last epoch, `[graphs, classes]`.
        best: probabilities after the epoch with the best validation score, `[graphs, classes]`;
            None without validation graphs.

    Raises:
        InvalidParameterError: if the shapes do not match.
    """

    graphs: NDArray[np.int64]
    last: NDArray[np.float64]
    best: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        rows, shape = self.graphs.shape, self.last.shape
        best = shape if self.best is None else self.best.shape
        if len(rows) != 1 or len(shape) != 2 or shape[:1] != rows or best != shape:
            raise InvalidParameterError(
                "last and best must have shape [graphs, classes], with one row for each of graphs. "
                f"Got shapes {rows}, {shape} and {best}."
            )

    def to_bytes(self) -> bytes:
        """Return the content of an .npz file."""
        arrays: dict[str, NDArray[np.int64] | NDArray[np.float64]] = {
            "graphs": self.graphs,
            "last": self.last,
        }
        if self.best is not None:
            arrays["best"] = self.best
        file = BytesIO()
        np.savez(file, allow_pickle=False, **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> "Predictions":
        """Return the predictions in the content of an .npz file; pickled data are refused.

        Raises:
            InvalidParameterError: if the content is damaged or has other arrays.
        """
        try:
            with np.load(BytesIO(content), allow_pickle=False) as file:
                return cls(**{name: file[name] for name in file.files})
        except (ValueError, TypeError, EOFError, OSError, BadZipFile) as error:
            raise InvalidParameterError(
                f"content must be a file of predictions. Got damaged or other data ({error})."
            ) from error
