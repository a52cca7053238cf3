"""Runs compile_checks.py in a process without the checks of annotations, as users have it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKS = Path(__file__).with_name("compile_checks.py")
HAS_COMPILER = shutil.which("g++") is not None  # in which the default compiler of torch writes


def run_checks(marked: str) -> int:
    """How many passed, if none failed."""
    finished = subprocess.run(
        [
            sys.executable,
            *["-m", "pytest", "--noconftest", "-q", "-p", "no:cacheprovider", "-m"],
            marked,
            CHECKS,
        ],
        cwd=ROOT,
        # One at a time: the compiler would start a process for each core.
        env={**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout[-20_000:] + finished.stderr[-5_000:]
    passed = re.search(r"(\d+) passed", finished.stdout)
    return int(passed[1]) if passed else 0


@pytest.mark.slow
def test_compile_and_export() -> None:
    """One process for all of them: to start one takes longer than most."""
    assert run_checks("not slow") == 9 + HAS_COMPILER


@pytest.mark.slow
def test_what_takes_the_compiler_long() -> None:
    assert run_checks("slow") == 2 + HAS_COMPILER
