"""Tables in CSV: one line per cell, with the scores of all folds in full precision."""

import csv
from collections.abc import Mapping
from io import StringIO
from statistics import fmean, pstdev

from clipgnn.errors import one_line
from clipgnn.experiments.protocol import Measurement
from clipgnn.report.layout import choice_text, divergence_text
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


def render_csv(table: Table) -> str:
    """Render the table as CSV, one line per measured cell; the first one has the provenance.

    There are no comment lines, so that `pandas.read_csv` reads the file without options.

    A name that starts with =, +, -, @ or # is prefixed with an apostrophe. Otherwise spreadsheets
    would read it as a formula, and readers that skip comments would skip the line.
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    provenance = one_line(" | ".join(table.provenance))
    for row in table.rows:
        for entry, column in zip(row.entries, table.columns, strict=True):
            if entry.measurement is not None:
                values = _values(row.name, entry, entry.measurement, column, table.over)
                writer.writerow([*values, provenance])
                provenance = ""
    return text.getvalue()


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
        one_line(" | ".join(divergence_text(own.diverged))),
        *([paper.mean, paper.std, paper.highest, paper.lowest] if paper else [None] * 4),
    ]


def _folds(values: Mapping[int, float]) -> str:
    return " ".join(f"{fold}:{value!r}" for fold, value in values.items())


def _safe_name(name: str) -> str:
    text = one_line(name)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "#")) else text
