"""Scores by the number k of colorings, from rows that differ in k only."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from clipgnn.experiments.attempts import Failure
from clipgnn.experiments.evaluation import evaluate
from clipgnn.experiments.experiment import Experiment, ModelRow
from clipgnn.experiments.store import StoredResult
from clipgnn.parameters import model_named
from clipgnn.report.published import published
from clipgnn.report.series import ScorePanel, score_factor

NUMBER = "num_colorings"
"""The parameter k."""

_PAPER = "table4"
"""Table of the paper with scores by k, of the data sets of Table 1."""


def by_number(experiment: Experiment) -> Iterator[tuple[str, Experiment]]:
    """Yield parts of an experiment with one data set, and one row for each of several values of k.

    A row with several values of k becomes several rows, named by k. Rows are in one part if they
    have the same model and the same values of all other parameters.

    Yields:
        Title and part, such as "MUTAG", or "MUTAG, CLIP" if there are several parts of a data set.
    """
    groups: dict[tuple[str, str], list[ModelRow]] = {}
    names: dict[tuple[str, str], set[str]] = {}
    for dataset in experiment.datasets:
        for row in experiment.rows:
            if dataset not in row.datasets or NUMBER not in model_named(row.model).rules:
                continue
            axes = dict(experiment.axes(row, dataset))
            numbers = axes.pop(NUMBER, ())
            key = dataset, repr((row.model, sorted(axes.items())))
            names.setdefault(key, set()).add(re.sub(r"^\d+-", "", row.name))
            groups.setdefault(key, []).extend(
                replace(
                    row,
                    name=str(number),
                    datasets=(dataset,),
                    only={dataset: {**row.only.get(dataset, {}), NUMBER: (number,)}},
                )
                for number in numbers
            )
    several = {key: {row.name: row for row in rows} for key, rows in groups.items()}
    several = {key: rows for key, rows in several.items() if len(rows) > 1}
    datasets = [dataset for dataset, _ in several]
    for key, rows in several.items():
        dataset, name = key[0], " and ".join(sorted(names[key]))
        title = dataset if datasets.count(dataset) == 1 else f"{dataset}, {name}"
        yield title, replace(experiment, rows=tuple(rows.values()), datasets=(dataset,))


def scores_by_number(
    experiment: Experiment,
    results: Mapping[str, StoredResult],
    protocol: str,
    diverged: Mapping[str, Failure],
) -> tuple[list[ScorePanel], list[str]]:
    """Measure each k with its own choice of configuration and epoch.

    Args:
        experiment: the experiment.
        results: results of finished trials, by identity of the trial.
        protocol: name of the protocol.
        diverged: failures of diverged trials, by identity.

    Returns:
        A panel for each data set with more than one complete k, and sentences about incomplete k.
    """
    panels, notes = [], []
    for title, part in by_number(experiment):
        cells = evaluate(part, results, protocol, diverged)
        shown = [own for own in cells if own.measurement.complete and own.measurement.values]
        left = [own.row for own in cells if own not in shown]
        if left:
            notes.append(f"{title}: incomplete and not shown: k = {', '.join(left)}.")
        if len(shown) < 2:
            continue
        panel = ScorePanel(title, metric=shown[0].metric)
        factor = score_factor(panel.metric)
        for own in shown:
            number = int(own.row)
            panel.scores[number] = [factor * value for value in own.measurement.values.values()]
            paper = _published(experiment, number, own.dataset)
            if paper is not None:
                panel.published[number] = paper
        panels.append(panel)
    return panels, notes


def _published(experiment: Experiment, number: int, dataset: str) -> float | None:
    """Return the paper's mean for a number of colorings, from the table itself or Table 4."""
    if experiment.published is None:
        return None
    for table in (experiment.published, _PAPER):
        found = published(table, f"{number}-CLIP", dataset)
        if found is not None:
            return found.mean
    return None
