"""Whatever a user does at the command line ends in one clear line and the right status."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.fake_training import SMALL, fake
from tests.faults.fake_cli import COMMAND, ENVIRONMENT, ROOT

from clipgnn import cli
from clipgnn.commands import app as commands

ASCII: dict[str, Any] = {"PYTHONIOENCODING": "ascii"}

NASTY = SMALL.replace("A small table", "[/b] ± ∞").replace('"0-CLIP"', '"[/red] | _x_ % ∞"')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished experiment whose names are full of special characters."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "[b].toml").write_text(NASTY)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(
            "clipgnn.experiments.work.run_trials",
            lambda trials, **_: fake(trials),
        )
        run = ["run", "[b].toml", "--executor", "in-process", "--device", "cpu"]
        patch.setattr(sys, "argv", ["clipgnn", "experiment", *run, "--store", "s.sqlite"])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    assert ended.value.code == 0
    return folder


def started(
    folder: Path, *arguments: str, stdout: int = subprocess.PIPE, **environment: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "clipgnn.cli", *arguments],
        cwd=folder,
        env={**ENVIRONMENT, **environment},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


REPORT = ("report", "s.sqlite")
STATUS = ("experiment", "status", "[b]", "--store", "s.sqlite")


@pytest.mark.parametrize("arguments", [REPORT, STATUS])
def test_an_ascii_terminal(folder: Path, arguments: tuple[str, ...]) -> None:
    process = started(folder, *arguments, **ASCII)
    output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert output.isascii()
    assert "inf" in output
    assert arguments == STATUS or " +- " in output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [(*REPORT, "--format", "csv"), ("--help",)])
def test_full_output(folder: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        process = started(folder, *arguments, stdout=full.fileno())
        _, errors = process.communicate()
    assert process.returncode == 2
    assert errors == (
        f"clipgnn: The output cannot be written: {os.strerror(errno.ENOSPC)}. Redirect it, or "
        "free some space.\n"
    )


def test_a_reader_that_has_gone(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = started(folder, *STATUS, stdout=writing)
    os.close(writing)
    assert process.communicate()[1] == ""
    assert process.returncode == 1


def test_output_that_is_closed(folder: Path) -> None:
    command = [sys.executable, "-m", "clipgnn.cli", *STATUS]
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
    done = subprocess.run(closed, cwd=folder, env=ENVIRONMENT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


INTERRUPTED_IMPORT = """
import os, signal, sys
from clipgnn import cli

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
cli.main()
"""


def test_ctrl_c_during_the_import_of_the_commands() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, "--version"],
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stdout) == (130, b"")
    assert done.stderr == b"clipgnn: Interrupted.\n"


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KeyboardInterrupt(), 130, "clipgnn: Interrupted."),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, ""),
        (RecursionError("maximum depth"), 2, "clipgnn: The input is nested too deeply"),
        (MemoryError(), 2, "clipgnn: There is not enough memory"),
        (PermissionError(errno.EACCES, "Permission denied", "a\nb"), 2, r"clipgnn: a\nb cannot be"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "x" * 9999), 2, "… "),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_errors_that_are_not_ours(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    status: int,
    said: str,
) -> None:
    def failing(**_: object) -> None:
        raise error

    monkeypatch.setattr(commands, "app", failing)
    monkeypatch.setattr(cli, "_discard", lambda stream: None)  # it would close pytest's output
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == status
    errors = capsys.readouterr().err
    assert said in errors
    assert errors.count("\n") == bool(said)
    assert len(errors) < 3000


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Runs a command in this process that must end with status 2: what it says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "small.toml").write_text(SMALL)

    def command(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["clipgnn", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        assert ended.value.code == 2, printed
        assert printed.out == ""
        return printed.err

    return command


RUN = ("experiment", "run", "small.toml", "--executor", "in-process", "--device", "cpu")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("data", "--seed", str(2**64)), "--seed"),
        (("data", "--seed", "-1"), "--seed"),
        (("demo", "--seed", "9" * 5000), "--seed"),
        (("demo", "--epochs", str(10**12)), "--epochs"),
        (("bench", "--seconds", "nan"), "--seconds must be a number from 0 to 3600. Got nan."),
        (("bench", "--seconds", "inf"), "--seconds must be a number from 0 to 3600. Got inf."),
        (("bench", "--rounds", str(10**9)), "--rounds"),
        (("bench", "--device", "cudax"), "--device must be auto, cpu, cuda or cuda:NUMBER."),
        ((*RUN, "--epochs", str(10**30)), "--epochs must be an integer from 1 to 1000000."),
        ((*RUN, "--epochs", "-1"), "--epochs must be an integer from 1 to 1000000."),
        ((*RUN, "--folds", str(10**9)), "--folds must be from 1 to 4"),
        ((*RUN, "--workers", str(10**9)), "--workers"),
        ((*RUN, "--where", f"num_layers={'9' * 5000}"), "--where num_layers must be one of 1, 2."),
        ((*RUN, "--where", "num_layers=nan"), "--where num_layers must be one of 1, 2. Got nan"),
        ((*RUN, "--device", "cuda:²"), "--device must be auto, cpu, cuda or cuda:NUMBER."),
        ((*RUN, "--device", "cuda:"), "--device must be auto, cpu, cuda or cuda:NUMBER."),
        ((*RUN, "--device", "cpu:1"), "--device must be auto, cpu, cuda or cuda:NUMBER."),
        ((*RUN, "--device", "x\x1b[2J\n"), r"Got 'x\x1b[2J\n'."),
        ((*RUN, "--format", "[/b]"), "--format"),
        ((*RUN, "--store", "."), "A store must be a regular file"),
        ((*RUN, "--store", "/dev/null"), "A store must be a regular file"),
        ((*RUN, "--store", "/proc/nowhere/x.sqlite"), "/proc/nowhere"),
        ((*RUN, "--store", "small.toml/x.sqlite"), "small.toml/x.sqlite"),
        ((*RUN, "--store", "x" * 5000), "cannot be used"),
        (("report", "."), "A store must be a regular file"),
        (("experiment", "status", "two\nlines"), r"There is no store runs/two\nlines.sqlite."),
        (("experiment", "run", "[/b]"), "There is no experiment file [/b]."),
        (("experiment", "run", "\udcff"), r"There is no experiment '\udcff'."),
    ],
)
def test_bad_options(refused: Callable[..., str], arguments: tuple[str, ...], said: str) -> None:
    assert said in refused(*arguments)


def test_a_pipe_as_store(refused: Callable[..., str]) -> None:
    os.mkfifo("pipe")  # opening it would wait for another process
    for command in (RUN, ("experiment", "status", "small")):
        assert "A store must be a regular file" in refused(*command, "--store", "pipe")


def test_a_hostile_file_at_the_command_line(refused: Callable[..., str]) -> None:
    Path("small.toml").write_text("datasets = " + "[" * 3000 + "]" * 3000)
    errors = refused(*RUN)
    assert errors.startswith("clipgnn: small.toml: must not have lists or tables nested")
    assert errors.count("\n") == 1


def test_ctrl_c_in_a_run_says_where_the_results_are(tmp_path: Path) -> None:
    (tmp_path / "[b].toml").write_text(NASTY)
    spec, store = str(tmp_path / "[b].toml"), str(tmp_path / "[b].sqlite")
    options = ["--executor", "in-process", "--device", "cpu", "--store", store]
    process = subprocess.Popen(
        [*COMMAND, "experiment", "run", spec, *options],
        cwd=ROOT,
        env={**ENVIRONMENT, "FAKE_SECONDS": "0.5"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    assert "[b]: 0 of 48 trials" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "[b].sqlite; the same command continues." in errors.replace("\n", " ")
    assert "Traceback" not in errors
