"""The real command line with fake training, for tests that begin it, hurt it and begin it again.

Environment: FAKE_SECONDS a trial takes, FAKE_LOG a file that says who worked on what, FAKE_DIE_AT
the number of the write to the store at which the process kills itself, FAKE_COMPANY if results
depend on what is trained together, FAKE_PATIENCE the seconds it waits for a lock.
"""

import os
import signal
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from tests.experiments.fake_training import company, fake, fake_fingerprint

from clipgnn import cli
from clipgnn.experiments import data, work
from clipgnn.experiments.database import Database
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import Trial, TrialResult

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
    "OMP_NUM_THREADS": "1",
    "COLUMNS": "200",
}
COMMAND = [sys.executable, "-m", "tests.faults.fake_cli"]


def fake_run_trials(
    trials: Sequence[Trial],
    device: str = "cpu",
    deterministic: bool = False,
    precision: str | None = None,
    root: str | None = None,
    search_path: Sequence[str] = (),
) -> list[TrialResult]:
    log = os.environ.get("FAKE_LOG")
    train = company if "FAKE_COMPANY" in os.environ else fake
    return train(
        trials, seconds=float(os.environ.get("FAKE_SECONDS", 0)), log=Path(log) if log else None
    )


def die_at(number: int) -> None:
    """Kill this process in the middle of a transaction: before its write of this number."""
    write, numbers = Database.write, count(1)

    def counted(self: Database, query: str, *values: object) -> None:
        if next(numbers) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        write(self, query, *values)

    Database.write = counted  # type: ignore[method-assign]


if __name__ == "__main__":
    from tests.faults import fake_cli

    # by its importable name, which the processes that this one begins can find too
    work.run_trials = fake_cli.fake_run_trials
    data.fingerprint_of = fake_fingerprint
    data._is_missing = lambda dataset, root: False  # would import PyTorch
    if "FAKE_DIE_AT" in os.environ:
        die_at(int(os.environ["FAKE_DIE_AT"]))
    if "FAKE_PATIENCE" in os.environ:
        defaults = Store.__init__.__kwdefaults__
        assert defaults is not None
        defaults["patience"] = float(os.environ["FAKE_PATIENCE"])
    sys.argv[0] = "clipgnn"
    cli.main()
