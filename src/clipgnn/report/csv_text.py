"""Tables in CSV: one line per cell, with the scores of all folds or seeds in full precision."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from statistics import fmean, pstdev

from clipgnn.errors import one_line
from clipgnn.experiments.protocol import Measurement
from clipgnn.report.layout import choice_text, divergence_text
from clipgnn.report.pair_layout import PairResult, intervals, pair_results
from clipgnn.report.table import Column, Entry, Table

FIELDS = (
    "model",
    "dataset",
    "protocol",
    "complete",
    "folds_finished",
    "folds_diverged",
    "folds_expected",
    "mean",
    "std",
    "over",
    "max",
    "min",
    "best",
    "not_significantly_different",
    "paired_p",
    "paired_p_holm",
    "paired_different",
    "folds",
    "fresh_mean",
    "fresh_std",
    "fresh_folds",
    "chosen",
    "diverged",
    "paper_mean",
    "paper_std",
    "paper_max",
    "paper_min",
    "provenance",
)
"""Names of the columns. Measured scores are fractions from 0 to 1, the paper's are percentages."""

PAIR_FIELDS = (
    "model",
    "dataset",
    "protocol",
    "complete",
    "seeds_finished",
    "seeds_expected",
    "pairs",
    *(
        f"{number}_{kind}"
        for number in ("separated", "failed", "unreliable")
        for kind in ("mean", "min", "max")
    ),
    "separated_by_seed",
    "unreliable_by_seed",
    "failed_pairs_by_seed",
    "unreliable_pairs_by_seed",
    "not_applicable",
    "chosen",
    "diverged",
    "provenance",
)
"""Names of the columns for pairs of graphs. The data set "brec" is the sum over its families.

Numbers of pairs start at 1, such as `0:3,7,12-20` for seed 0."""


def render_csv(table: Table) -> str:
    """Render the table as CSV, one line per measured cell; the first one has the provenance.

    Pairs of graphs have other columns, and lines of models that are not applicable too.

    There are no comment lines, so that `pandas.read_csv` reads the file without options.

    A name that starts with =, +, -, @ or # is prefixed with an apostrophe. Otherwise spreadsheets
    would read it as a formula, and readers that skip comments would skip the line.
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    of_pairs = table.protocol == "pairs"
    writer.writerow(PAIR_FIELDS if of_pairs else FIELDS)
    provenance = one_line(" | ".join(table.provenance))
    for values in _pair_lines(table) if of_pairs else _lines(table):
        writer.writerow([*values, provenance])
        provenance = ""
    return text.getvalue()


def _lines(table: Table) -> Iterator[list[object]]:
    for row in table.rows:
        for entry, column in zip(row.entries, table.columns, strict=True):
            if entry.measurement is not None:
                yield _values(row.name, entry, entry.measurement, column, table.over)


def _pair_lines(table: Table) -> Iterator[list[object]]:
    for dataset, results in pair_results(table).items():
        for own in results:
            if own.expected or own.not_applicable:
                yield _pair_values(dataset, own)


def _pair_values(dataset: str, own: PairResult) -> list[object]:
    numbers = [own.numbers(name) for name in ("separated", "failed", "unreliable")]
    measured = [entry.measurement for entry in own.entries if entry.measurement is not None]
    chosen = dict.fromkeys(text for one in measured for text in choice_text(one.choices))
    return [
        _safe_name(own.model),
        _safe_name(dataset),
        "pairs",
        own.complete,
        len(own.seeds),
        own.expected,
        next(iter(own.numbers("pairs")), None),
        *(
            value
            for those in numbers
            for value in ([fmean(those), min(those), max(those)] if those else [None] * 3)
        ),
        _folds({seed: counts.separated for seed, counts in own.seeds.items()}),
        _folds({seed: counts.unreliable for seed, counts in own.seeds.items()}),
        _numbers({seed: counts.failed_pairs for seed, counts in own.seeds.items()}),
        _numbers({seed: counts.unreliable_pairs for seed, counts in own.seeds.items()}),
        one_line(own.not_applicable),
        " | ".join(chosen),
        one_line(" | ".join(text for one in measured for text in divergence_text(one))),
    ]


def _values(row: str, entry: Entry, own: Measurement, column: Column, over: str) -> list[object]:
    paper, paired = entry.published, entry.paired
    spread = [own.mean, own.std] if own.values else [None] * 2
    extremes = [own.highest, own.lowest] if own.values else [None] * 2
    return [
        _safe_name(row),
        _safe_name(column.dataset),
        own.protocol,
        own.complete,
        own.finished,
        own.num_diverged,
        own.expected,
        *spread,
        over,
        *extremes,
        entry.best,
        entry.near_best,
        *([paired.p_value, paired.holm] if paired else [None] * 2),
        entry.differs,
        _folds(own.values),
        *([fmean(own.fresh.values()), pstdev(own.fresh.values())] if own.fresh else [None] * 2),
        _folds(own.fresh),
        " | ".join(choice_text(own.choices)),
        one_line(" | ".join(divergence_text(own))),
        *([paper.mean, paper.std, paper.highest, paper.lowest] if paper else [None] * 4),
    ]


def _folds(values: Mapping[int, float]) -> str:
    return " ".join(f"{fold}:{value!r}" for fold, value in values.items())


def _numbers(pairs: Mapping[int, Sequence[int]]) -> str:
    return " ".join(f"{seed}:{intervals(own, '-', ',')}" for seed, own in pairs.items() if own)


def _safe_name(name: str) -> str:
    text = one_line(name)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "#")) else text
