"""The page of a report: one HTML file without scripts, which loads nothing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clipgnn.errors import counted
from clipgnn.report.document import document
from clipgnn.report.layout import blocks, choices, notes, number
from clipgnn.report.page_parts import (
    details,
    figure,
    grid,
    items,
    paragraphs,
    results_table,
)
from clipgnn.report.pair_layout import intervals, pair_results
from clipgnn.report.report import Report
from clipgnn.report.table import Table

if TYPE_CHECKING:
    from clipgnn.report.drawings import Drawing

_FEW = 12
"""Number of rows of a table that is shown at once; longer ones can be opened."""

_SECTIONS = {
    "curves": (
        "Learning curves",
        "Lines are means over the folds of the chosen configuration, and areas reach from the 10th "
        "to the 90th percentile of the folds. A circle marks the epoch, if the protocol chose one "
        "for all folds.",
    ),
    "scores": (
        "Scores by number of colorings",
        "Each k has its own choice of configuration and epoch. Bars are 95 % t-intervals of the "
        "mean over the folds; they do not include this choice.",
    ),
    "times": (
        "Scores by training time",
        "Time is the mean over the folds of the chosen configuration, without compilation, on the "
        "device that the numbers name. Folds that are trained together share the time of their "
        "training. Bars are 95 % t-intervals of the mean over the folds.",
    ),
    "predicted": (
        "Predictions",
        "Predictions of the networks of all folds for their test graphs. The confidence is the "
        "largest probability; the expected calibration error is the mean distance between "
        "confidence and accuracy over ten bins.",
    ),
}

_EMPTY = {
    "curves": "No model with several epochs is finished.",
    "scores": "No model has complete results for several numbers of colorings.",
    "times": "No trial is finished.",
    "predicted": "No predictions of the chosen configurations were kept; `keep_predictions = true` "
    "in the experiment file keeps them.",
}

_KINDS = {
    "curves": "curves",
    "scores": "scores",
    "times": "times",
    "confusion": "predicted",
    "calibration": "predicted",
}
"""Section of each kind of figure."""


def render_html(report: Report) -> str:
    """Render the report as one HTML page."""
    from clipgnn.report.drawings import drawings  # matplotlib is slow to import

    drawn = drawings(report)
    sections = {"results": ("Results", _results(report.table))}
    # Nothing is drawn of pairs of graphs, which have no learning curves by epoch.
    drawable = {} if report.table.protocol == "pairs" else _SECTIONS
    for key, (title, explanation) in drawable.items():
        own = [drawing for drawing in drawn if _KINDS[drawing.kind] == key]
        sections[key] = (title, _figures(report, key, explanation, own))
    sections["configurations"] = ("Chosen configurations", _choices(report.table))
    sections["provenance"] = ("Provenance", items(report.table.provenance))
    return document(
        report.table.title,
        sections,
        introduction=paragraphs([report.table.incompleteness], "alert"),
    )


def _results(table: Table) -> str:
    shown = [
        results_table(block, f"{table.title}: {block.title}" if block.title else table.title)
        for block in blocks(table)
    ]
    caption = paragraphs([table.caption.removeprefix(table.incompleteness).strip()])
    below = [paragraphs([own.heading], "alert") + items(own.texts) for own in notes(table)]
    numbers = _seeds(table) if table.protocol == "pairs" else _folds(table)
    # The words are explained before many tables, and below a single one.
    first = [caption, *shown] if len(shown) > 1 else [*shown, caption]
    return "".join([*first, *below, numbers])


def _folds(table: Table) -> str:
    names = ("model", "data set", "mean", "standard deviation", "p", "p (Holm)", "folds")
    rows = [
        (
            row.name,
            column.dataset,
            number(own.mean, column),
            number(own.std, column),
            f"{entry.paired.p_value:.3g}" if entry.paired else "–",
            f"{entry.paired.holm:.3g}" if entry.paired else "–",
            ", ".join(number(value, column) for value in own.values.values()),
        )
        for row in table.rows
        for entry, column in zip(row.entries, table.columns, strict=True)
        if (own := entry.measurement) is not None and own.values
    ]
    folds = grid(names, rows, "Scores of all folds and p-values", words=[6])
    return details("Scores of all folds, and p-values of the paired test", folds) if rows else ""


def _seeds(table: Table) -> str:
    """Return the numbers of pairs of each seed."""
    names = (
        "model",
        "data set",
        "seed",
        "pairs",
        "separated",
        "failed",
        "unreliable",
        "failed pairs",
        "unreliable pairs",
    )
    rows = [
        (
            own.model,
            dataset,
            *map(str, (seed, of.pairs, of.separated, of.failed, of.unreliable)),
            intervals(of.failed_pairs),
            intervals(of.unreliable_pairs),
        )
        for dataset, results in pair_results(table).items()
        for own in results
        for seed, of in own.seeds.items()
    ]
    return details("Numbers of each seed", grid(names, rows, "Numbers of each seed", words=[7, 8]))


def _figures(report: Report, key: str, explanation: str, own: Sequence["Drawing"]) -> str:
    notes = (report.notes or {}).get(key, ())
    if not own:
        return paragraphs([*notes, _EMPTY[key]])
    shown = "".join(figure(drawing) for drawing in own)
    return paragraphs([explanation, *notes]) + f'<div class="figures">\n{shown}</div>\n'


def _choices(table: Table) -> str:
    rows = list(choices(table))
    chosen = grid(("model", "data set", "chosen"), rows, "Chosen configurations", words=[2])
    if not rows:
        return paragraphs(["No configuration is chosen yet."])
    return details(counted(len(rows), "choice"), chosen, closed=len(rows) > _FEW)
