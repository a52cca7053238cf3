"""Specs that may be anything: refused, or exactly the trials that a plain product gives."""

import csv
import itertools
import json
import tomllib
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.experiments.fake_training import SMALL
from tests.faults.fuzz.oracle import budget, equal, judge
from tests.faults.fuzz.strategies import damage

from clipgnn.experiments.content import parse_experiment
from clipgnn.experiments.evaluation import evaluate
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.reading import read_experiment
from clipgnn.parameters import MODELS, Recipe
from clipgnn.report import make_table
from clipgnn.report.csv_text import render_csv
from clipgnn.report.latex import render_latex
from clipgnn.report.markdown import render_markdown
from clipgnn.report.terminal import terminal_table

MAX_TRIALS = 10**6
TEXTS = (
    *(
        "a",
        "16-CLIP",
        "",
        " ",
        "[/b]",
        "[bold]",
        "a|b",
        "$x_1^2$",
        "a & b \\\\ c",
        "%",
        "#",
        "{",
        "}",
    ),
    *(
        "=1+1",
        "a,b",
        'say "x"',
        "new\nline",
        "\x00",
        "\x1b[31m",
        "`a`",
        "*a*",
        "<b>",
        "ü∞±",
        "\u202e",
    ),
    *("a" * 300, "../x", "~", "\\input{x}", "\ud800"),
)
NUMBERS = (0, 1, 2, 3, 5, -1, 10**9, 2**63, 10**400, 0.5, 1.0, -0.0, 1e308)
WORDS = (
    *("0", "1", "-1", "1.5", "1e400", "nan", "inf", "true", '"all"', "[]", "[1, 1]", "[[1]]", "{}"),
    *(
        "1_000_000_000",
        "9" * 5000,
        "[" * 3000 + "]" * 3000,
        '"csl"',
        '"""',
        "'",
        "#",
        "\x00",
        "1979-05-27",
    ),
    *('"\\u0000"', '"[/b]"', '"tu:"', '"tu:../x"', "range", "0x10", "[1, 2, 3, 4, 5, 6]"),
)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """A good TOML file with some of its lines or bytes changed."""
    lines = SMALL.encode().split(b"\n")
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(lines) - 1))
        kind = draw(st.sampled_from(["value", "value", "value", "lose", "double", "swap", "key"]))
        key, _, value = lines[place].partition(b" = ")
        if kind == "value":
            lines[place] = key + b" = " + draw(st.sampled_from(WORDS)).encode()
        elif kind == "key":
            lines[place] = (
                draw(st.sampled_from([b"epoch", b"models", b"[grid]", b"x"])) + b" = " + value
            )
        elif kind == "lose":
            del lines[place]
        elif kind == "double":
            lines.insert(place, lines[place])
        else:
            other = draw(st.integers(0, len(lines) - 1))
            lines[place], lines[other] = lines[other], lines[place]
        if not lines:
            break
    content = b"\n".join(lines)
    return draw(damage(content)) if draw(st.integers(0, 3)) == 0 else content


def _leaves() -> st.SearchStrategy[Any]:
    return st.one_of(
        st.sampled_from(TEXTS),
        st.sampled_from(NUMBERS),
        st.booleans(),
        st.none(),
        st.sampled_from([float("nan"), float("inf")]),
        st.lists(st.sampled_from(NUMBERS), max_size=3),
        st.lists(st.sampled_from(TEXTS), max_size=2),
        st.dictionaries(st.sampled_from(["a", "csl", "epochs", "model"]), st.sampled_from(NUMBERS)),
        st.integers(2, 400).map(lambda size: list(range(1, size))),
    )


_AXES = {
    "epochs": st.lists(st.integers(1, 4), unique=True, min_size=1, max_size=2),
    "num_layers": st.lists(st.integers(1, 3), unique=True, min_size=1, max_size=3),
    "hidden_channels": st.sampled_from([8, [8], [8, 16]]),
    "batch_size": st.sampled_from([2, 32, [16, 32]]),
    "dropout": st.sampled_from([0, 0.5, [0.0, 0.5]]),
    "height": st.sampled_from([0, [1, 2]]),
    "learning_rate": st.sampled_from([0.1, [1, 0.5]]),
}


@st.composite
def contents(draw: st.DrawFn) -> dict[str, Any]:
    """What a TOML file could hold, good or almost."""
    names = ["csl", "connectivity", "MUTAG", "tu:OWN"]
    datasets = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    models = ["clip", "gin", "wl", "dcnn"]
    rows = draw(st.lists(st.sampled_from(models), min_size=1, max_size=3))
    content: dict[str, Any] = {
        "datasets": datasets,
        "models": [
            {
                "model": model,
                "name": f"{draw(st.sampled_from(TEXTS))}{number}",
                **draw(_some_axes({*MODELS[model].rules})),
            }
            for number, model in enumerate(rows)
        ],
        "grid": draw(_some_axes({key for model in rows for key in MODELS[model].rules})),
        "folds": draw(st.integers(2, 4)),
        "seeds": draw(st.sampled_from([0, [0], [0, 1]])),
        "title": draw(st.sampled_from(TEXTS)),
        "protocol": draw(st.sampled_from(["gin", "fair", "last"])),
    }
    if draw(st.booleans()):
        content["only"] = {datasets[0]: draw(_some_axes({*content["grid"]}))}
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        where = draw(st.sampled_from([content, content, content["grid"], content["models"][0]]))
        keys = [
            *where,
            "first_folds",
            "split",
            "published",
            "extremes",
            "epochs",
            "num_layers",
            "?",
        ]
        where[draw(st.sampled_from(keys))] = draw(_leaves())
        if not isinstance(content["grid"], dict) or not isinstance(content["models"], list):
            break
        if not content["models"] or not isinstance(content["models"][0], dict):
            break
    return content


@st.composite
def _some_axes(draw: st.DrawFn, known: set[str]) -> dict[str, Any]:
    chosen = draw(st.lists(st.sampled_from(sorted(_AXES)), max_size=3, unique=True))
    return {key: draw(_AXES[key]) for key in chosen if key in known}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _expected(content: dict[str, Any]) -> tuple[int, set[str]]:
    """How many trials the content asks for, and which: a plain product, row by row.

    They are made only if there are few of them.
    """
    seeds = _listed(content.get("seeds", [0]))
    folds = content.get("first_folds", content.get("folds", 10))
    total, made = 0, set()
    for row, dataset in itertools.product(content["models"], content["datasets"]):
        if dataset not in row.get("datasets", content["datasets"]):
            continue
        model = MODELS[row["model"]]
        own = {key: row[key] for key in row if key not in ("name", "model", "datasets", "only")}
        layers = [content.get("grid", {}), own]
        layers += [content.get("only", {}).get(dataset, {}), row.get("only", {}).get(dataset, {})]
        axes = {
            key: value for layer in layers for key, value in layer.items() if key in model.rules
        }
        values = [_listed(value) for value in axes.values()]
        number = len(seeds) * folds
        for options in values:
            number *= len(options)
        total += number
        if total > 3000:
            continue
        recipe = {key: own for key, own in Recipe.defaults().items() if own is not None}
        for point in itertools.product(*values):
            chosen = {
                key: float(value) if model.rules[key].kind is float else value
                for key, value in zip(axes, point, strict=True)
            }
            trained = {**recipe, **{key: chosen[key] for key in chosen if key in Recipe.names()}}
            parameters = {key: chosen[key] for key in chosen if key not in Recipe.names()}
            for seed, fold in itertools.product(seeds, range(folds)):
                what = [dataset, row["model"], parameters, trained if model.trained else {}]
                made.add(json.dumps([*what, seed, fold], sort_keys=True))
    return total, made


def _check(spec: Experiment, content: dict[str, Any]) -> None:
    total, made = _expected(content)
    assert total <= MAX_TRIALS, f"{total} trials must be refused"
    if total <= 3000:
        trials = spec.trials()
        found = {
            json.dumps(
                [t.dataset, t.model, dict(t.parameters), dict(t.recipe), t.seed, t.fold],
                sort_keys=True,
            )
            for t in trials
        }
        assert found == made
        assert len(trials) == len(made), "each trial once"
        again = parse_experiment(json.loads(json.dumps(spec.content())), spec.name, "again")
        assert [trial.identity for trial in again.trials()] == [t.identity for t in trials]
        assert equal(again.content(), spec.content())
        _check_tables(spec)


def _check_tables(spec: Experiment) -> None:
    """Whatever the names are, the empty table can be written, and has all rows."""
    table = make_table(spec, evaluate(spec, {}), spec.protocol)
    for text in (render_markdown(table), render_latex(table)):
        text.encode("utf-8")
    console = Console(file=StringIO(), width=120)
    console.print(terminal_table(table))
    rows = list(csv.DictReader(StringIO(render_csv(table), newline="")))
    assert len({row["model"] for row in rows}) == len(spec.rows)


@budget("read_experiment")
@given(texts())
def test_read_spec(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "spec.toml"
    path.write_bytes(text)

    def check(spec: Experiment) -> None:
        _check(spec, tomllib.loads(text.decode("utf-8")))

    judge("read_experiment", text, lambda: read_experiment(path), check)


@budget("parse_experiment")
@given(contents())
def test_parse_spec(content: dict[str, Any]) -> None:
    judge(
        "parse_experiment",
        content,
        lambda: parse_experiment(content, "fuzzed", "fuzzed.toml"),
        lambda spec: _check(spec, content),
    )
