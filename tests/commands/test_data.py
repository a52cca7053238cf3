"""`clipgnn data`, from its arguments to what it prints."""

import csv
import io
import sys
from pathlib import Path

import pytest

from clipgnn import cli

NAMES = [
    *("connectivity", "bipartiteness", "triangle-freeness", "csl", "matched-triangle-freeness"),
    *("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI"),
]


@pytest.fixture(autouse=True)
def away_from_the_users_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIPGNN_DATA", str(tmp_path / "data"))

    def refuse(*_: object) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr("clipgnn.datasets.tu.download_tu", refuse)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["clipgnn", "data", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return int(caught.value.code or 0)


def write_path(root: Path, name: str, edges: str = "1, 2\n2, 1\n2, 3\n3, 2\n") -> None:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / f"{name}_A.txt").write_text(edges)
    (folder / f"{name}_graph_indicator.txt").write_text("1\n1\n1\n2\n")
    (folder / f"{name}_graph_labels.txt").write_text("1\n2\n")


def test_all_data_sets_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(monkeypatch) == 0
    printed = capsys.readouterr()
    lines = [line.split() for line in printed.out.splitlines() if line.strip()]
    rows = {line[0]: line[1:] for line in lines}
    assert [line[0] for line in lines if line[0] in NAMES] == NAMES
    assert rows["csl"] == ["150", "10", "41.00", "4.00", "41", "1", "41", "1"]
    assert rows["connectivity"][:3] == ["1000", "2", "20.00"]
    assert rows["MUTAG"] == ["(missing)"]
    assert f"'PROTEINS' is not in {tmp_path / 'data'}" in printed.err


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_no_name_is_cut_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("FORCE_COLOR", "1")  # which also makes rich take it for a terminal
    run(monkeypatch)
    printed = capsys.readouterr().out
    assert all(name in printed for name in NAMES)
    assert "…" not in printed


def test_names_narrow_it_and_root_says_where(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_path(tmp_path / "mine", "MUTAG")
    write_path(tmp_path / "mine", "OWN")
    arguments = ("OWN", "MUTAG", "--root", str(tmp_path / "mine"), "--format", "markdown")
    assert run(monkeypatch, *arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.splitlines() == [
        "| data set | graphs | classes | avg nodes | avg degree | max nodes | labels "
        "| largest group | distinct |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| OWN | 2 | 2 | 2.00 | 1.00 | 3 | 3 | 2 | 2 |",
        "| MUTAG | 2 | 2 | 2.00 | 1.00 | 3 | 3 | 2 | 2 |",
    ]


def test_csv(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--format", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["data set"] for row in rows] == NAMES
    assert float(rows[3]["avg degree"]) == 4
    assert rows[3]["note"] == ""
    assert rows[5]["graphs"] == ""
    assert rows[5]["note"] == "missing"


def test_the_seed_changes_the_tasks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for seed in ("1", "1", "2"):
        run(monkeypatch, "connectivity", "--format", "csv", "--seed", seed)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != printed[2]


@pytest.mark.parametrize("download", [(), ("--download",)])
def test_an_unknown_name_is_one_line_and_status_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    download: tuple[str, ...],
) -> None:
    assert run(monkeypatch, "csl", "mutagg", *download) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert "Did you mean 'MUTAG'?" in printed.err
    assert ("no network" in printed.err) == bool(download)


def test_a_name_that_is_a_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "../MUTAG") == 2
    assert "name of a data set" in capsys.readouterr().err


def test_a_data_set_asked_for_and_not_there_is_a_row_and_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "csl", "MUTAG", "--download") == 1
    printed = capsys.readouterr()
    assert "missing" in printed.out
    assert "150" in printed.out
    assert "ConnectionError: no network" in printed.err


def test_a_damaged_data_set_is_a_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    root = tmp_path / "data[1]"  # must not be taken for markup
    write_path(root, "MUTAG", edges="1, 4\n")
    assert run(monkeypatch, "MUTAG", "--root", str(root)) == 1
    printed = capsys.readouterr()
    assert "damaged" in printed.out
    assert str(root) in printed.err
    assert "between graphs 1 and 2" in printed.err


def test_an_unknown_format(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--format", "latex") == 2
