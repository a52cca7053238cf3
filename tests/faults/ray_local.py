"""Starts a Ray of its own through the executor; a job stops its process. Prints what it saw.

The first line has the local addresses of all sockets on which this process and its descendants
listen, the next ones have the outcome of each job, and the last ones compare the curves of the
example with an own network, trained by Ray, with those of this process.

Arguments: a folder with the example, and a folder with the TU data set OWN.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from ipaddress import ip_address
from pathlib import Path

from tests.experiments.fake_training import fake, small_experiment

from clipgnn.experiments.executors import make_executor
from clipgnn.experiments.executors.ray_cluster import RayExecutor
from clipgnn.experiments.jobs import jobs_of
from clipgnn.experiments.options import RunOptions
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.preparing import prepare_experiment
from clipgnn.experiments.reading import read_experiment
from clipgnn.experiments.trial import Trial, TrialResult
from clipgnn.experiments.work import run_trials

LISTENING = "0A"


def stopping(trials: Sequence[Trial]) -> list[TrialResult]:
    if trials[0].fold == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
    return fake(trials)


def descendants(process: int) -> Iterator[int]:
    yield process
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        for child in path.read_text().split():
            yield from descendants(int(child))


def sockets(process: int) -> set[str]:
    links = {
        os.readlink(each) for each in Path(f"/proc/{process}/fd").iterdir() if each.is_symlink()
    }
    return {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}


def listening() -> list[str]:
    own = set().union(*(sockets(process) for process in descendants(os.getpid())))
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == LISTENING and rest[5] in own:
                words = bytes.fromhex(local.partition(":")[0])
                # each group of four bytes has the byte order of the machine
                groups = [words[at : at + 4][::-1] for at in range(0, len(words), 4)]
                address = ip_address(b"".join(groups))
                found.append(str(getattr(address, "ipv4_mapped", None) or address))
    return found


def compared(example: str, root: str) -> Iterator[str]:
    """Train a network of the user on a data set of the user, and on one in the TU layout."""
    options = RunOptions(executor="ray", root=root, search_path=(example,))
    experiment = read_experiment(Path(example, "ladders.toml"))
    part = Overrides(models=["SumNet"], where={"num_steps": (1,)}, epochs=2, folds=1)
    prepared = prepare_experiment(part(experiment), options)
    work = partial(run_trials, root=options.root, search_path=options.search_path)
    for outcome in make_executor(work, options).run(
        iter(jobs_of(prepared.trials(), together=False))
    ):
        assert outcome.results is not None, outcome.traceback
        [trained], [here] = outcome.results, run_trials(outcome.job.trials, root=root)
        yield f"{outcome.job.trials[0].dataset} {trained.curves == here.curves}"


def main() -> None:
    from tests.faults import ray_local

    jobs = jobs_of(small_experiment().trials()[:4], together=False)
    executor = make_executor(ray_local.stopping, RunOptions(executor="ray"))
    assert isinstance(executor, RayExecutor)
    try:
        list(executor.run(iter(jobs[2:])))  # its processes are started, which takes a while
        print(*listening(), flush=True)
        executor.job_timeout = 4.0
        outcomes = [
            f"{outcome.job.trials[0].fold} {outcome.error}"
            for outcome in executor.run(iter(jobs[:3]))
        ]
        print(*sorted(outcomes), sep="\n", flush=True)
        print(*compared(*sys.argv[1:]), sep="\n", flush=True)
    finally:
        executor.close()


if __name__ == "__main__":
    main()
