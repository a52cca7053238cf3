"""The command line of experiments: what it prints, where, and with which status."""

import sqlite3
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.experiments.fake_training import (
    REASON,
    SMALL,
    diverging,
    failing,
    fake,
    fake_fingerprint,
    small_experiment,
)

from clipgnn import cli
from clipgnn.errors import DatasetNotFoundError
from clipgnn.experiments import data


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
        group = () if arguments[0] == "report" else ("experiment",)
        monkeypatch.setattr(sys, "argv", ["clipgnn", *group, *arguments])
        try:
            cli.main()
        except SystemExit as end:
            status = end.code
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return command


RUN = ("run", "small", "--executor", "in-process", "--device", "cpu")


def test_run_status_report_resume(call):
    status, table, messages = call(*RUN, "--datasets", "csl")
    assert status == 0
    assert "A small table" in table
    assert 'Protocol "gin"' in table
    assert "`clipgnn experiment run small --executor in-process" in table
    assert "small: 16 of 16 trials" in messages
    assert Path("runs/small.sqlite").is_file()

    status, text, _ = call("status", "small")
    assert status == 0
    assert "16 of 16 trials finished, 0 running, 0 failed" in text
    assert "8 of 8" in text

    status, text, _ = call("report", "small", "--experiment", "small")
    assert status == 0
    assert "INCOMPLETE: Missing: 32 of 48 trials asked for. Without any result: " in text
    assert "0-CLIP and 16-CLIP on connectivity." in text
    assert "incomplete: 0 of 16 folds" in text

    status, text, _ = call("resume", "small", "--executor", "in-process")
    assert status == 0
    assert "INCOMPLETE" not in text

    assert call(*RUN)[0] == 0
    assert "48 of 48 trials finished" in call("status", "small")[1]


@pytest.mark.parametrize(
    ("ending", "name", "begin"),
    [
        (".md", "markdown", "# A small table"),
        (".csv", "csv", "model,dataset,"),
        (".tex", "latex", "% Com"),
        (".html", "html", "<!DOCTYPE html>"),
    ],
)
def test_formats(call, ending, name, begin):
    status, text, _ = call(*RUN, "--format", name)
    assert status == 0
    assert text.startswith(begin)
    status, printed, _ = call("report", "small", "-o", f"table{ending}")
    assert (status, printed) == (0, "")
    assert Path(f"table{ending}").read_text() == text
    assert call("report", "small", "--format", "terminal", "--output", "table.txt")[0] == 0
    assert "± " in Path("table.txt").read_text()


def test_the_command_is_kept_without_folders_of_this_machine(call, tmp_path):
    _, text, _ = call(*RUN, "--format", "markdown", "--store", str(tmp_path / "my.sqlite"))
    assert (
        "run small --executor in-process --device cpu --format markdown --store my.sqlite" in text
    )
    assert str(tmp_path) not in text


def test_parts(call):
    status, text, _ = call(
        *RUN, "--models", "16-CLIP", "--where", "num_layers=2", "--where", "hidden_channels=8"
    )
    assert status == 0
    assert "0-CLIP" not in text
    assert "Trials: 8 of 8" in text
    status, text, _ = call(*RUN, "--epochs", "2", "--folds", "2", "--datasets", "connectivity")
    assert "incomplete: 8 of 16 folds" in text
    assert "INCOMPLETE: The first 2 of 4 folds were asked for." in text


def test_replaced_data_are_measured_again(call, monkeypatch):
    csl = (*RUN, "--datasets", "csl")
    assert f"Data: csl {fake_fingerprint('csl')} (" in call(*csl)[1]
    monkeypatch.setattr(data, "fingerprint_of", lambda dataset, *_: f"new {dataset}")
    status, output, errors = call("resume", "small", "--executor", "in-process")
    assert (status, output) == (2, "")
    assert f"must have the fingerprint {fake_fingerprint('csl')}" in errors
    assert "Got new csl" in errors
    # what was finished on the old data is still what is shown
    assert "16 of 16 trials finished" in call("status", "small")[1]
    assert "Trials: 16 of 16 finished" in call("report", "small")[1]
    monkeypatch.setattr("clipgnn.experiments.work.run_trials", lambda trials, **_: 1 / 0)
    status, text, messages = call(*csl)
    assert status == 1
    assert (
        f"csl has changed since the last run ({fake_fingerprint('csl')} → new csl); 16 results on "
        "the old data are kept and not used."
    ) in messages
    assert "Trials: 0 of 16 finished" in text
    assert "Data: csl new csl (" in text
    assert "0 of 16 trials finished" in call("status", "small")[1]


def test_only_commands_on_the_same_data_are_listed(call, monkeypatch):
    old = "run small --executor in-process --device cpu --datasets csl"
    both = "run small --executor in-process --device cpu`"
    assert call(*RUN, "--datasets", "csl")[0] == 0
    changed = {"csl": "new"}
    monkeypatch.setattr(data, "fingerprint_of", lambda name, *_: changed.get(name, name))
    status, text, messages = call(*RUN, "--format", "markdown")
    assert status == 0
    assert "csl has changed since the last run" in messages
    assert "connectivity has changed" not in messages
    assert old not in text
    _, text, messages = call(*RUN)
    assert "has changed" not in messages
    assert "--format markdown`; " in text
    assert both in text
    # Its results on connectivity are in the table still.
    changed["csl"] = "newer"
    _, text, messages = call(*RUN, "--datasets", "csl", "--format", "csv")
    assert "csl has changed since the last run (new → newer); 16 results" in messages
    assert "run small --executor in-process --device cpu --datasets csl --format csv" in text
    assert both not in text
    text = call("report", "small", "--experiment", "small", "--format", "csv")[1]
    assert both in text
    assert f"`clipgnn experiment {old}`" not in text


def test_a_report_of_the_whole_finds_the_data_of_its_parts(call, monkeypatch):
    call(*RUN, "--datasets", "csl")
    call(*RUN, "--datasets", "connectivity")
    assert "Trials: 48 of 48 finished" in call("report", "small", "--experiment", "small")[1]
    # another experiment of the same store has other data of that name
    Path("experiments/other.toml").write_text(SMALL)
    monkeypatch.setattr(data, "fingerprint_of", lambda dataset, *_: f"new {dataset}")
    other = ("other", *RUN[2:], "--store", "runs/small.sqlite")
    assert call("run", *other)[0] == 0
    assert "Trials: 48 of 48 finished" in call("report", "small", "--experiment", "small")[1]
    text = call("report", "runs/small.sqlite", "--experiment", "other")[1]
    assert "Data: connectivity new con" in text


def test_missing_data_are_reported_once_before_any_trial(call, monkeypatch):
    def missing(dataset, *_):
        raise DatasetNotFoundError(f"The data set {dataset!r} is not there.")

    monkeypatch.setattr(data, "fingerprint_of", missing)
    status, output, errors = call(*RUN)
    assert (status, output) == (2, "")
    assert errors == "clipgnn: The data set 'connectivity' is not there.\n"
    assert not Path("runs").exists()


def test_one_is_singular(call):
    only = ("--models", "0-CLIP", "--where", "num_layers=2", "--datasets", "csl", "--folds", "1")
    call(*RUN, *only)
    text = call("report", "small", "--full", "--format", "markdown")[1]
    assert "Tried: 0-CLIP 1 configuration × 5 epochs" in text
    assert "Versions (1 trial): " in text
    assert "Machine (1 trial): " in text


def test_fair(call):
    assert call(*RUN, "--protocol", "fair", "--format", "markdown")[0] == 0
    _, text, _ = call("report", "small", "--format", "markdown")
    assert 'Protocol "fair"' in text
    assert "fold 3: epoch" in text
    _, text, _ = call("report", "small", "--protocol", "gin")
    assert 'Protocol "gin"' in text


def test_last_uses_the_trials_of_gin(call, monkeypatch):
    assert call(*RUN)[0] == 0
    status, text, _ = call("report", "small", "--protocol", "last", "--format", "markdown")
    assert status == 0
    assert 'Protocol "last": score of the last epoch' in text
    assert "INCOMPLETE" not in text
    chosen = text.partition("## Chosen")[2].partition("## Provenance")[0]
    assert chosen.count(": epoch 5; ") == 4, "of five epochs"
    # Nothing is left to train.
    monkeypatch.setattr("clipgnn.experiments.work.run_trials", lambda *_, **__: 1 / 0)
    status, text, _ = call(*RUN, "--protocol", "last")
    assert status == 0
    assert 'Protocol "last"' in text


def test_a_trial_that_fails(call, monkeypatch):
    bad = small_experiment().trials()[7]
    monkeypatch.setattr(
        "clipgnn.experiments.work.run_trials",
        lambda trials, **_: failing(trials, bad=bad.identity),
    )
    status, table, messages = call(*RUN)
    assert status == 1
    assert "incomplete: 15 of 16 folds" in table
    assert f"failed: 0-CLIP: {bad}: ValueError: no luck" in messages
    assert "1 of 48 trials failed" in messages
    _, text, _ = call("status", "small", "--traceback")
    assert "15 of 16, 1 failed" in text
    assert "1 × ValueError: no luck" in text
    assert "Traceback (most recent call last)" in text
    assert "2 attempts" in text


def test_a_trial_that_diverges(call, monkeypatch):
    bad = small_experiment().trials()[7]
    work = partial(diverging, bad={bad.identity})
    monkeypatch.setattr("clipgnn.experiments.work.run_trials", lambda trials, **_: work(trials))
    status, table, messages = call(*RUN)
    assert status == 0
    assert "small: 47 of 48 trials, 1 diverged" in messages
    assert "1 of 48 trials diverged" in messages
    assert "--retry-failed trains them again" in messages
    assert "incomplete" not in table.lower()
    assert "Trials: 47 of 48 finished, 1 diverged" in table
    values = ", ".join(f"{key} {value}" for key, value in bad.parameters.items())
    note = f"Diverged and therefore excluded: 0-CLIP on connectivity: {values}, epochs 5"
    assert note in " ".join(table.split())
    assert f"fold 3 {REASON}" in " ".join(table.split())
    _, text, _ = call("status", "small")
    assert "47 of 48 trials finished, 0 running, 0 failed, 1 diverged" in text
    assert "15 of 16, 1 diverged" in text
    assert f"1 × {REASON}" in text
    # it is not trained again, unless that is asked for
    monkeypatch.setattr("clipgnn.experiments.work.run_trials", lambda trials, **_: fake(trials))
    status, _, messages = call("resume", "small", "--executor", "in-process")
    assert (status, "1 of 48 trials diverged" in messages) == (0, True)
    status, table, messages = call("resume", "small", "--executor", "in-process", "--retry-failed")
    assert (status, messages) == (0, "small: 47 of 48 trials\nsmall: 48 of 48 trials\n")
    assert "iverged" not in table


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "smal"), "no experiment 'smal'. Use one of "),
        (("run", "nowhere/x.toml"), "no experiment file nowhere/x.toml"),
        ((*RUN, "--models", "17-CLIP"), "--models '17-CLIP' is not in small"),
        ((*RUN, "--datasets", "cls"), "Did you mean 'csl'?"),
        ((*RUN, "--folds", "9"), "--folds must be from 1 to 4"),
        ((*RUN, "--where", "num_layers"), "--where must have the form num_layers=3,5"),
        ((*RUN, "--where", "num_layers=7"), "--where num_layers must be one of 1, 2. Got 7"),
        ((*RUN, "--protocol", "fare"), "must be one of gin, fair, last, pairs. Got 'fare'"),
        ((*RUN, "--output", "table.doc"), "--output must end in .txt, .md, .csv, .tex, .html"),
        ((*RUN, "--output", "nowhere/table.md"), "Create its folder first"),
        (("run", "small", "--device", "cude"), "--device must be auto, cpu, cuda or cuda:NUMBER"),
        (("run", "small", "--device", "cuda:99"), "--device must be a device of this machine"),
        (("run", "small", "--executor", "rey"), "Did you mean 'ray'?"),
        (
            ("run", "small", "--address", "x:1"),
            "--address must not be set for the executor 'processes'",
        ),
        ((*RUN, "--job-timeout", "5"), "--job-timeout must not be set for the executor"),
        (("run", "small", "--job-timeout", "0"), "--job-timeout must be a positive number"),
        ((*RUN, "--heartbeat-timeout", "5"), "--heartbeat-timeout must not be set for the exec"),
        ((*RUN, "--format", "latx"), "--format must be one of terminal, markdown, csv, latex"),
        (("status", "small"), "no store runs/small.sqlite. Run `clipgnn experiment run small`"),
        (("resume", "small"), "There is no store"),
    ],
)
def test_bad_input_is_one_line_and_status_2(call, arguments, message):
    status, output, errors = call(*arguments)
    assert status == 2
    assert output == ""
    assert errors.startswith("clipgnn: ")
    assert message in errors
    assert errors.count("\n") == 1


def test_a_spec_with_a_typo(call):
    Path("experiments/small.toml").write_text(SMALL.replace("num_layers", "num_layer"))
    status, _, errors = call(*RUN)
    assert status == 2
    assert "small.toml: grid.num_layer: is an unknown key" in errors
    assert "Did you mean 'num_layers'?" in errors


@pytest.mark.parametrize(
    ("command", "small", "other"),
    [
        ("status", "small in both.sqlite", "other.v2 in both.sqlite"),
        ("resume", "A small table", "Another table"),
    ],
)
def test_a_store_with_two_experiments(call, command, small, other):
    Path("other.v2.toml").write_text(SMALL.replace("A small table", "Another table"))
    store = ("--store", "both.sqlite")
    for name in ("small", "other.v2.toml"):
        assert call("run", name, *store, "--executor", "in-process", "--device", "cpu")[0] == 0
    for name in ("other.v2", "other.v2.toml"):
        assert other in call(command, name, *store)[1]
    assert small in call(command, "small", *store)[1]
    status, output, errors = call(command, "smal", *store)
    assert (status, output) == (2, "")
    assert "must be that of an experiment in both.sqlite, one of small, other.v2" in errors
    assert "Did you mean 'small'?" in errors


def test_a_report_of_the_wrong_protocol(call):
    assert call(*RUN)[0] == 0
    status, _, errors = call("report", "small", "--protocol", "fair")
    assert status == 2
    assert '--protocol must be "gin" or "last" for trials without validation graphs' in errors


def test_repair(call):
    store = Path("runs/small.sqlite")
    assert call(*RUN)[0] == 0
    change(store, "UPDATE results SET finished = '2001' WHERE rowid = 3")
    for command in (("report", "small"), ("status", "small"), RUN):
        status, output, errors = call(*command)
        assert (status, output) == (2, "")
        assert f"`clipgnn experiment repair small --store {store}`" in errors
        assert errors.count("\n") == 1
    status, output, _ = call("repair", "small")
    assert status == 0
    lines = output.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("Deleted the result of trial ")
    assert lines[1] == f"1 entry of {store} deleted, 0 kept; the next run trains missing trials."
    status, _, messages = call(*RUN)
    assert status == 0
    assert "47 of 48 trials" in messages
    assert call("repair", "small")[1] == f"No damaged entries in {store}; indexes rebuilt.\n"
    store.rename("my store.sqlite")
    change("my store.sqlite", "DELETE FROM environments")
    errors = call("report", "my store.sqlite")[2]
    assert "`clipgnn experiment repair 'my store' --store 'my store.sqlite'`" in errors
    _, output, _ = call("repair", "small", "--store", "my store.sqlite")
    *lines, last = output.splitlines()
    assert len(lines) == 48
    assert all(line.startswith("Kept the result of trial ") for line in lines)
    assert all(line.endswith(": its environment 1 is missing.") for line in lines)
    assert last.startswith("0 entries of my store.sqlite deleted, 48 kept")
    status, output, errors = call("repair", "small")
    assert (status, output) == (2, "")
    assert "no store runs/small.sqlite. Run `clipgnn experiment run small` first" in errors


def change(path, statement):
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(statement)
        raw.commit()


@pytest.mark.parametrize("work", [failing, diverging])
def test_messages_are_not_broken_into_lines(call, monkeypatch, work):
    monkeypatch.setenv("COLUMNS", "40")
    bad = small_experiment().trials()[7].identity
    monkeypatch.setattr(
        "clipgnn.experiments.work.run_trials",
        lambda trials, **_: work(trials, bad=bad),
    )
    _, _, messages = call(*RUN, "--datasets", "connectivity")
    starts = ("small: ", "failed: 0-CLIP: clip on", "1 of 32 trials ")
    assert all(line.startswith(starts) for line in messages.splitlines())


def test_the_message_of_a_stopped_run_is_one_line(call, monkeypatch):
    def stop(trials, **_):
        raise KeyboardInterrupt

    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("clipgnn.experiments.work.run_trials", stop)
    status, _, messages = call(*RUN)
    assert status == 130
    assert messages.endswith(
        "Interrupted. Finished results are in runs/small.sqlite; the same command continues.\n"
    )


def test_an_interrupted_preparation_is_explained(call, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("clipgnn.commands.experiment.prepare_experiment", stop)
    status, _, messages = call(*RUN)
    assert (status, messages) == (130, "Interrupted. The same command continues.\n")
    monkeypatch.setattr("clipgnn.commands.experiment.read_experiment", stop)
    assert call(*RUN)[2] == "clipgnn: Interrupted.\n"


def test_tables_fit_a_narrow_terminal(call, monkeypatch):
    assert call(*RUN)[0] == 0
    monkeypatch.setenv("COLUMNS", "40")
    lines = call("report", "small")[1].splitlines() + call("status", "small")[1].splitlines()[1:]
    assert max(map(len, lines)) <= 40
