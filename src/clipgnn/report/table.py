"""Tables of results: measured numbers, those of the paper, and marks of the best ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clipgnn.errors import InvalidParameterError, listed
from clipgnn.experiments.evaluation import MeasuredCell
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.protocol import EXPLANATIONS, Measurement
from clipgnn.parameters import METRICS
from clipgnn.parameters.recipe import PAIR_RECIPE
from clipgnn.report.published import Published, published
from clipgnn.report.significance import LEVEL, Comparison, compare, differs, rounding_error


@dataclass(frozen=True)
class Column:
    """Column of a data set.

    Attributes:
        dataset: name of the data set.
        extremes: whether to also show the best and the worst fold.
        metric: name of the metric of its scores.
    """

    dataset: str
    extremes: bool
    metric: str

    @property
    def percent(self) -> bool:
        """Whether scores are shown in percent; errors are not."""
        return METRICS[self.metric]


@dataclass(frozen=True)
class Entry:
    """A table cell.

    Attributes:
        measurement: the measurement; None if the cell is not part of the experiment.
        published: the paper's number; None if there is none.
        best: whether the measurement is the best mean of its column.
        near_best: whether the measurement does not differ significantly from the best one, by the
            paper's unpaired test.
        paired: paired comparison with the best measurement; None for the best one, and if they do
            not have the same folds.
        not_applicable: why there is no measurement; empty if there is one, or no reason is given.
        num_seeds: number of seeds that were asked for; 0 if the cell is not part of the experiment.
    """

    measurement: Measurement | None
    published: Published | None
    best: bool = False
    near_best: bool = False
    paired: Comparison | None = None
    not_applicable: str = ""
    num_seeds: int = 0

    @property
    def differs(self) -> bool:
        """Whether the measurement differs from the best one by the paired test."""
        return self.paired is not None and self.paired.differs


@dataclass(frozen=True)
class Row:
    """Row of a model, with a cell for each column."""

    name: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Table:
    """A table of results.

    Attributes:
        title: its title.
        protocol: name of the protocol of its numbers.
        columns: its columns, one per data set.
        rows: its rows, one per model.
        over: what means and standard deviations are taken over.
        provenance: origin of the numbers, in lines.
        missing: sentences about missing trials; none if all that were asked for are finished.
    """

    title: str
    protocol: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    over: str
    provenance: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether all measurements are complete."""
        return all(
            entry.measurement is None or entry.measurement.complete
            for row in self.rows
            for entry in row.entries
        )

    @property
    def caption(self) -> str:
        """Explanation of the protocol, the marks and missing numbers."""
        if self.protocol == "pairs":
            sentences = [
                f'Protocol "pairs": {EXPLANATIONS["pairs"]}.{self._other_recipe()}',
                "Separated: the network distinguishes the two graphs and is reliable. Failed: all "
                f"other pairs, with the unreliable ones among them. Numbers of {self.over}.",
            ]
            return " ".join([self.incompleteness, *sentences] if self.incompleteness else sentences)
        shown = f"mean ± standard deviation over {self.over}"
        if any(column.extremes for column in self.columns):
            shown += ", with the best and the worst fold (max, min)"
        for metric, percent in dict.fromkeys((own.metric, own.percent) for own in self.columns):
            shown += f", {metric} in percent" if percent else f", {metric}"
        sentences = [
            f'Protocol "{self.protocol}": {EXPLANATIONS[self.protocol]}.',
            f"{shown[0].upper()}{shown[1:]}.",
            "* marks the best mean of a column, bold the means that do not differ significantly "
            f"from it (unpaired two-sided t-test of unequal variances, level {LEVEL:g}).",
            "† marks means that differ from the best one by a paired test over the same folds "
            "(corrected resampled t-test of Nadeau and Bengio, Holm's correction over the rows of "
            f"the column, level {LEVEL:g}; not applied to the paper's numbers).",
        ]
        if any(
            own.measurement and own.measurement.fresh for row in self.rows for own in row.entries
        ):
            sentences.append(
                '"Fresh graphs" are generated with another seed; the networks are those of the '
                "folds, at the same epoch, and no choice depends on them."
            )
        if self.incompleteness:
            sentences.insert(0, self.incompleteness)
        return " ".join(sentences)

    def _other_recipe(self) -> str:
        """Describe values of the recipe of pairs that are not those of BREC."""
        chosen = [
            choice.configuration
            for row in self.rows
            for entry in row.entries
            for choice in (entry.measurement.choices if entry.measurement else ())
        ]
        changes = []
        for key, usual in PAIR_RECIPE.items():
            values = dict.fromkeys(own.get(key, usual) for own in chosen)
            if others := [str(value) for value in values if value != usual]:
                some = " for some networks" * (usual in values)
                changes.append(f"{key} {listed(others)} instead of {usual}{some}")
        return f" The recipe is not that of BREC: {'; '.join(changes)}." if changes else ""

    @property
    def incompleteness(self) -> str:
        """What is missing, beginning with INCOMPLETE; empty if nothing is."""
        if self.complete and not self.missing:
            return ""
        parts = "seeds" if self.protocol == "pairs" else "folds"
        return f"INCOMPLETE: {' '.join(self.missing) or f'some {parts} are missing.'}"


def make_table(
    experiment: Experiment,
    cells: Sequence[MeasuredCell],
    protocol: str,
    provenance: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> Table:
    """Build the table of an experiment.

    Args:
        experiment: the experiment.
        cells: its measured cells.
        protocol: name of the protocol of the measurements.
        provenance: origin of the numbers, in lines.
        missing: sentences about missing trials.
    """
    found = {(cell.row, cell.dataset): cell for cell in cells}
    seeds = {(cell.row, cell.dataset): experiment.num_seeds(cell) for cell in experiment.cells}
    columns, marked = [], []
    for dataset in experiment.datasets:
        own = [found[row.name, dataset] for row in experiment.rows if (row.name, dataset) in found]
        metrics = sorted({cell.metric for cell in own})
        if len(metrics) > 1:
            raise InvalidParameterError(
                f"All rows of a table must have the same metric on {dataset}. Got "
                f"{', '.join(metrics)}. Use one metric for each data set."
            )
        metric = metrics[0] if metrics else "accuracy"
        columns.append(Column(dataset, dataset in experiment.extremes, metric))
        entries = [
            Entry(
                found[row.name, dataset].measurement if (row.name, dataset) in found else None,
                published(experiment.published, row.name, dataset),
                not_applicable="" if dataset in row.datasets else row.not_applicable,
                num_seeds=seeds.get((row.name, dataset), 0),
            )
            for row in experiment.rows
        ]
        compared = experiment.split != "pairs"
        marked.append(
            _marked(entries, METRICS[metric], experiment.test_to_train) if compared else entries
        )
    rows = [
        Row(row.name, tuple(entries[number] for entries in marked))
        for number, row in enumerate(experiment.rows)
    ]
    return Table(
        experiment.title,
        protocol,
        tuple(columns),
        tuple(rows),
        _averaged_over(experiment),
        tuple(provenance),
        tuple(missing),
    )


def _averaged_over(experiment: Experiment) -> str:
    """Describe what means and standard deviations of the experiment are taken over."""
    number = len(experiment.seeds)
    some = "up to " * any(experiment.num_seeds(cell) < number for cell in experiment.cells)
    if experiment.split == "pairs":
        if number == 1:
            return "one seed"
        return (
            f"{some}{number} seeds: their mean, and the smallest and the largest of them "
            "if they differ"
        )
    folds = f"{experiment.first_folds} folds"
    if experiment.first_folds < experiment.folds:
        first = "first" if experiment.first_folds == 1 else f"first {experiment.first_folds}"
        folds = f"the {first} of {experiment.folds} folds"
    if number == 1:
        return f"{folds} of one seed"
    return f"{folds}, each the mean of {some}{number} seeds"


def _marked(entries: Sequence[Entry], maximize: bool, test_to_train: float) -> list[Entry]:
    """Mark the best entries of a column; incomplete measurements are not compared."""
    whole = {
        row: own
        for row, entry in enumerate(entries)
        if (own := entry.measurement) and own.complete and own.values
    }
    marked = list(entries)
    if not whole:
        return marked
    first = (max if maximize else min)(whole, key=lambda row: whole[row].mean)
    best = whole[first]
    for row, own in whole.items():
        equal = abs(own.mean - best.mean) <= rounding_error(own.mean, best.mean)
        near_best = equal or not differs(list(own.values.values()), list(best.values.values()))
        marked[row] = replace(entries[row], best=equal, near_best=near_best)
    others = [row for row in whole if row != first]
    comparisons = compare(best.values, [whole[row].values for row in others], test_to_train)
    for row, comparison in zip(others, comparisons, strict=True):
        marked[row] = replace(marked[row], paired=comparison)
    return marked
