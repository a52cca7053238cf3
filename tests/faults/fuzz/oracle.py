"""What every fuzz test shares: its budget, the rule that each input must meet, and the counts.

The rule: an input is refused with an error of clipgnn, or its result is right. Any other exception,
a call that takes too long and a result that the test's plain reference contradicts are defects.

Environment:
    CLIPGNN_FUZZ_EXAMPLES: inputs over all entry points. By default `SMALL_BUDGET` of them are
        derived from the tests themselves, so that every run of `make test` has the same.
    CLIPGNN_FUZZ_OUTPUT: a file for the counts. Defects are then collected, and the tests go on, so
        that one run finds all of them; without it the first one is shrunk and reported.
"""

import json
import os
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings

from clipgnn.errors import ClipGNNError

Result = TypeVar("Result")

SMALL_BUDGET = 2000
SECONDS = 30.0
"""How long one call may take; the slowest good one takes well under a second."""

SHARES = {
    "color_groups": 0.15,
    "num_colorings": 0.12,
    "sample_colorings": 0.13,
    "all_colorings": 0.08,
    "CLIP.forward": 0.06,
    "CLIP.num_colorings": 0.02,
    "from_data_list": 0.09,
    "train": 0.02,
    "load_tu": 0.09,
    "read_experiment": 0.06,
    "parse_experiment": 0.06,
    "load, damaged bytes": 0.05,
    "load, damaged metadata": 0.04,
    "report": 0.03,
}
"""Share of the inputs that each entry point gets: more where a call is cheap."""


@dataclass
class Ledger:
    """What became of the inputs of this process."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    defects: dict[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        entries: dict[str, dict[str, int]] = {}
        for (entry, outcome), number in sorted(self.outcomes.items()):
            entries.setdefault(entry, {})[outcome] = number
        path.write_text(json.dumps({"inputs": entries, "defects": self.defects}, indent=2))


LEDGER = Ledger()
OUTPUT = os.environ.get("CLIPGNN_FUZZ_OUTPUT")
_EXAMPLES = os.environ.get("CLIPGNN_FUZZ_EXAMPLES")


def budget(entry: str) -> settings:
    """How many inputs an entry point gets, and whether they are the same every time."""
    total = int(_EXAMPLES or SMALL_BUDGET)
    return settings(
        max_examples=ceil(total * SHARES[entry]),  # over all entry points at least the total
        deadline=None,
        derandomize=_EXAMPLES is None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )


def judge(
    entry: str, given: object, call: Callable[[], Result], check: Callable[[Result], None]
) -> None:
    """Call with an input, and hold the outcome against the rule.

    Args:
        entry: the entry point, a key of `SHARES`.
        given: the input, for the description of a defect.
        call: the call with this input.
        check: raises if the result is not right for this input.
    """
    try:
        outcome = _outcome(call, check)
    except Exception as error:
        if OUTPUT is None:
            raise
        outcome = "defect"
        LEDGER.defects.setdefault(
            _kind(entry, error), f"{_shortened(given, 1200)}: {_shortened(error, 300)}"
        )
    LEDGER.outcomes[entry, outcome] += 1


def _outcome(call: Callable[[], Result], check: Callable[[Result], None]) -> str:
    try:
        with time_limit(SECONDS):
            result = call()
    except ClipGNNError as error:
        if not str(error).strip():
            raise AssertionError("an error must have a message") from error
        return "refused"
    check(result)
    return "accepted"


def _shortened(value: object, length: int) -> str:
    text = repr(value)
    return text if len(text) <= length else f"{text[:length]}…"


def _kind(entry: str, error: Exception) -> str:
    """Defects with the same exception from the same line are one."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "clipgnn" in frame.filename] or list(frames)
    return f"{entry}: {type(error).__name__} at {Path(own[-1].filename).name}:{own[-1].lineno}"


class TooSlowError(AssertionError):
    """A call took longer than any call may."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Refuse what takes too long, and interrupt it unless a timer of the test suite already would.

    Raises:
        TooSlowError: if it took too long.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise TooSlowError(f"took over {seconds:g} s")

    began = time.monotonic()
    alone = signal.getitimer(signal.ITIMER_REAL)[0] == 0
    if alone:
        before = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        if alone:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    if time.monotonic() - began > seconds:
        raise TooSlowError(f"took over {seconds:g} s")


def equal(one: Any, other: Any) -> bool:
    """Same type, same value, in lists and dictionaries too: 1 is neither 1.0 nor true."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)
