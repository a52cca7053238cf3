"""Small real experiments as processes of their own: begun, killed, resumed, compared."""

import importlib.util
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.fake_cli import ENVIRONMENT, ROOT

from clipgnn.curves import CURVES

EXECUTORS: Mapping[str, tuple[str, ...]] = {
    "in-process": ("--executor", "in-process"),
    "processes": ("--executor", "processes", "--workers", "2"),
    "ray": ("--executor", "ray"),
}

_HEAD = 'title = "A campaign"\ndatasets = ["csl"]\nfolds = 5\n[grid]\n'
SPECS: Mapping[str, str] = {
    "together": _HEAD
    + "epochs = 4\nhidden_channels = 8\nnum_layers = [1, 2]\n"
    + "".join(f'[[models]]\nmodel = "{model}"\n' for model in ("gin", "rp-gin", "dgcnn")),
    "alone": _HEAD
    + "epochs = 2\nhidden_channels = 8\nnum_layers = [1, 2]\n"
    + '[[models]]\nmodel = "clip"\nnum_colorings = 2\n',
    "kernel": _HEAD + "height = [1, 2, 3, 4]\nC = [1, 10]\n" + '[[models]]\nmodel = "wl"\n',
}
"""Models whose folds train together on the CPU, CLIP a fold at a time, and a kernel."""

LIMIT = 240.0
"""Seconds after which an undisturbed run must have come to its end."""

ORPHAN_SECONDS = 10.0
"""Seconds that the processes of a run have for ending after the run was killed."""


class DisturbedError(AssertionError):
    """A disturbed run left processes, or did not come to the results of the reference."""


def available(executor: str, experiment: str) -> bool:
    """Are the optional packages installed that it needs?"""
    needed = {"ray": "ray", "kernel": "grakel"}
    names = [needed[name] for name in (executor, experiment) if name in needed]
    return all(importlib.util.find_spec(name) is not None for name in names)


@dataclass
class Running:
    """A run that has been begun."""

    process: subprocess.Popen[bytes]
    messages: Path
    temporary: Path
    executor: str
    began: float = field(default_factory=time.monotonic)

    def ended_within(self, seconds: float) -> bool:
        """Whether it ends within this time.

        Raises:
            DisturbedError: if it ended with neither a whole nor an incomplete table.
        """
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        shutil.rmtree(self.temporary, ignore_errors=True)
        if status not in (0, 1):
            raise DisturbedError(f"ended with status {status}: {self.said()}")
        self.messages.unlink()
        return True

    def said(self) -> str:
        """The end of what it printed."""
        return self.messages.read_text(errors="replace")[-3000:]

    def workers(self) -> list[int]:
        """Processes that train for it."""
        found = []
        for process in descendants(self.process.pid):
            line = _command_line(process)
            if "multiprocessing.spawn" in line or line.startswith("ray::"):
                found.append(process)
        return found

    def kill(self) -> None:
        """End it at once, as a power cut does; the processes that it has begun must end too.

        Those of Ray are not those of clipgnn: the ones that are left are ended without an error.

        Raises:
            DisturbedError: if others are left after `ORPHAN_SECONDS`; they are ended first.
        """
        family = {
            process: began
            for process in descendants(self.process.pid)
            if (began := _started(process)) is not None  # it may have ended meanwhile
        }
        self.process.kill()
        self.process.wait()
        end = time.monotonic() + ORPHAN_SECONDS
        orphans: dict[int, str] = {}
        while left := [process for process, at in family.items() if at == _started(process)]:
            if time.monotonic() > end:
                for process in left:
                    orphans.setdefault(process, _command_line(process))
                    kill(process)
            time.sleep(0.05)
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.messages.unlink()
        if orphans and self.executor != "ray":
            lines = "; ".join(line[:200] for line in orphans.values())
            raise DisturbedError(
                f"{len(orphans)} processes were left {ORPHAN_SECONDS:g} s after their run: {lines}"
            )


def begin(folder: Path, experiment: str, store: Path, executor: str) -> Running:
    """Begin a run in a process of its own."""
    spec = folder / f"{experiment}.toml"
    spec.write_text(SPECS[experiment])
    messages = store.with_suffix(f".{time.monotonic_ns()}.log")
    temporary = Path(tempfile.mkdtemp(prefix="c-"))  # short: Ray has sockets in it
    command = [sys.executable, "-m", "clipgnn.cli", "experiment", "run", str(spec)]
    command += ["--store", str(store), "--device", "cpu", "--format", "csv", *EXECUTORS[executor]]
    with messages.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={
                **ENVIRONMENT,
                "TMPDIR": str(temporary),
                "RAY_TMPDIR": str(temporary),
                "RAY_USAGE_STATS_ENABLED": "0",
            },
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    return Running(process, messages, temporary, executor)


def finish(folder: Path, experiment: str, store: Path, executor: str) -> float:
    """Run to the end, undisturbed; the seconds that it took.

    Raises:
        DisturbedError: if it fails or does not end.
    """
    running = begin(folder, experiment, store, executor)
    if not running.ended_within(LIMIT):
        said = running.said()
        running.kill()
        raise DisturbedError(f"{experiment} on {executor} does not end: {said}")
    if running.process.returncode:
        raise DisturbedError(f"{experiment} on {executor} has failures")
    return time.monotonic() - running.began


Curves = dict[str, tuple[bytes, ...]]


@dataclass(frozen=True)
class Reference:
    """What an undisturbed run gives, and how long it takes.

    Attributes:
        curves: training loss, test and validation scores of each trial, as stored.
        start: seconds from the start of a run until it can train.
        seconds: seconds of a whole run.
    """

    curves: Curves
    start: float
    seconds: float


def reference(folder: Path, experiment: str) -> Reference:
    """Run an experiment undisturbed, in one process; and once more, when nothing is left to do."""
    store = folder / f"{experiment}-reference.sqlite"
    seconds = finish(folder, experiment, store, "in-process")
    start = finish(folder, experiment, store, "in-process")
    return Reference(curves(store), start, seconds)


def curves(store: Path) -> Curves:
    """Every curve in a store, as the bytes that are stored."""
    query = f"SELECT trial, {', '.join(CURVES)} FROM results"
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as raw:
        return {trial: tuple(stored) for trial, *stored in raw.execute(query)}


def check(store: Path, right: Curves) -> int:
    """Is the store sound, and every curve in it that of the reference, bit by bit?

    Returns:
        The number of curves compared.

    Raises:
        DisturbedError: if not.
    """
    with closing(sqlite3.connect(store)) as raw:
        sound = raw.execute("PRAGMA integrity_check").fetchall()
        claims = raw.execute("SELECT count(*) FROM claims").fetchone()[0]
        rows = raw.execute("SELECT count(*), count(DISTINCT trial) FROM results").fetchone()
    if sound != [("ok",)]:
        raise DisturbedError(f"the store is damaged: {sound}")
    if claims:
        raise DisturbedError(f"{claims} claims are left")
    found = curves(store)
    if rows != (len(right), len(right)) or found.keys() != right.keys():
        raise DisturbedError(f"{len(right)} trials are expected once each; there are {rows}")
    different = [trial for trial in right if found[trial] != right[trial]]
    if different:
        raise DisturbedError(f"{len(different)} of {len(right)} trials have other curves")
    return len(right)


def descendants(parent: int) -> list[int]:
    """All processes that a process has begun, and those that these have begun."""
    found = []
    with suppress(OSError):
        for thread in Path(f"/proc/{parent}/task").iterdir():
            for child in (thread / "children").read_text().split():
                found += [int(child), *descendants(int(child))]
    return found


def kill(process: int) -> None:
    """End one process, which may be gone already."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _command_line(process: int) -> str:
    with suppress(OSError):
        return (
            Path(f"/proc/{process}/cmdline")
            .read_bytes()
            .replace(b"\0", b" ")
            .decode(errors="replace")
        )
    return ""


def _started(process: int) -> str | None:
    """When a process began; None if it is gone, or only waits to be collected."""
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    return None
