"""Experiment files too large, too deep, not text or not a file: one error of ours, fast."""

import os
import time
from pathlib import Path

import pytest
from tests.experiments.fake_training import CONTENT, SMALL, small_experiment

from clipgnn.datasets.tu import find_tu
from clipgnn.errors import InvalidExperimentError, InvalidParameterError
from clipgnn.experiments.content import MAX_TRIALS, parse_experiment
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.reading import (
    MAX_BYTES,
    find_experiment,
    read_experiment,
)

DEEP = 3000

HOSTILE_TEXTS = {
    "3,000 nested lists": "datasets = " + "[" * DEEP + "]" * DEEP,
    "3,000 nested tables": "grid = " + "{a = " * DEEP + "1" + "}" * DEEP,
    "a dotted key of 3,000 parts": ".".join(["grid"] * DEEP) + " = 1",
    "an integer of 5,000 digits": SMALL.replace("epochs = 5", "epochs = 1" + "0" * 5000),
    "a hexadecimal integer of 5,000 digits": SMALL.replace(
        "epochs = 5", "epochs = 0x" + "f" * 5000
    ),
    "a hexadecimal integer as a title": SMALL.replace('"A small table"', "0x" + "f" * 5000),
    "a float that is a huge integer": SMALL.replace("epochs = 5", "learning_rate = 0x" + "f" * 999),
    "a key of two lines": SMALL + '\n["a\\nb\\u001b[2J"]\nx = 1\n',
    "a key of 100,000 characters": SMALL + f"\n[{'k' * 100_000}]\nx = 1\n",
    "a NUL byte": SMALL.replace("A small", "A\0small"),
    "an escaped NUL byte": SMALL.replace("A small", "A\\u0000small"),
    "a list of 100,000 layers": SMALL.replace("epochs = 5", f"epochs = {[0] * 100_000}"),
    "over the size limit": SMALL + "#" * MAX_BYTES,
}


@pytest.mark.parametrize("text", HOSTILE_TEXTS.values(), ids=HOSTILE_TEXTS.keys())
def test_a_hostile_file_is_one_short_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hostile.toml"
    path.write_text(text)
    began = time.monotonic()
    with pytest.raises(InvalidExperimentError) as caught:
        read_experiment(path)
    assert time.monotonic() - began < 5
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert message.isprintable()
    assert len(message) < 1000


@pytest.mark.parametrize("kind", ["folder", "fifo", "device", "missing", "long", "bytes"])
def test_what_is_not_a_readable_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "odd.toml"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)  # reading it would wait for a writer
    elif kind == "device":
        path.symlink_to("/dev/zero")  # reading it would not end
    elif kind == "long":
        path = tmp_path / f"{'x' * 5000}.toml"
    elif kind == "bytes":
        path.write_bytes(SMALL.encode("utf-16"))
    for read in (read_experiment, lambda path: read_experiment(find_experiment(str(path)))):
        with pytest.raises(InvalidExperimentError, match=r"toml"):
            read(path)


def test_a_file_name_that_is_not_one_printable_line(tmp_path: Path) -> None:
    path = tmp_path / "two\nlines.toml"
    path.write_text(SMALL)
    with pytest.raises(InvalidExperimentError, match="name: must be one printable line"):
        read_experiment(path)


@pytest.mark.parametrize("key", ["title", "name"])
@pytest.mark.parametrize(
    "text", ["two\nlines", "bell\a", "\x1b[31mred", "\u202eright to left", "x" * 201, "\udcff", " "]
)
def test_names_and_titles_are_one_printable_line(key: str, text: str) -> None:
    changes = {"title": text} if key == "title" else {"models": [{"model": "clip", "name": text}]}
    with pytest.raises(
        InvalidExperimentError, match=rf"{key}: must be one printable line"
    ) as caught:
        small_experiment(**changes)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["../csl", "a/b", "-x", "a\nb", "", "x" * 300, "[/b]", "a|b"])
def test_names_of_tu_data_sets_are_those_of_folders(name: str) -> None:
    with pytest.raises(InvalidExperimentError, match=r"datasets: "):
        small_experiment(datasets=[f"tu:{name}"], only={}, extremes=[])


def test_names_of_tu_data_sets_are_checked_as_the_loader_does(tmp_path: Path) -> None:
    for name in ("NCI1", "a b", "IMDB-BINARY", "x.y+z", "Ünlü_3"):
        assert small_experiment(datasets=[f"tu:{name}"], only={}, extremes=[]).datasets == (
            f"tu:{name}",
        )
        find_tu(name, tmp_path)  # raises where the name is refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"folds": 10**9}, "folds: must be an integer from 2 to 1000. Got 1000000000"),
        ({"seeds": [2**64]}, "seeds: must be an integer from 0 to .* Got 18446744073709551616"),
        ({"grid": {"hidden_channels": 10**30}}, "grid.hidden_channels: .* Got 10{30}"),
        ({"grid": {"num_layers": 100_000}}, "grid.num_layers: must be an integer from 1 to 1000."),
        ({"grid": {"learning_rate": float("nan")}}, "grid.learning_rate: .* Got nan"),
        ({"grid": {"learning_rate": 10**400}}, "grid.learning_rate: .* Got an integer of"),
        ({"grid": {"dropout": float("inf")}}, "grid.dropout: .* Got inf"),
        ({"datasets": [f"tu:D{i}" for i in range(201)]}, "datasets: .* at most 200 entries"),
        (
            {"models": [{"model": "clip", "name": f"{i}"} for i in range(201)]},
            "models: .* at most 200 entries",
        ),
    ],
)
def test_bounds(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidExperimentError, match=rf"^small.toml: {message}"):
        parse_experiment({**CONTENT, "only": {}, "extremes": [], **changes}, "small", "small.toml")


def test_a_grid_is_counted_before_it_is_built() -> None:
    many = list(range(1, 1001))
    grid = {"epochs": many, "hidden_channels": many, "batch_size": many[1:], "num_layers": many}
    began = time.monotonic()
    with pytest.raises(InvalidExperimentError, match=r"at most 1000000 trials. Got \d{14} trials"):
        small_experiment(grid=grid, only={})
    assert time.monotonic() - began < 1


def test_the_count_of_trials() -> None:
    spec = small_experiment(seeds=[0, 1])
    assert spec.num_trials == len(spec.trials()) == 96
    assert Overrides(folds=1, models=["0-CLIP"])(spec).num_trials == 12
    assert spec.num_trials < MAX_TRIALS


@pytest.mark.parametrize("epochs", [0, -1, 1_000_001, 10**30])
def test_epochs_that_are_overridden_keep_to_the_rule(epochs: int) -> None:
    with pytest.raises(InvalidParameterError, match=r"^epochs must be an integer from 1 to"):
        Overrides(epochs=epochs)(small_experiment())
