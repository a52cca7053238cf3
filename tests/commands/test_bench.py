"""The command line of the benchmark: tables, the file of numbers, and errors."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from clipgnn import cli
from clipgnn.bench import colorings, growth, together
from clipgnn.bench.growth import Growth
from clipgnn.bench.measurement import Measurement, Plan
from clipgnn.bench.record import Record
from clipgnn.bench.together import Folds
from clipgnn.errors import DatasetNotFoundError

Run = Callable[..., int]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["clipgnn", "bench", "--rounds", "1", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return int(caught.value.code or 0)

    return command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--device", "gpu"), "--device must be"),
        (("--device", "cuda"), "--device must be"),
        (("NOPE",), "NOPE"),
        (("--only", "trainning"), "Did you mean"),
        (("--only", "scaling"), "--only must be one of training, start, inference"),
        (("--output", "missing/numbers.json"), "--output 'missing/numbers.json' must be a file"),
    ],
)
def test_bad_input(
    run: Run, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    assert run(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("clipgnn: ")
    assert said in printed.err
    assert printed.out == ""


def test_one_measurement(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("csl", "--only", "colorings", "--seconds", "0", "-o", "numbers.json") == 0
    printed = capsys.readouterr().out
    assert colorings.MEASUREMENT.title in printed
    assert "Python loops" in printed
    assert "Medians of 1 rounds" in printed
    record = Record.from_json(Path("numbers.json").read_text())
    assert list(record.rows) == ["colorings"]
    assert record.command.startswith("clipgnn bench --rounds 1 csl --only colorings")


def test_several_measurements_and_remarks(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def grow(plan: Plan) -> list[Growth]:
        assert plan.datasets == ("csl",)
        assert plan.rounds == 1
        return [Growth("k", "step, ms", [1, 2], [3.0, 6.0])]

    def skip(plan: Plan) -> list[Folds]:
        assert "k" in capsys.readouterr().out  # each table is printed when it is measured
        return [Folds("csl", "gin", [], [], skipped="a reason")]

    monkeypatch.setattr(growth, "MEASUREMENT", Measurement("A", "Note.", Growth, grow))
    monkeypatch.setattr(together, "MEASUREMENT", Measurement("B", "Note.", Folds, skip))
    assert run("csl", "--only", "growth", "--only", "together", "--only", "growth") == 0
    assert "gin is skipped: a reason" in capsys.readouterr().out


def test_missing_default_data_sets_are_skipped(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str, *arguments: object, **options: object) -> None:
        raise DatasetNotFoundError(f"There is no {name}.")

    monkeypatch.setattr("clipgnn.datasets.registry.load_tu", missing)
    assert run("--only", "colorings", "--only", "together") == 0
    assert "MUTAG is skipped: There is no MUTAG." in capsys.readouterr().err
