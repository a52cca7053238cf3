"""A table of results: our numbers, the paper's beside them, the best marked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clipgnn.experiments.evaluation import MeasuredCell
from clipgnn.experiments.protocol import EXPLANATIONS, Measurement
from clipgnn.experiments.spec import Spec
from clipgnn.report.published import Published, published
from clipgnn.report.significance import LEVEL, differs


@dataclass(frozen=True)
class Column:
    """A data set.

    Attributes:
        dataset: its name.
        extremes: whether to show the best and the worst fold too.
        percent: whether scores are accuracies, shown in percent.
    """

    dataset: str
    extremes: bool
    percent: bool


@dataclass(frozen=True)
class Entry:
    """A cell: our measurement, if it was to be made, and the paper's, if there is one.

    Attributes:
        measurement: ours.
        published: the paper's.
        best: whether ours is the best mean of its column.
        level: whether ours does not differ significantly from the best.
    """

    measurement: Measurement | None
    published: Published | None
    best: bool = False
    level: bool = False


@dataclass(frozen=True)
class Row:
    """A model, with a cell for each column."""

    name: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        title: what it shows.
        protocol: the protocol of all its numbers.
        columns: data sets.
        rows: models.
        provenance: where the numbers come from, in lines.
    """

    title: str
    protocol: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    provenance: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Is every number there that should be?"""
        return all(
            entry.measurement is None or entry.measurement.complete
            for row in self.rows
            for entry in row.entries
        )

    @property
    def caption(self) -> str:
        """What a reader must know: the protocol, the marks, and whether something is missing."""
        shown = "mean ± standard deviation over the folds"
        if any(column.extremes for column in self.columns):
            shown += ", with the best and the worst fold (max, min)"
        if any(column.percent for column in self.columns):
            shown += ", accuracies in percent"
        sentences = [
            f'Protocol "{self.protocol}": {EXPLANATIONS[self.protocol]}.',
            f"{shown[0].upper()}{shown[1:]}.",
            "* is the best mean of a column; bold is what does not differ significantly from it "
            f"(unpaired two-sided t-test of unequal variances, {LEVEL:g}).",
        ]
        if not self.complete:
            sentences.insert(0, "INCOMPLETE: folds are missing where the table says so.")
        return " ".join(sentences)


def make_table(
    spec: Spec, cells: Sequence[MeasuredCell], protocol: str, provenance: Sequence[str] = ()
) -> Table:
    """The table of an experiment.

    Args:
        spec: the experiment.
        cells: its measured cells.
        protocol: the protocol they were measured under.
        provenance: where the numbers come from, in lines.
    """
    found = {(cell.row, cell.dataset): cell for cell in cells}
    columns, marked = [], []
    for dataset in spec.datasets:
        own = [found[row.name, dataset] for row in spec.rows if (row.name, dataset) in found]
        maximize = all(cell.maximize for cell in own)
        columns.append(Column(dataset, dataset in spec.extremes, percent=maximize))
        entries = [
            Entry(
                found[row.name, dataset].measurement if (row.name, dataset) in found else None,
                published(spec.published, row.name, dataset),
            )
            for row in spec.rows
        ]
        marked.append(_marked(entries, maximize))
    rows = [
        Row(row.name, tuple(entries[number] for entries in marked))
        for number, row in enumerate(spec.rows)
    ]
    return Table(spec.title, protocol, tuple(columns), tuple(rows), tuple(provenance))


def _marked(entries: Sequence[Entry], maximize: bool) -> list[Entry]:
    """A column with its best marked; what is incomplete or has no number does not compete."""
    whole = [own for entry in entries if (own := entry.measurement) and own.complete and own.values]
    if not whole:
        return list(entries)
    best = (max if maximize else min)(whole, key=lambda measurement: measurement.mean)
    marked = []
    for entry in entries:
        own = entry.measurement
        if own not in whole:
            marked.append(entry)
            continue
        equal = abs(own.mean - best.mean) < 1e-9
        level = equal or not differs(list(own.values.values()), list(best.values.values()))
        marked.append(replace(entry, best=equal, level=level))
    return marked
