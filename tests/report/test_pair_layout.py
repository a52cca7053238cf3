"""Reports of pairs of graphs: a table for each set, and the sum over the families of BREC."""

import csv
from dataclasses import replace
from io import StringIO

import pytest

from clipgnn.curves import Curves
from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.evaluation import MeasuredCell
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.protocol import Candidate, PairCounts, pairs
from clipgnn.experiments.store import Store
from clipgnn.report import FORMATS, Report, make_table
from clipgnn.report.csv_text import PAIR_FIELDS, render_csv
from clipgnn.report.layout import blocks, notes
from clipgnn.report.markdown import render_markdown
from clipgnn.report.pair_layout import intervals, range_text
from clipgnn.report.provenance import provenance

REASON = "The graphs have more than 1,024 colorings."
SPEC = parse_experiment(
    {
        "protocol": "pairs",
        "seeds": [0, 3],
        "datasets": ["brec-basic", "brec-dr", "csl-pairs"],
        "models": [
            {"model": "gin", "name": "GIN"},
            {"model": "clip", "name": "CLIP"},
            {"model": "clip", "name": "all", "datasets": ["csl-pairs"], "not_applicable": REASON},
            {"model": "dcnn", "name": "DCNN", "datasets": ["csl-pairs"]},
        ],
    },
    "own",
    "own.toml",
)


def curves(separated: int, unreliable: int, count: int) -> Curves:
    """Curves of a seed: the first pairs are separated, and the last ones unreliable."""
    return Curves(
        [0.0] * count,
        [1.0] * separated + [0.0] * (count - separated),
        fresh_score=[1.0] * (count - unreliable) + [0.0] * unreliable,
    )


def measured(*seeds: tuple[int, int, int], expected: int = 2):
    own = {number: curves(*numbers) for number, numbers in zip((0, 3), seeds, strict=False)}
    return pairs([Candidate({"num_layers": 3}, own)], expected)


CELLS = {
    ("GIN", "brec-basic"): measured((0, 0, 60), (0, 0, 60)),
    ("GIN", "brec-dr"): measured((0, 0, 20), (0, 0, 20)),
    ("GIN", "csl-pairs"): measured((0, 0, 45), (0, 0, 45)),
    ("CLIP", "brec-basic"): measured((58, 2, 60), (57, 0, 60)),
    ("CLIP", "brec-dr"): measured((10, 0, 20)),
    ("CLIP", "csl-pairs"): measured(),
    ("all", "csl-pairs"): measured((45, 0, 45), (44, 1, 45)),
    ("DCNN", "csl-pairs"): measured((0, 0, 45), (0, 0, 45)),
}
TABLE = make_table(
    SPEC, [MeasuredCell(*key, own) for key, own in CELLS.items()], "pairs", ["Commands: none"]
)


def test_numbers_of_a_seed_are_counted():
    counts = PairCounts.of(curves(3, 2, 10))
    assert (counts.pairs, counts.separated, counts.failed, counts.unreliable) == (10, 3, 7, 2)
    assert counts + counts == PairCounts(20, 6, 4), "numbers of pairs are those of one set"


def test_a_configuration_is_chosen_by_its_mean_over_the_seeds():
    def candidate(layers, *separated):
        own = {seed: curves(number, 0, 10) for seed, number in enumerate(separated)}
        return Candidate({"num_layers": layers}, own)

    found = pairs([candidate(1, 4, 4), candidate(2, 3, 6), candidate(3, 10)], 2)
    assert found.choices[0].configuration == {"num_layers": 2}, "one of two seeds is not compared"
    assert [own.separated for own in found.pairs.values()] == [3, 6]
    assert (found.finished, found.expected, found.complete) == (5, 6, False)
    assert found.mean == pytest.approx(0.45)
    nothing = pairs([Candidate({}, {})], 2)
    assert (nothing.values, nothing.pairs, nothing.choices) == ({}, {}, ())


def test_failed_pairs_are_named():
    counts = PairCounts.of(curves(3, 2, 10))
    assert (counts.failed_pairs, counts.unreliable_pairs) == ((4, 5, 6, 7, 8, 9, 10), (9, 10))
    assert intervals([]) == ""
    assert intervals([3, 7, 8, 12, 13, 14]) == "3, 7, 8, 12–14"
    text = render_markdown(TABLE)
    assert "- brec-basic, GIN (seeds 0, 3): failed: 1–60" in text
    assert "- brec-basic, CLIP (seed 0): failed: 59, 60; unreliable: 59, 60" in text
    assert "- csl-pairs, GIN (seeds 0, 3) and DCNN (seeds 0, 3): failed: 1–45" in text
    assert "- csl-pairs, all (seed 3): failed: 45; unreliable: 45" in text
    page = FORMATS["html"].render(Report(TABLE))
    assert "58–60" in page
    rows = {
        (row["model"], row["dataset"]): row for row in csv.DictReader(StringIO(render_csv(TABLE)))
    }
    row = rows["CLIP", "brec-basic"]
    assert row["failed_pairs_by_seed"] == "0:59,60 3:58-60"
    assert row["unreliable_pairs_by_seed"] == "0:59,60"
    assert rows["CLIP", "brec"]["failed_pairs_by_seed"] == "", "numbers are those of a family"


def test_ranges_are_shown_where_seeds_differ():
    assert range_text([5]) == range_text([5, 5]) == "5"
    assert range_text([5, 6, 6]) == "5.7 (5 to 6)"
    assert range_text([]) == "–"


def test_there_is_a_table_for_each_set_and_one_of_brec():
    shown = {
        block.title: [[field.text for field in line.fields] for line in block.lines]
        for block in blocks(TABLE)
    }
    assert list(shown) == ["brec-basic", "brec-dr", "csl-pairs", "BREC, 2 of 7 families"]
    assert blocks(TABLE)[0].headings[1:] == ("pairs", "separated", "failed", "unreliable", "seeds")
    assert shown["brec-basic"] == [
        ["GIN", "60", "0", "60", "0", "2"],
        ["CLIP", "60", "57.5 (57 to 58)", "2.5 (2 to 3)", "1.0 (0 to 2)", "2"],
        ["all", "–", "not applicable", "–", "–", "–"],
    ]
    assert shown["brec-dr"][1] == ["CLIP", "20", "10", "10", "0", "incomplete: 1 of 2"]
    assert shown["csl-pairs"][1:3] == [
        ["CLIP", "–", "–", "–", "–", "incomplete: 0 of 2"],
        ["all", "45", "44.5 (44 to 45)", "0.5 (0 to 1)", "0.5 (0 to 1)", "2"],
    ]
    assert shown["BREC, 2 of 7 families"] == [
        ["GIN", "80", "0", "80", "0", "2"],
        ["CLIP", "80", "68", "12", "2", "incomplete: 1 of 2"],
        ["all", "–", "not applicable", "–", "–", "–"],
    ]


def test_families_with_different_seeds():
    """Every trial that was asked for is finished, so that the sum is not incomplete."""
    spec = parse_experiment(
        {
            "protocol": "pairs",
            "datasets": ["brec-basic", "brec-dr"],
            "models": [{"model": "gin", "name": "GIN"}],
        },
        "own",
        "own.toml",
    )
    cells = [
        MeasuredCell("GIN", name, pairs([Candidate({}, {seed: curves(1, 0, 2)})], 1))
        for name, seed in (("brec-basic", 0), ("brec-dr", 1))
    ]
    table = make_table(spec, cells, "pairs")
    *_, both = blocks(table)
    assert [field.text for field in both.lines[0].fields] == ["GIN", *"––––", "0 in all sets"]
    assert "INCOMPLETE" not in table.caption


def test_reasons_are_named_once():
    [note] = notes(TABLE)
    assert note.heading == "Not applicable:"
    assert note.texts == [f"all on brec-basic and brec-dr: {REASON}"]
    assert "Separated: the network distinguishes" in TABLE.caption
    assert "Numbers of 2 seeds: their mean" in TABLE.caption
    assert TABLE.caption.startswith("INCOMPLETE: some seeds are missing. Protocol")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_all_of_it(name):
    text = FORMATS[name].render(Report(TABLE))
    for words in ("GIN", "csl-pairs", "Commands: none", "more than 1,024 colorings"):
        assert words in text
    if name == "latex":
        assert text.count(r"\begin{tabular}{lccccc}") == text.count(r"\end{table}") == 4
        assert text.count("Protocol") == 1
    if name == "html":
        assert text.count("<h3>") == 4
        assert "Scores by training time" not in text
    if name == "markdown":
        assert text.count("\n## ") == 7
        assert "- GIN on brec-basic, brec-dr and csl-pairs: num_layers 3" in text


def test_another_recipe_is_named():
    """Of chosen configurations; defaults are those of BREC."""

    def caption(*recipes):
        own = {seed: curves(1, 0, 2) for seed in (0, 3)}
        cells = [
            MeasuredCell(row, "csl-pairs", pairs([Candidate(recipe, own)], 2))
            for row, recipe in zip(("GIN", "CLIP"), recipes, strict=False)
        ]
        return make_table(SPEC, cells, "pairs").caption

    brec = {"num_layers": 3, "epochs": 20, "batch_size": 16, "learning_rate": 1e-4}
    assert "not that of BREC" not in caption(brec, brec)
    assert "not that of BREC: epochs 2 instead of 20." in caption({**brec, "epochs": 2})
    assert (
        "BREC: epochs 2 and 5 instead of 20; learning_rate 0.1 instead of 0.0001 for some networks."
    ) in caption({**brec, "epochs": 2, "learning_rate": 0.1}, {**brec, "epochs": 5})


def test_the_grid_has_only_what_pairs_have(tmp_path):
    with Store(tmp_path / "own.sqlite", create=True) as store:
        _, grid, *_ = provenance(SPEC, store, {})
    assert grid == "Grid: epochs 20, batch_size 16, learning_rate 0.0001"


def test_csv_has_fields_of_pairs():
    rows = {
        (row["model"], row["dataset"]): row for row in csv.DictReader(StringIO(render_csv(TABLE)))
    }
    assert len(rows) == len(CELLS) + 2 + 3, "two are not applicable, and three sums of BREC"
    row = rows["CLIP", "brec-basic"]
    assert tuple(row) == PAIR_FIELDS
    assert (row["pairs"], row["separated_mean"], row["separated_min"]) == ("60", "57.5", "57")
    assert (row["separated_by_seed"], row["unreliable_by_seed"]) == ("0:58 3:57", "0:2 3:0")
    assert (row["complete"], rows["CLIP", "csl-pairs"]["complete"]) == ("True", "False")
    assert rows["CLIP", "csl-pairs"]["pairs"] == rows["CLIP", "csl-pairs"]["failed_mean"] == ""
    assert rows["all", "brec-dr"]["not_applicable"] == rows["all", "brec"]["not_applicable"]
    assert rows["all", "brec-dr"]["not_applicable"] == REASON
    assert rows["GIN", "brec"]["failed_max"] == "80"


def test_a_row_without_applicable_sets_stays_in_the_table():
    part = Overrides(datasets=["brec-dr"])(SPEC)
    assert [row.name for row in part.rows] == ["GIN", "CLIP", "all"]
    again = parse_experiment(part.content(), "own", "own.toml")
    assert again == part
    table = make_table(again, [], "pairs")
    assert "| all | – | not applicable |" in render_markdown(table)
    assert [block.title for block in blocks(table)] == ["brec-dr"], "no sum of one family"


def test_names_are_escaped():
    rows = (replace(TABLE.rows[0], name="=<b>|&_"), *TABLE.rows[1:])
    table = replace(TABLE, rows=rows)
    assert "'=<b>|&_,brec-basic" in render_csv(table)
    assert r"| =&lt;b&gt;\|&amp;\_ | 60 |" in render_markdown(table)
    assert "=&lt;b&gt;|&amp;_" in FORMATS["html"].render(Report(table))
