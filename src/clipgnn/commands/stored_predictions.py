"""Predictions for graphs on disk, one part after the other, here or on a Ray cluster."""

import csv
import io
import logging
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from clipgnn.commands.models import PredictionOptions
from clipgnn.commands.predictions import PredictionProgress, predictions_of
from clipgnn.errors import ClipGNNError, MissingDependencyError
from clipgnn.experiments.executors.ray_connection import RayConnection, reason_of

PART_GRAPHS = 2**14
"""Number of graphs whose predictions are computed together, in one process."""


@dataclass(frozen=True)
class StoredPrediction:
    """What is predicted for which graphs, as plain values that other machines can receive.

    Attributes:
        model: content of the model file.
        folder: folder of the graphs, on every machine.
        options: options of the prediction.
        spread: whether to add standard deviations.
    """

    model: bytes
    folder: str
    options: dict[str, Any]
    spread: bool

    @classmethod
    def of(
        cls, model: Path, folder: Path, options: PredictionOptions, *, spread: bool
    ) -> "StoredPrediction":
        """Return the prediction that options describe.

        Raises:
            ModelNotFoundError: if there is no such model.
            ModelFileError: if it is not the file of an estimator.
        """
        options.load(model)  # checks it before anything is started
        return cls(model.read_bytes(), str(folder.absolute()), asdict(options), spread)

    def parts(self) -> list[tuple[int, int]]:
        """First and last graph of each part."""
        graphs = _graphs(self.folder)
        count, at_once = len(graphs), graphs.graphs_at_once(PART_GRAPHS)
        return [(start, min(start + at_once, count)) for start in range(0, count, at_once)]


class PartPredictor:
    """Predicts parts of the graphs; a model is loaded once.

    Args:
        prediction: what to predict.
    """

    def __init__(self, prediction: StoredPrediction) -> None:
        self._spread = prediction.spread
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.safetensors"
            path.write_bytes(prediction.model)
            self._model = PredictionOptions(**prediction.options).load(path)
        self._graphs = _graphs(prediction.folder)

    def header(self) -> str:
        """The line of column names."""
        import torch

        found = predictions_of(self._model, self._graphs.example(), spread=self._spread)
        rows = {} if self._graphs.rows(torch.zeros(1, dtype=torch.int64)) is None else {"row": None}
        return _as_csv([["graph", *rows, *found.columns()]])

    def part(self, start: int, stop: int) -> str:
        """Predictions of consecutive graphs, as lines of a CSV file."""
        return _as_csv(zip(*self._columns(start, stop).values(), strict=True))

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        """Predict parts, as a function of Ray Data on batches of rows."""
        bounds = zip(batch["start"].tolist(), batch["stop"].tolist(), strict=True)
        return {"lines": [self.part(*bound) for bound in bounds]}

    def _columns(self, start: int, stop: int) -> dict[str, list[Any]]:
        import torch

        found = predictions_of(self._model, self._graphs[start:stop], spread=self._spread)
        rows = self._graphs.rows(torch.arange(start, stop))
        columns: dict[str, list[Any]] = {"graph": list(range(start + 1, stop + 1))}
        if rows is not None:
            columns["row"] = (rows + 1).tolist()
        return columns | found.columns()


def _as_csv(rows: Iterable[Sequence[Any]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def predicted_here(prediction: StoredPrediction, *, shown: bool) -> Iterator[str]:
    """Predict all graphs in this process; yield the lines of a CSV file."""
    predictor = PartPredictor(prediction)
    yield predictor.header()
    parts = prediction.parts()
    with PredictionProgress(parts[-1][1], shown=shown) as progress:
        for start, stop in parts:
            yield predictor.part(start, stop)
            progress.show(stop)


def predicted_with_ray(
    prediction: StoredPrediction, address: str | None, num_workers: int, *, shown: bool
) -> Iterator[str]:
    """Predict all graphs on a cluster with Ray Data; yield the lines of a CSV file, in order.

    A part that is lost with its node is computed again on another one.

    Args:
        prediction: what to predict; its folder must be the same on every machine.
        address: address of the cluster; by default Ray runs on this machine.
        num_workers: number of processes.
        shown: whether to show the progress.

    Raises:
        ClipGNNError: if the cluster does not respond, or a prediction fails.
    """
    header = PartPredictor(prediction).header()
    parts = prediction.parts()
    with RayConnection(address):
        try:
            data: Any = import_module("ray.data")
        except ImportError as error:
            raise MissingDependencyError(
                "Predictions with Ray require Ray Data, which is not complete here. "
                f"Use pip install 'clipgnn[ray]'. {error}"
            ) from error
        context = data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        # Devices of other machines are chosen there.
        remote = replace(prediction, options={**prediction.options, "device": "auto"})
        rows = data.from_items(
            [{"start": start, "stop": stop} for start, stop in parts],
            override_num_blocks=len(parts),
        ).map_batches(
            PartPredictor,
            fn_constructor_args=(remote,),
            batch_size=1,
            compute=data.ActorPoolStrategy(size=min(num_workers, len(parts))),
        )
        yield header
        with PredictionProgress(parts[-1][1], shown=shown) as progress:
            try:
                for (_, stop), row in zip(parts, rows.iter_rows(), strict=True):
                    yield row["lines"]
                    progress.show(stop)
            except Exception as error:
                raise ClipGNNError(
                    f"The prediction on the Ray cluster failed. {reason_of(error)}"
                ) from error


def _graphs(folder: str) -> Any:
    from clipgnn import PackedGraphs

    return PackedGraphs.open(folder)
