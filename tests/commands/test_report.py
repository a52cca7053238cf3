"""`clipgnn report`: which experiment it reports, what it writes, and what it refuses."""

import os
import sys
from pathlib import Path

import pytest
from tests.experiments.fake_training import SMALL, failing, fake, fake_fingerprint, small_experiment
from tests.report.kept import run_with_predictions

from clipgnn import cli
from clipgnn.experiments import data
from clipgnn.experiments.artifacts import predictions_path
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import Trial

RUN = ("experiment", "run", "small", "--executor", "in-process", "--device", "cpu")


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Runs a command in a folder of its own: status, standard output, error output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr("clipgnn.experiments.work.run_trials", lambda trials, **_: fake(trials))
    monkeypatch.setattr(data, "fingerprint_of", fake_fingerprint)
    Path("experiments").mkdir()
    Path("experiments/small.toml").write_text(SMALL)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["clipgnn", *arguments])
        try:
            cli.main()
        except SystemExit as end:
            status = end.code
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return command


def test_a_store_is_given_by_name_or_path(call):
    assert call(*RUN)[0] == 0
    texts = [
        call("report", store, "--format", "markdown")[1]
        for store in ("small", "small.toml", "runs/small.sqlite")
    ]
    assert texts[0].startswith("# A small table")
    assert len(set(texts)) == 1
    Path("runs/small.sqlite").rename("other")
    assert call("report", "other", "--format", "markdown")[1] == texts[0]


def test_a_folder_with_the_name_of_an_experiment_is_not_its_store(call):
    assert call(*RUN)[0] == 0
    Path("small").mkdir()
    assert call("report", "small")[0] == 0


def test_a_store_with_two_experiments(call):
    Path("other.v2.toml").write_text(SMALL.replace("A small table", "Another table"))
    for name in ("small", "other.v2.toml"):
        assert call(*RUN[:2], name, "--store", "both.sqlite", *RUN[3:])[0] == 0
    status, output, errors = call("report", "both.sqlite")
    assert (status, output) == (2, "")
    assert "--experiment must be given for a store with several experiments" in errors
    assert "both.sqlite has other.v2, small." in errors
    for name, title in (
        ("small", "A small table"),
        ("other.v2", "Another table"),  # as it was run
        ("other.v2.toml", "Another table"),
    ):
        assert title in call("report", "both.sqlite", "--experiment", name)[1]
    status, _, errors = call("report", "both.sqlite", "--experiment", "smal")
    assert (status, errors.count("\n")) == (2, 1)
    assert "Did you mean 'small'?" in errors
    Path("both.sqlite").rename("small.sqlite")
    assert "A small table" in call("report", "small.sqlite")[1]


def test_other_runs_of_the_experiment_are_named(call):
    assert call(*RUN, "--datasets", "csl")[0] == 0
    assert "Not in this table" not in call("report", "small")[1]
    assert call(*RUN, "--datasets", "connectivity")[0] == 0
    _, text, messages = call("report", "small", "--format", "markdown")
    assert (
        "- Not in this table: 0-CLIP, 16-CLIP on csl, which other runs of small asked for" in text
    )
    assert "--experiment small reports the whole experiment." in messages
    _, text, messages = call("report", "small", "--experiment", "small")
    assert ("Not in this table" in text, messages) == (False, "")


def test_what_is_missing_of_a_partial_run(call, monkeypatch):
    bad = small_experiment().trials()[7]
    monkeypatch.setattr(
        "clipgnn.experiments.work.run_trials",
        lambda trials, **_: failing(trials, bad=bad.identity),
    )
    assert call(*RUN)[0] == 1
    said = (
        "INCOMPLETE: Missing: 1 of 48 trials asked for, 1 of them failed. Partly missing: "
        "0-CLIP on connectivity (1 of 16 trials)."
    )
    for name in ("markdown", "html"):
        assert said in call("report", "small", "--format", name)[1]
    assert said in " ".join(call("report", "small")[1].split())


def test_full_provenance(call):
    for seeds in ("0", "1", "2", "0,1,2"):
        assert call(*RUN, "--datasets", "csl", "--seeds", seeds)[0] == 0
    short = call("report", "small", "--format", "markdown")[1]
    full = call("report", "small", "--full", "--format", "markdown")[1]
    assert "--seeds 2`; " in short
    assert "--seeds 1`" not in short
    assert "--seeds 0,1,2`, and 2 earlier commands" in short
    assert "- Trained with: clipgnn 0 (source ?) on cpu (none) (48 trials)" in short
    assert "Versions (" not in short
    assert "- Grid: " not in short
    assert all(f"--seeds {number}`" in full for number in range(3))
    for line in ("Grid: ", "Versions (48 trials): ", "Machine (48 trials): "):
        assert f"- {line}" in full


def test_commands_of_other_rows_and_seeds_are_not_those_of_the_report(call):
    for part in (("--models", "0-CLIP"), ("--models", "16-CLIP"), ("--seeds", "7")):
        assert call(*RUN, *part)[0] == 0
    one = call("report", "small", "--models", "0-CLIP", "--seeds", "0", "--format", "markdown")[1]
    assert "--models 0-CLIP" in one
    assert "--models 16-CLIP" not in one
    assert "--seeds 7" not in one


def test_figures_are_written_as_png_and_svg(call):
    assert call(*RUN)[0] == 0
    status, output, messages = call("report", "small", "-o", "page.html", "--figures", "figures")
    assert (status, output) == (0, "")
    kinds = ("colorings", "curves", "time")
    names = {
        f"{kind}-{name}.{ending}"
        for kind in kinds
        for name in ("connectivity", "csl")
        for ending in ("png", "svg")
    }
    assert {path.name for path in Path("figures").iterdir()} == names
    written = "6 figures written to figures, each as PNG and SVG.\nReport: page.html\n"
    assert messages == written
    page = Path("page.html").read_text()
    for name in names:
        assert f'<figure id="{name[:-4]}">' in page
    before = {path.name: path.read_bytes() for path in Path("figures").iterdir()}
    assert "A small table" in call("report", "small", "--figures", "figures")[1]
    assert {path.name: path.read_bytes() for path in Path("figures").iterdir()} == before


def test_predictions_are_shown(call, tmp_path):
    run_with_predictions(tmp_path / "kept.sqlite")
    assert call("report", "kept.sqlite", "-o", "page.html")[0] == 0
    page = Path("page.html").read_text()
    for kind in ("confusion", "calibration"):
        assert page.count(f'<figure id="{kind}-') == 2
    assert "after the last epoch (epoch 9); the table has the scores of epoch" in page


@pytest.mark.parametrize("content", [b"torn", b""])
def test_damaged_predictions(call, tmp_path, content):
    spec = run_with_predictions(tmp_path / "kept.sqlite")
    for trial in spec.trials():
        predictions_path(tmp_path / "kept.sqlite", trial.identity).write_bytes(content)
    status, output, errors = call("report", "kept.sqlite", "-o", "page.html")
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert "If it is damaged, delete it and run the experiment again." in errors
    assert not Path("page.html").exists()
    assert call("report", "kept.sqlite", "--format", "csv")[0] == 0, "the table does not need them"


def refused(call, *arguments):
    status, output, errors = call("report", *arguments)
    assert (status, output) == (2, "")
    assert errors.startswith("clipgnn: ")
    assert errors.count("\n") == 1
    return errors


def test_stores_that_cannot_be_reported(call):
    assert "no store runs/small.sqlite. Run `clipgnn experiment run small`" in refused(
        call, "small"
    )
    assert "There is no store nowhere/x.sqlite" in refused(call, "nowhere/x.sqlite")
    Path("text.sqlite").write_text("not a store")
    assert "text.sqlite" in refused(call, "text.sqlite")
    assert "A store must be a regular file" in refused(call, ".")
    with Store("empty.sqlite", create=True):
        pass
    assert "empty.sqlite is empty. Run an experiment into it first." in refused(
        call, "empty.sqlite"
    )
    assert "empty.sqlite is empty" in refused(call, "empty.sqlite", "-o", "page.html")
    assert not Path("page.html").exists()


def test_an_experiment_without_finished_trials(call, monkeypatch):
    def stop(trials: list[Trial], **_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("clipgnn.experiments.work.run_trials", stop)
    assert call(*RUN)[0] == 130
    for arguments in (("small",), ("small", "-o", "page.html", "--figures", "figures")):
        assert (
            "A report requires finished trials of small. Got none of 48 trials in "
            "runs/small.sqlite. Run the experiment first"
        ) in refused(call, *arguments)
    assert not Path("page.html").exists()
    assert not Path("figures").exists()


def test_output_that_cannot_be_written(call):
    assert call(*RUN)[0] == 0
    assert "Create its folder first" in refused(call, "small", "-o", "nowhere/page.html")
    assert "--figures 'nowhere/figures' must be a folder" in refused(
        call, "small", "--figures", "nowhere/figures"
    )
    Path("file").write_text("in the way")
    assert "--figures 'file' must be a folder" in refused(call, "small", "--figures", "file")
    assert "--output must end in .txt, .md, .csv, .tex, .html" in refused(
        call, "small", "-o", "page.htm"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_folders_without_permission(call):
    assert call(*RUN)[0] == 0
    Path("locked").mkdir(mode=0o500)
    assert "No permission to write to locked" in refused(call, "small", "-o", "locked/page.html")
    assert "No permission" in refused(call, "small", "--figures", "locked")
