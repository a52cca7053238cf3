"""Tables against strings made by hand."""

import csv
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from tests.experiments.fake_training import small_experiment
from tests.report.examples import PARTLY, WHOLE, measured, table

from clipgnn.experiments.protocol import Choice, Divergence
from clipgnn.report.csv_text import render_csv
from clipgnn.report.latex import render_latex
from clipgnn.report.markdown import render_markdown
from clipgnn.report.terminal import terminal_table


def test_the_best_has_an_asterisk_and_its_peers_are_bold():
    marks = {
        (row.name, column.dataset): (entry.best, entry.near_best)
        for row in WHOLE.rows
        for entry, column in zip(row.entries, WHOLE.columns, strict=True)
    }
    assert marks == {
        ("0-CLIP", "connectivity"): (False, False),
        ("16-CLIP", "connectivity"): (True, True),
        ("0-CLIP", "csl"): (False, True),
        ("16-CLIP", "csl"): (True, True),
    }


def test_equal_means_are_both_best():
    both = table({("0-CLIP", "csl"): measured(0.1, 0.1), ("16-CLIP", "csl"): measured(0.1, 0.1)})
    assert [row.entries[1].best for row in both.rows] == [True, True]


def test_the_smallest_error_is_best():
    errors = table(
        {("0-CLIP", "csl"): measured(0.25, 0.35), ("16-CLIP", "csl"): measured(2.0, 2.5)},
        metric="rmse",
    )
    assert [row.entries[1].best for row in errors.rows] == [True, False]
    assert "0.3 ± 0.05" in render_markdown(errors)


MARKDOWN = """\
# A small table

Protocol "gin": best single epoch of the test curve averaged over the folds, configuration chosen \
by the same number (as in the paper; optimistic, because no graphs are held out). Mean ± standard \
deviation over the folds, with the best and the worst fold (max, min), accuracy in percent. \
\\* marks the best mean of a column, bold the means that do not differ significantly from it \
(unpaired two-sided t-test of unequal variances, level 0.1).

| model | connectivity | csl | max | min |
| :--- | ---: | ---: | ---: | ---: |
| 0-CLIP | 52.0 ± 1.6 | **80.0 ± 16.3** | 100.0 | 60.0 |
| 0-CLIP, paper | 56.5 ± 4.0 | 10.0 ± 0.0 | 10.0 | 10.0 |
| 16-CLIP | **99.0 ± 0.8**\\* | **86.7 ± 12.5**\\* | 100.0 | 70.0 |
| 16-CLIP, paper | 99.7 ± 0.5 | 90.8 ± 6.8 | 98.7 | 76.0 |

## Chosen configurations

- 0-CLIP on connectivity: epoch 3; num_layers 2, batch_size 32
- 0-CLIP on csl: epoch 3; num_layers 2, batch_size 32
- 16-CLIP on connectivity: epoch 3; num_layers 2, batch_size 32
- 16-CLIP on csl: epoch 3; num_layers 2, batch_size 32

## Provenance

- Commands: `clipgnn experiment run small`
- Machine: 50 % of one_core
"""


def test_markdown():
    assert render_markdown(WHOLE) == MARKDOWN


def test_incomplete_cells_say_so_and_do_not_compete():
    text = render_markdown(PARTLY)
    assert "INCOMPLETE: some folds are missing. Protocol" in text
    assert "| 0-CLIP | incomplete: 2 of 6 folds, 55.0 ± 5.0 so far | – | – | – |" in text
    assert "| 16-CLIP | **40.0 ± 0.0**\\* | incomplete: 0 of 6 folds | – | – |" in text
    assert not PARTLY.complete
    assert WHOLE.complete


LATEX = r"""% Commands: `clipgnn experiment run small`
% Machine: 50 % of one_core
\begin{table}[ht]\centering
\caption{CAPTION}
\begin{tabular}{lcccc}
\toprule
model & connectivity & csl & max & min \\
\midrule
0-CLIP & 52.0 $\pm$ 1.6 & \textbf{80.0 $\pm$ 16.3} & 100.0 & 60.0 \\
0-CLIP, paper & 56.5 $\pm$ 4.0 & 10.0 $\pm$ 0.0 & 10.0 & 10.0 \\
16-CLIP & \textbf{99.0 $\pm$ 0.8}$^*$ & \textbf{86.7 $\pm$ 12.5}$^*$ & 100.0 & 70.0 \\
16-CLIP, paper & 99.7 $\pm$ 0.5 & 90.8 $\pm$ 6.8 & 98.7 & 76.0 \\
\bottomrule
\end{tabular}
\end{table}
"""


def test_latex():
    caption = f"{WHOLE.title}. {WHOLE.caption}".replace("±", r"$\pm$")
    assert render_latex(WHOLE) == LATEX.replace("CAPTION", caption)


def test_latex_is_escaped():
    spec = small_experiment(datasets=["PTC_MR"], only={}, extremes=[], title="100 % & more")
    text = render_latex(table({("0-CLIP", "PTC_MR"): measured(0.5, 0.6)}, spec))
    assert r"PTC\_MR" in text
    assert r"100 \% \& more" in text


def test_the_terminal_shows_the_same():
    console = Console(width=120, no_color=True)
    with console.capture() as capture:
        console.print(terminal_table(WHOLE))
    text = capture.get()
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "0-CLIP 52.0 ± 1.6 80.0 ± 16.3 100.0 60.0" in lines
    assert "16-CLIP 99.0 ± 0.8* 86.7 ± 12.5* 100.0 70.0" in lines
    assert "16-CLIP, paper 99.7 ± 0.5 90.8 ± 6.8 98.7 76.0" in lines
    assert 'Protocol "gin"' in text
    assert "Commands: `clipgnn experiment run small`" in text


def test_csv_has_every_fold_in_full():
    text = render_csv(PARTLY)
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert comments[0] == "# Commands: `clipgnn experiment run small`"
    rows = list(csv.DictReader(StringIO("\n".join(text.splitlines()[len(comments) :]))))
    assert [(row["model"], row["dataset"]) for row in rows] == [
        ("0-CLIP", "connectivity"),
        ("16-CLIP", "connectivity"),
        ("16-CLIP", "csl"),
    ]
    assert rows[0]["folds"] == "0:0.5 1:0.6"
    assert float(rows[0]["mean"]) == pytest.approx(0.55)
    assert (rows[0]["complete"], rows[0]["folds_finished"], rows[0]["folds_expected"]) == (
        "False",
        "2",
        "6",
    )
    assert rows[1]["chosen"] == "epoch 3; num_layers 2, batch_size 32"
    assert (rows[1]["best"], rows[1]["paper_mean"], rows[1]["paper_std"]) == ("True", "99.7", "0.5")
    assert rows[2]["mean"] == ""


DIVERGED = (
    Divergence({"num_layers": 5}, {0: "diverged in epoch 3", 2: "diverged in epoch 3", 1: "later"}),
    Divergence({"num_layers": 9}, {3: "diverged in epoch 1"}),
)
NOTES = [
    "0-CLIP on csl: num_layers 5: folds 0, 2 diverged in epoch 3; fold 1 later",
    "0-CLIP on csl: num_layers 9: fold 3 diverged in epoch 1",
]


def test_every_format_names_what_diverged():
    some = replace(measured(0.5, 0.6, expected=6), diverged=DIVERGED)
    none = replace(measured(expected=4), diverged=DIVERGED)
    left = replace(measured(expected=5), diverged=DIVERGED[1:])
    shown = table(
        {
            ("0-CLIP", "csl"): some,
            ("16-CLIP", "csl"): none,
            ("0-CLIP", "connectivity"): left,
        }
    )
    assert some.complete
    assert none.complete
    assert [row.entries[1].best for row in shown.rows] == [True, False], "no number, no competition"
    markdown = render_markdown(shown)
    assert (
        "| 0-CLIP | incomplete: 0 of 5 folds (1 diverged) | **55.0 ± 5.0**\\* | 60.0 |" in markdown
    )
    assert "| 16-CLIP | – | diverged | – | – |" in markdown
    under = markdown.partition("Diverged and therefore excluded:")[2].partition("## Chosen")[0]
    latex = render_latex(shown).partition(r"\end{tabular}")[2]
    console = Console(width=200, no_color=True)
    with console.capture() as capture:
        console.print(terminal_table(shown))
    for note in NOTES:
        assert f"- {note}\n" in under
        assert note.replace("_", r"\_") in latex
        assert note in capture.get()
    rows = list(csv.DictReader(StringIO(render_csv(shown).partition("one_core\n")[2])))
    of_csl = next(row for row in rows if row["dataset"] == "csl")
    assert (of_csl["folds_finished"], of_csl["folds_diverged"], of_csl["complete"]) == (
        "2",
        "4",
        "True",
    )
    assert of_csl["diverged"] == " | ".join(note.partition(": ")[2] for note in NOTES)


def test_choices_of_every_fold_are_named():
    choices = tuple(Choice({"num_layers": fold + 1}, epoch=9, fold=fold) for fold in range(2))
    text = render_markdown(table({("0-CLIP", "csl"): measured(0.5, 0.6, choices=choices)}))
    assert "- 0-CLIP on csl: fold 1: epoch 9; num_layers 2" in text
