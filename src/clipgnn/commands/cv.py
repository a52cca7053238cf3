"""`clipgnn cv`."""

import csv
import io
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from clipgnn.commands.attributes import AttributeOptions
from clipgnn.commands.learning import Device, LearningOptions, Quiet, Seed
from clipgnn.commands.library_messages import library_messages
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.output import check_output
from clipgnn.commands.predict import as_csv
from clipgnn.commands.predictions import predictions_of
from clipgnn.commands.scores import score_table
from clipgnn.commands.sources import Data, SourceOptions, select
from clipgnn.commands.targets import TargetNames, TaskOption, check_trainable
from clipgnn.commands.terminal import terminal
from clipgnn.errors import DatasetFileError, InvalidParameterError, counted, one_line
from clipgnn.parameters.targets import Task
from clipgnn.progress import progress_bars, time_left
from clipgnn.writing import write_file

if TYPE_CHECKING:
    from clipgnn.datasets.targets import ReadTargets


@with_option_groups
def cv(
    data: Data,
    source: SourceOptions,
    learning: LearningOptions,
    attributes: AttributeOptions,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 10,
    target: TargetNames = None,
    task: TaskOption = Task.auto,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV file to write the scores of every fold to."),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(help="CSV file for the prediction of every graph by the model without it."),
    ] = None,
    spread: Annotated[
        bool,
        typer.Option("--spread", help="Add standard deviations to --predictions, as predict does."),
    ] = False,
    seed: Seed = 0,
    device: Device = "auto",
    quiet: Quiet = False,
) -> None:
    """Estimate by cross-validation how well a model predicts the targets of new graphs.

    Each fold is predicted by a model that is trained on all others, for all epochs, so that no
    choice depends on the tested graphs. Folds have equal shares of the classes.

    Example: clipgnn cv MUTAG --folds 10 --epochs 100
    """
    from clipgnn.datasets.targets import read_targets  # imports torch

    for flag, path in (("--output", output), ("--predictions", predictions)):
        if path is not None:
            check_output(path, flag)
    found = source.read(data)
    targets = read_targets(found, target, task)
    learning.estimator(targets.task, device=device, seed=seed, verbose=False)  # checks the options
    with library_messages():
        chosen = select(found, attributes.read, targets.problems, strict=source.strict)
        check_trainable(chosen, targets)
        learning.check_colorings(chosen)
        y = targets.of(chosen.numbers)
        splits = _splits(y, folds, targets.task, seed)
        scores, columns = [], []
        with _Progress(len(splits), shown=not quiet) as progress:
            for training, tested in splits:
                model = learning.estimator(targets.task, device=device, seed=seed, verbose=False)
                model.fit(chosen.graphs[training], y[training])
                model.target_names_ = list(targets.names)
                predicted = predictions_of(model, chosen.graphs[tested], spread=spread)
                columns.append((tested, predicted.columns()))
                scores.append(predicted.scores(y[tested]))
                progress.show(scores[-1])
    _print(scores, targets, len(chosen.numbers))
    if output is not None:
        write_file(output, _fold_rows(scores).encode())
    if predictions is not None:
        write_file(predictions, as_csv(chosen, _joined(columns, len(y))).encode())
    raise typer.Exit(chosen.status)


Scores = dict[str, dict[str, float]]
"""Scores of a fold, by target and name."""


def _splits(
    y: NDArray[Any], folds: int, task: Task, seed: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    from sklearn.model_selection import KFold, StratifiedKFold

    if task is Task.classification:
        limit = int(np.unique(y, return_counts=True)[1].min())
        what = "graphs of the smallest class"
        splitter: Any = StratifiedKFold(folds, shuffle=True, random_state=seed)
    else:
        limit, what = len(y), "graphs"
        splitter = KFold(folds, shuffle=True, random_state=seed)
    if limit < 2:
        raise DatasetFileError(
            f"A cross-validation must have at least two {what}. Got {counted(limit, 'graph')}."
        )
    if folds > limit:
        raise InvalidParameterError(
            f"folds must be at most {limit}, the number of {what}. Got {folds}.", parameter="folds"
        )
    return list(splitter.split(np.zeros(len(y)), y))


def _print(scores: Sequence[Scores], targets: "ReadTargets", number: int) -> None:
    means: Scores = {}
    spreads: Scores = {}
    for name in targets.names:
        known = [own[name] for own in scores if name in own]
        for score in dict.fromkeys(key for own in known for key in own):
            values = [own[score] for own in known if score in own]
            means.setdefault(name, {})[score] = float(np.mean(values))
            spreads.setdefault(name, {})[score] = float(np.std(values))
    console = terminal()
    console.print(score_table(means, "target", spreads), soft_wrap=False)
    console.print(
        f"Mean and standard deviation over {counted(len(scores), 'fold')} of {number} graphs."
    )


def _fold_rows(scores: Sequence[Scores]) -> str:
    """CSV with a row for each fold, target and score."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["fold", "target", "score", "value"])
    for fold, own in enumerate(scores, start=1):
        for target, values in own.items():
            writer.writerows([fold, target, name, value] for name, value in values.items())
    return file.getvalue()


def _joined(
    columns: Sequence[tuple[NDArray[np.int64], dict[str, list[Any]]]], number: int
) -> dict[str, list[Any]]:
    """Columns of all folds, in the order of the graphs."""
    joined: dict[str, list[Any]] = {}
    for fold, (tested, own) in enumerate(columns, start=1):
        for name, values in {**own, "fold": [fold] * len(tested)}.items():
            column = joined.setdefault(name, [""] * number)
            for place, value in zip(tested.tolist(), values, strict=True):
                column[place] = value
    return joined


class _Progress:
    """Folds that are finished, as a bar or as lines."""

    def __init__(self, folds: int, *, shown: bool) -> None:
        self._console = terminal(stderr=True)
        self._folds, self._shown = folds, shown
        self._bars = progress_bars("folds", self._console, shown=shown)
        self._task = self._bars.add_task("training", total=folds)
        self._began, self._done = time.monotonic(), 0

    def __enter__(self) -> "_Progress":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show(self, scores: Scores) -> None:
        """Show the scores of a finished fold."""
        self._done += 1
        name, value = next((own for row in scores.values() for own in row.items()), ("", 0.0))
        text = f"{name} {value:.4f}"
        self._bars.update(self._task, description=text, completed=self._done)
        if self._shown and not self._console.is_terminal:
            left = time_left(time.monotonic() - self._began, self._done, self._folds - self._done)
            self._console.print(one_line(f"fold {self._done} of {self._folds}: {text}{left}"))
