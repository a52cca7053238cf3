"""Tables against strings made by hand."""

import csv
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from tests.experiments.fake_training import small_experiment
from tests.report.examples import PARTLY, WHOLE, measured, table

from clipgnn.experiments.protocol import Choice, Divergence
from clipgnn.report.csv_text import render_csv
from clipgnn.report.latex import render_latex
from clipgnn.report.layout import blocks
from clipgnn.report.markdown import render_markdown
from clipgnn.report.significance import Comparison, paired_p_value
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
    rounded = [float(np.float32(0.7)), float(np.float32(0.2))]
    both = table({("0-CLIP", "csl"): measured(0.7, 0.2), ("16-CLIP", "csl"): measured(*rounded)})
    assert [row.entries[1].best for row in both.rows] == [True, True], "in single precision"


def test_what_differs_by_the_paired_test_has_a_dagger():
    spec = small_experiment(
        models=[{"name": f"{k}-CLIP", "model": "clip", "num_colorings": k} for k in (0, 1, 4, 16)]
    )
    best = (0.90, 0.80, 1.00, 0.70)
    rows = {
        "0-CLIP": measured(0.89, 0.79, 0.99, 0.69),  # always worse, by the same
        "1-CLIP": measured(0.9, 0.7, 0.9, 0.8),
        "4-CLIP": measured(0.1, 0.1, finished=2, expected=4),
        "16-CLIP": measured(*best),
    }
    shown = table({(name, "csl"): own for name, own in rows.items()}, spec)
    entries = {row.name: row.entries[1] for row in shown.rows}
    assert entries["0-CLIP"].paired == Comparison(0.0, 0.0)
    p = paired_p_value(list(rows["1-CLIP"].values.values()), best, 1 / 3)
    assert entries["1-CLIP"].paired == Comparison(p, p)
    assert entries["4-CLIP"].paired is None, "incomplete"
    assert entries["16-CLIP"].paired is None, "the best one"
    assert {name: own.differs for name, own in entries.items()} == {
        "0-CLIP": True,
        "1-CLIP": False,
        "4-CLIP": False,
        "16-CLIP": False,
    }
    assert entries["0-CLIP"].near_best, "the unpaired test sees no difference"
    assert "**84.0 ± 11.2**†" in render_markdown(shown)
    assert r"\textbf{84.0 $\pm$ 11.2}$^\dagger$" in render_latex(shown)
    rows_of_csv = {row["model"]: row for row in csv.DictReader(StringIO(render_csv(shown)))}
    assert float(rows_of_csv["1-CLIP"]["paired_p"]) == p
    assert rows_of_csv["0-CLIP"]["paired_different"] == "True"
    for name in ("4-CLIP", "16-CLIP"):
        assert rows_of_csv[name]["paired_p"] == rows_of_csv[name]["paired_p_holm"] == ""
        assert rows_of_csv[name]["paired_different"] == "False"


def test_rows_that_are_equal_do_not_differ():
    both = table({("0-CLIP", "csl"): measured(0.1, 0.1), ("16-CLIP", "csl"): measured(0.1, 0.1)})
    assert [row.entries[1].paired for row in both.rows] == [None, Comparison(1.0, 1.0)]
    single = table({("0-CLIP", "csl"): measured(0.1), ("16-CLIP", "csl"): measured(0.9)})
    assert [row.entries[1].paired for row in single.rows] == [None, None], "one fold"


@pytest.mark.parametrize(
    ("changes", "over"),
    [
        ({}, "4 folds of one seed"),
        ({"seeds": [3, 4, 5]}, "4 folds, each the mean of 3 seeds"),
        ({"first_folds": 2}, "the first 2 of 4 folds of one seed"),
        ({"first_folds": 1}, "the first of 4 folds of one seed"),
    ],
)
def test_it_says_what_the_deviation_is_taken_over(changes, over):
    shown = table({("0-CLIP", "csl"): measured(0.1, 0.2)}, small_experiment(**changes))
    assert f"Mean ± standard deviation over {over}, " in shown.caption
    [row] = csv.DictReader(StringIO(render_csv(shown)))
    assert row["over"] == over


def test_validation_graphs_are_not_trained_on():
    assert small_experiment(folds=10).test_to_train == pytest.approx(1 / 9)
    assert small_experiment(folds=10, split="nested").test_to_train == pytest.approx(1 / 8.1)


@pytest.mark.needs("pandas")
def test_pandas_reads_the_csv_without_options():
    import pandas as pd

    frame = pd.read_csv(StringIO(render_csv(WHOLE)))
    assert frame.shape[0] == 4
    by_name = frame.set_index(["model", "dataset"])
    kinds = {kind: set(frame.select_dtypes(kind).columns) for kind in ("number", "bool")}
    assert kinds["bool"] == {"complete", "best", "not_significantly_different", "paired_different"}
    assert {"mean", "std", "max", "min", "paired_p", "paired_p_holm", "paper_mean"} <= kinds[
        "number"
    ]
    assert by_name.loc[("0-CLIP", "connectivity"), "mean"] == pytest.approx(0.52)
    assert by_name.loc[("0-CLIP", "connectivity"), "paired_p_holm"] < 0.01
    assert frame["paired_p"].isna().tolist() == frame["best"].tolist()
    assert frame["provenance"].count() == 1
    partly = pd.read_csv(StringIO(render_csv(PARTLY)))
    assert partly["complete"].tolist() == [False, True, False]
    assert partly["mean"].isna().tolist() == [False, False, True]


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
deviation over 4 folds of one seed, with the best and the worst fold (max, min), accuracy in \
percent. \\* marks the best mean of a column, bold the means that do not differ significantly from \
it (unpaired two-sided t-test of unequal variances, level 0.1). † marks means that differ from the \
best one by a paired test over the same folds (corrected resampled t-test of Nadeau and Bengio, \
Holm's correction over the rows of the column, level 0.1; not applied to the paper's numbers).

| model | connectivity | csl | max | min |
| :--- | ---: | ---: | ---: | ---: |
| 0-CLIP | 52.0 ± 1.6† | **80.0 ± 16.3** | 100.0 | 60.0 |
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
0-CLIP & 52.0 $\pm$ 1.6$^\dagger$ & \textbf{80.0 $\pm$ 16.3} & 100.0 & 60.0 \\
0-CLIP, paper & 56.5 $\pm$ 4.0 & 10.0 $\pm$ 0.0 & 10.0 & 10.0 \\
16-CLIP & \textbf{99.0 $\pm$ 0.8}$^*$ & \textbf{86.7 $\pm$ 12.5}$^*$ & 100.0 & 70.0 \\
16-CLIP, paper & 99.7 $\pm$ 0.5 & 90.8 $\pm$ 6.8 & 98.7 & 76.0 \\
\bottomrule
\end{tabular}
\end{table}
"""


def test_latex():
    caption = f"{WHOLE.title}. {WHOLE.caption}".replace("±", r"$\pm$")
    caption = caption.replace("†", r"$\dagger$")
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
    assert "0-CLIP 52.0 ± 1.6† 80.0 ± 16.3 100.0 60.0" in lines
    assert "16-CLIP 99.0 ± 0.8* 86.7 ± 12.5* 100.0 70.0" in lines
    assert "16-CLIP, paper 99.7 ± 0.5 90.8 ± 6.8 98.7 76.0" in lines
    assert 'Protocol "gin"' in text
    assert "Commands: `clipgnn experiment run small`" in text


def test_csv_has_every_fold_in_full():
    text = render_csv(PARTLY)
    rows = list(csv.DictReader(StringIO(text)))
    assert [row["provenance"] for row in rows] == [
        "Commands: `clipgnn experiment run small` | Machine: 50 % of one_core",
        "",
        "",
    ]
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
    rows = list(csv.DictReader(StringIO(render_csv(shown))))
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


def test_scores_on_fresh_graphs_have_a_line():
    own = replace(measured(0.8, 0.6, 1.0), fresh={0: 0.5, 1: 0.7, 2: 0.6})
    made = table({("0-CLIP", "csl"): own, ("16-CLIP", "csl"): measured(0.9, 0.7, 1.0)})
    shown = {
        line.fields[0].text: [field.text for field in line.fields] for line in blocks(made)[0].lines
    }
    assert shown["0-CLIP, fresh graphs"][-3:] == ["60.0 ± 8.2", "70.0", "50.0"]
    assert "16-CLIP, fresh graphs" not in shown
    assert "generated with another seed" in made.caption
    assert "generated with another seed" not in WHOLE.caption
    [row] = [own for own in csv.DictReader(StringIO(render_csv(made))) if own["model"] == "0-CLIP"]
    assert float(row["fresh_mean"]) == pytest.approx(0.6)
    assert row["fresh_folds"] == "0:0.5 1:0.7 2:0.6"
