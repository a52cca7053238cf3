"""Layout of tables: the fields as text with marks, shared by all formats."""

from collections.abc import Iterator
from statistics import fmean, pstdev

from clipgnn.errors import listed
from clipgnn.experiments.protocol import Choice, Measurement
from clipgnn.report.block import EMPTY, NOT_APPLICABLE, Block, Field, Line, Notes
from clipgnn.report.pair_layout import pair_blocks
from clipgnn.report.table import Column, Entry, Table


def blocks(table: Table) -> list[Block]:
    """Return the tables to print: one, or one for each set of pairs of graphs."""
    if table.protocol == "pairs":
        return list(pair_blocks(table))
    return [Block("", tuple(_headings(table)), tuple(_lines(table)))]


def _headings(table: Table) -> list[str]:
    """Return the headings of the columns."""
    names = ["model"]
    for column in table.columns:
        names.append(column.dataset)
        if column.extremes:
            names += ["max", "min"]
    return names


def _lines(table: Table) -> Iterator[Line]:
    """Yield the line of each model, followed by those of fresh graphs and of the paper."""
    for row in table.rows:
        pairs = list(zip(row.entries, table.columns, strict=True))
        own = [field for entry, column in pairs for field in _ours(entry, column)]
        yield Line((Field(row.name), *own), ours=True)
        if any(entry.measurement and entry.measurement.fresh for entry in row.entries):
            fresh = [field for entry, column in pairs for field in _fresh(entry, column)]
            yield Line((Field(f"{row.name}, fresh graphs"), *fresh), ours=False)
        if any(entry.published is not None for entry in row.entries):
            published = [field for entry, column in pairs for field in _published(entry, column)]
            yield Line((Field(f"{row.name}, paper"), *published), ours=False)


def choice_text(choices: tuple[Choice, ...]) -> list[str]:
    """Describe choices, one line each."""
    texts = []
    for choice in choices:
        where = "" if choice.fold is None else f"fold {choice.fold}: "
        values = ", ".join(f"{key} {value}" for key, value in choice.configuration.items())
        epoch = "" if choice.epoch is None else f"epoch {choice.epoch}; "
        texts.append(f"{where}{epoch}{values or 'default parameters'}")
    return texts


def choices(table: Table) -> Iterator[tuple[str, str, str]]:
    """Yield each choice, with the names of its row and of its data set.

    Choices for pairs have no epoch and are mostly the same for all sets, which are named together.
    """
    for row in table.rows:
        found: dict[str, list[str]] = {}
        for entry, column in zip(row.entries, table.columns, strict=True):
            for text in choice_text(entry.measurement.choices) if entry.measurement else ():
                if table.protocol == "pairs":
                    found.setdefault(text, []).append(column.dataset)
                else:
                    yield row.name, column.dataset, text
        for text, datasets in found.items():
            yield row.name, listed(datasets), text


def notes(table: Table) -> list[Notes]:
    """Return the notes under the tables: what diverged, and what is not applicable."""
    diverged = [
        f"{row.name} on {column.dataset}: {text}"
        for row in table.rows
        for entry, column in zip(row.entries, table.columns, strict=True)
        if entry.measurement is not None
        for text in divergence_text(entry.measurement)
    ]
    excluded = []
    for row in table.rows:
        own = [
            (column.dataset, entry.not_applicable)
            for entry, column in zip(row.entries, table.columns, strict=True)
            if entry.not_applicable
        ]
        if own:
            excluded.append(f"{row.name} on {listed(name for name, _ in own)}: {own[0][1]}")
    found = [
        Notes("Diverged and therefore excluded:", diverged),
        Notes("Not applicable:", excluded),
    ]
    return [own for own in found if own.texts]


def divergence_text(measurement: Measurement) -> list[str]:
    """Describe diverged configurations, one line each: values, folds or seeds, and reasons."""
    part = "seed" if measurement.protocol == "pairs" else "fold"
    texts = []
    for own in measurement.diverged:
        values = ", ".join(f"{key} {value}" for key, value in own.configuration.items())
        folds: dict[str, list[int]] = {}
        for fold, reason in sorted(own.folds.items()):
            folds.setdefault(reason, []).append(fold)
        reasons = (
            f"{part}{'s' * (len(those) > 1)} {', '.join(map(str, those))} {reason}"
            for reason, those in folds.items()
        )
        texts.append(f"{values + ': ' if values else ''}{'; '.join(reasons)}")
    return texts


def number(value: float, column: Column) -> str:
    """Format a score: percent with one decimal, or an error with four digits."""
    return f"{100 * value:.1f}" if column.percent else f"{value:.4g}"


def spread(mean: float, std: float, column: Column) -> str:
    """Format mean and standard deviation."""
    return f"{number(mean, column)} ± {number(std, column)}"


def _empty(column: Column, text: str = EMPTY) -> list[Field]:
    return [Field(text), *([Field(EMPTY)] * 2 if column.extremes else [])]


def _ours(entry: Entry, column: Column) -> list[Field]:
    measurement = entry.measurement
    if measurement is None:
        return _empty(column, NOT_APPLICABLE if entry.not_applicable else EMPTY)
    text = spread(measurement.mean, measurement.std, column) if measurement.values else ""
    if measurement.complete and not text:
        text = "diverged"
    if not measurement.complete:
        count = f"incomplete: {measurement.finished} of {measurement.expected} folds"
        if measurement.diverged:
            count += f" ({measurement.num_diverged} diverged)"
        text = f"{count}, {text} so far" if text else count
    fields = [Field(text, bold=entry.near_best, star=entry.best, dagger=entry.differs)]
    if column.extremes and measurement.values:
        fields += [
            Field(number(measurement.highest, column)),
            Field(number(measurement.lowest, column)),
        ]
    elif column.extremes:
        fields += [Field(EMPTY)] * 2
    return fields


def _fresh(entry: Entry, column: Column) -> list[Field]:
    if entry.measurement is None or not entry.measurement.fresh:
        return _empty(column)
    scores = list(entry.measurement.fresh.values())
    fields = [Field(spread(fmean(scores), pstdev(scores), column))]
    extremes = [Field(number(max(scores), column)), Field(number(min(scores), column))]
    return [*fields, *(extremes if column.extremes else [])]


def _published(entry: Entry, column: Column) -> list[Field]:
    given = entry.published
    if given is None:
        return _empty(column)
    mean = "?" if given.mean is None else f"{given.mean:.1f}"
    text = mean if given.std is None else f"{mean} ± {given.std:.1f}"
    extremes = [
        Field(EMPTY if value is None else f"{value:.1f}") for value in (given.highest, given.lowest)
    ]
    return [Field(text), *(extremes if column.extremes else [])]
