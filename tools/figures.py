"""Draw the figures of the documentation: `make figures`.

    python tools/figures.py --store results/table1-gin.sqlite

Writes PNG and SVG files to `docs/figures`: two colorings of one graph (Figure 3 of the paper), and
accuracies by number of colorings (Table 4 as a plot) and learning curves from the store of Table 1.
Accuracies are those of `table4-seeds` on the data sets that the store has with all of its seeds.
Data sets that the store does not have are named in the figures.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import networkx as nx
import torch

from clipgnn.coloring import all_colorings, color_groups
from clipgnn.experiments import Experiment, MeasuredCell, Overrides, Store, evaluate
from clipgnn.experiments.evaluation import chosen_curves
from clipgnn.experiments.plans import with_stored_data
from clipgnn.experiments.reading import find_experiment, read_experiment
from clipgnn.report.coloring_figure import draw_colorings
from clipgnn.report.curve_figure import draw_learning_curves
from clipgnn.report.figures import add_note, save_figure
from clipgnn.report.published import published
from clipgnn.report.score_figure import draw_scores
from clipgnn.report.series import CurveLine, ScorePanel

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
STORE = Path(__file__).parents[1] / "results" / "table1-gin.sqlite"
PROTOCOL = "gin"
ROWS = ("0-CLIP", "CLIP")
"""CLIP's rows of Table 1."""

NUMBER = "num_colorings"
"""The parameter k."""


def coloring_figure() -> None:
    """Draw two of the twelve colorings of a graph with three attributes."""
    graph = nx.Graph([(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5), (1, 2)])
    positions = {0: (0, 2), 1: (1.6, 2), 2: (0, 1), 3: (1.6, 1), 4: (0, 0), 5: (1.6, 0)}
    attributes = {0: "a", 1: "b", 2: "b", 3: "a", 4: "c", 5: "b"}
    labels = torch.tensor(["abc".index(attributes[node]) for node in sorted(graph)])
    found = torch.cat(list(all_colorings(color_groups(labels)))).tolist()
    chosen = {number: dict(enumerate(found[number])) for number in (3, 9)}
    titles = {f"Coloring {number + 1} of {len(found)}": own for number, own in chosen.items()}
    save_figure(draw_colorings(graph, attributes, titles, positions), FOLDER / "colorings")


def by_number(experiment: Experiment) -> Experiment:
    """Return the experiment with CLIP's rows only, and one row for each number of colorings."""
    rows = [
        replace(row, name=f"{number}-CLIP", axes={**row.axes, NUMBER: (number,)})
        for row in experiment.rows
        if row.name in ROWS
        for number in row.axes[NUMBER]
    ]
    return replace(experiment, rows=tuple(rows))


def is_shown(cell: MeasuredCell) -> bool:
    """Return whether all trials of a cell are in the store, and a configuration can be chosen."""
    return cell.measurement.complete and bool(cell.measurement.values)


def not_shown(cells: Sequence[MeasuredCell]) -> str:
    """Return sentences about the data sets and cells that are missing."""
    begun = {cell.dataset for cell in cells if cell.measurement.finished}
    absent = dict.fromkeys(cell.dataset for cell in cells if cell.dataset not in begun)
    partly = [
        f"{cell.dataset} ({cell.row})"
        for cell in cells
        if cell.dataset in begun and not is_shown(cell)
    ]
    lists = {"Not measured yet": absent, "Incomplete": partly}
    return " ".join(f"{name}: {', '.join(own)}." for name, own in lists.items() if own)


def num_configurations(experiment: Experiment, cells: Iterable[MeasuredCell]) -> str:
    """Return how many configurations the cells were chosen from: a number, or a range."""
    numbers = [cell.measurement.expected // experiment.folds for cell in cells]
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def folds(experiment: Experiment) -> str:
    """Describe what means are taken over."""
    seeds = len(experiment.seeds)
    mean = "one seed" if seeds == 1 else f"each the mean of {seeds} seeds"
    return f"{experiment.folds} folds, {mean}"


def cells_by_dataset(experiment: Experiment, store: Store) -> dict[str, list[MeasuredCell]]:
    """Return the evaluated cells of an experiment for each of its data sets."""
    cells: dict[str, list[MeasuredCell]] = {own: [] for own in experiment.datasets}
    for cell in evaluate(experiment, store.results(), PROTOCOL, store.diverged()):
        cells[cell.dataset].append(cell)
    return cells


def score_figure(experiment: Experiment, seeded: Experiment, store: Store) -> None:
    """Draw the accuracy of k-CLIP by k, with the best configuration for each k.

    Args:
        experiment: Table 1.
        seeded: rows of Table 4 with several seeds, shown on data sets whose trials are complete.
            Values of k that it does not have are not shown there: a maximum over epochs of one
            seed is larger than that of a mean over seeds.
        store: the trials of both.
    """
    experiment = by_number(experiment)
    found = cells_by_dataset(experiment, store)
    more = {
        dataset: own
        for dataset, own in cells_by_dataset(seeded, store).items()
        if dataset in found and all(map(is_shown, own))
    }
    cells = [cell for own in (found | more).values() for cell in own]
    panels: dict[str, ScorePanel] = {}
    for cell in filter(is_shown, cells):
        title = (
            f"{cell.dataset}, {len(seeded.seeds)} seeds" if cell.dataset in more else cell.dataset
        )
        panel = panels.setdefault(cell.dataset, ScorePanel(title))
        number = int(cell.row.removesuffix("-CLIP"))
        panel.scores[number] = [100 * value for value in cell.measurement.values.values()]
        paper = published("table4", cell.row, cell.dataset)
        if paper is not None and paper.mean is not None:
            panel.published[number] = paper.mean
    figure = draw_scores(
        list(panels.values()), parameter="number k of colorings", score="test accuracy (%)"
    )
    others = f" ({' and '.join(more)}: {folds(seeded)})" if more else ""
    absent = {row.name for row in experiment.rows} - {row.name for row in seeded.rows}
    if more and absent:
        others = f"{others[:-1]}, without {', '.join(sorted(absent))})"
    add_note(
        figure,
        f"Bars: 95 % t-intervals of the mean over {folds(experiment)}{others}. Epoch and "
        f"configuration are chosen on the same folds\n(protocol {PROTOCOL}), for each k among "
        f"{num_configurations(experiment, cells)} configurations; the intervals do not include "
        f"this choice. Paper: means of its Table 4 (no k = 2). {not_shown(cells)}",
    )
    save_figure(figure, FOLDER / "colorings-accuracy")


def curve_figure(experiment: Experiment, store: Store) -> None:
    """Draw the learning curves of the configurations of Table 1."""
    experiment = Overrides(models=ROWS)(experiment)
    results = store.results()
    cells = evaluate(experiment, results, PROTOCOL, store.diverged())
    lines: dict[str, list[CurveLine]] = {}
    for cell in filter(is_shown, cells):
        [choice] = cell.measurement.choices
        own = choice.configuration
        label = (
            f"{own[NUMBER]}-CLIP, T = {own['num_layers']}, {own['hidden_channels']} units, "
            f"batch {own['batch_size']}"
        )
        curves = list(chosen_curves(experiment, cell, results).values())
        lines.setdefault(cell.dataset, []).append(CurveLine(label, curves, choice.epoch))
    tried = [
        f"{num_configurations(experiment, [cell for cell in cells if cell.row == row])} for {row}"
        for row in ROWS
    ]
    figure = draw_learning_curves(lines)
    add_note(
        figure,
        f"Lines: means over {folds(experiment)}. Areas: from the 10th to the 90th percentile of "
        f"the folds. Circles: the epoch that the protocol {PROTOCOL} chooses;\nconfigurations are "
        f"those of Table 1, the best of {' and of '.join(tried)}. {not_shown(cells)}",
    )
    save_figure(figure, FOLDER / "learning-curves")


def main() -> None:
    """Draw all figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, default=STORE, help="store of Table 1")
    path = parser.parse_args().store
    FOLDER.mkdir(exist_ok=True)
    coloring_figure()
    with Store(path) as store:
        experiment, seeded = (
            with_stored_data(read_experiment(find_experiment(name)), store)
            for name in ("table1", "table4-seeds")
        )
        score_figure(experiment, seeded, store)
        curve_figure(experiment, store)


if __name__ == "__main__":
    main()
