"""Predictions of a trained model for the test graphs of a trial, stored without pickle."""

from dataclasses import dataclass
from io import BytesIO
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from clipgnn.errors import InvalidParameterError

VERSION = 2
"""Version of the files; those of version 1 have no number of a version and no targets."""

_VERSION = "version"


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for the test graphs of a trial: probabilities, or numbers for regression.

    Attributes:
        graphs: numbers of the test graphs, `[graphs]`.
        last: probabilities after the last epoch, `[graphs, classes]`.
        best: probabilities after the epoch with the best validation score, `[graphs, classes]`;
            None without validation graphs.
        targets: targets of the test graphs, classes `[graphs]` or numbers `[graphs, targets]`;
            None in files of version 1.

    Raises:
        InvalidParameterError: if the shapes do not match.
    """

    graphs: NDArray[np.int64]
    last: NDArray[np.float64]
    best: NDArray[np.float64] | None = None
    targets: NDArray[np.int64] | NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        rows, shape = self.graphs.shape, self.last.shape
        best = shape if self.best is None else self.best.shape
        if len(rows) != 1 or len(shape) != 2 or shape[:1] != rows or best != shape:
            raise InvalidParameterError(
                "last and best must have shape [graphs, classes], with one row for each of graphs. "
                f"Got shapes {rows}, {shape} and {best}."
            )
        if self.targets is not None and self.targets.shape[:1] != rows:
            raise InvalidParameterError(
                f"targets must have one row for each of the {rows[0]} graphs. Got shape "
                f"{self.targets.shape}."
            )

    def to_bytes(self) -> bytes:
        """Return the content of an .npz file."""
        arrays = {
            name: value
            for name in ("graphs", "last", "best", "targets")
            if (value := getattr(self, name)) is not None
        }
        file = BytesIO()
        np.savez(file, allow_pickle=False, **arrays, **{_VERSION: np.array(VERSION)})
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> "Predictions":
        """Return the predictions in the content of an .npz file; pickled data are refused.

        Raises:
            InvalidParameterError: if the content is damaged, has other arrays, or was written by a
                newer version of clipgnn.
        """
        try:
            with np.load(BytesIO(content), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
                version = int(arrays.pop(_VERSION, 1))
                if version <= VERSION:
                    return cls(**arrays)
        except (ValueError, TypeError, EOFError, OSError, BadZipFile) as error:
            raise InvalidParameterError(
                f"content must be a file of predictions. Got damaged or other data ({error})."
            ) from error
        raise InvalidParameterError(
            f"content must be of version {VERSION} or earlier. Got version {version}. Use a newer "
            "version of clipgnn."
        )
