"""A Ray cluster, or this machine under Ray. Needs the extra `clipgnn[ray]`."""

import os
import socket
from collections.abc import Iterator
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from clipgnn.errors import ClipGNNError, MissingDependencyError
from clipgnn.experiments.jobs import Job, Outcome, Work, attempt, describe, failure

RESUBMISSIONS = 5
"""How often Ray begins a job anew that was lost with its node or process."""

CONNECT_SECONDS = 10.0
"""How long a cluster may take to answer."""


class RayExecutor:
    """Works on as many jobs at a time as the cluster has room for.

    Results come back to this process, which alone writes the store. A job that is lost with its
    node is given to another one; nodes that join or leave while the run is going are noticed.

    Args:
        work: what is done with the trials of a job; it must be importable on every node.
        address: of the cluster, as `ray start` prints it; by default Ray runs on this machine.
        gpus: GPUs that each job needs.

    Raises:
        MissingDependencyError: if Ray is not installed.
        ClipGNNError: if the cluster does not answer.
    """

    def __init__(self, work: Work, address: str | None = None, gpus: int = 0) -> None:
        try:
            ray: Any = import_module("ray")
        except ImportError as error:
            raise MissingDependencyError(
                "The executor 'ray' needs Ray, which is not installed: pip install 'clipgnn[ray]'."
            ) from error
        self._ray = ray
        self._began = not ray.is_initialized()
        if self._began:
            # A Ray of our own needs neither a web page nor to tell its makers.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            where = {"address": address} if address else {"include_dashboard": False}
            _check_answers(address)
            try:
                ray.init(log_to_driver=False, logging_level="ERROR", **where)
            except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
                raise ClipGNNError(
                    f"The Ray cluster at {address or 'this machine'} does not answer. "
                    f"{describe(error)}"
                ) from error
        self._resource = "GPU" if gpus else "CPU"
        self._each = gpus or 1
        needs = {"num_cpus": 1, "num_gpus": gpus, "max_retries": RESUBMISSIONS}
        self._remote = ray.remote(**needs)(attempt)
        self._work = work
        if gpus and not ray.cluster_resources().get("GPU", 0):
            self.close()
            raise ClipGNNError("The Ray cluster has no GPU; use --device cpu, or add a node.")

    def run(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        """Work on jobs and give each outcome as it arrives."""
        under_way: dict[Any, Job] = {}
        while True:
            while len(under_way) < self._room():
                job = next(jobs, None)
                if job is None:
                    break
                under_way[self._remote.remote(self._work, job)] = job
            if not under_way:
                return
            # The time limit is for nodes that have joined meanwhile.
            ready, _ = self._ray.wait(list(under_way), num_returns=1, timeout=5.0)
            for reference in ready:
                yield self._outcome(reference, under_way.pop(reference))

    def close(self) -> None:
        """Leave the cluster, which ends our jobs on it."""
        if self._began:
            self._ray.shutdown()

    def _outcome(self, reference: Any, job: Job) -> Outcome:
        try:
            outcome: Outcome = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return failure(job, f"lost by the cluster: {describe(error)}", str(error))
        return outcome

    def _room(self) -> int:
        return max(1, int(self._ray.cluster_resources().get(self._resource, 0) / self._each))


def _check_answers(address: str | None) -> None:
    """Refuse an address where nobody answers; Ray itself would wait for minutes."""
    if address in (None, "auto", "local"):
        return
    try:
        place = urlsplit(address if "://" in address else f"//{address}")
        where = (place.hostname or "", place.port or 0)
    except ValueError:
        where = ("", 0)
    if not all(where):
        raise ClipGNNError(
            "The address of a Ray cluster must be a host and a port, such as 10.0.0.1:6379. "
            f"Got {address!r}."
        )
    try:
        socket.create_connection(where, timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise ClipGNNError(
            f"The Ray cluster at {address} does not answer. {describe(error)}"
        ) from error
