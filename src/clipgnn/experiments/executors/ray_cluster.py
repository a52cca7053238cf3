"""A Ray cluster, or this machine under Ray. Needs the extra `clipgnn[ray]`."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from clipgnn.errors import ClipGNNError, MissingDependencyError
from clipgnn.experiments.jobs import Job, Outcome, Work, attempt, describe, failure

RESUBMISSIONS = 5
"""How often Ray restarts a job that was lost with its node or process."""

LOOPBACK = ("127.0.0.1", "::1")

NO_CLUSTER = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Set to 0, Ray uses the loopback interface only. It is read by all of Ray's processes, on every
system; the argument `_node_ip_address` is not enough, Ray replaces 127.0.0.1 in it."""

CONNECT_SECONDS = 10.0
"""How long a cluster may take to answer."""


class RayExecutor:
    """Works on as many jobs at a time as the cluster has room for.

    Results come back to this process, which alone writes the store. A job that is lost with its
    node is given to another one; nodes that join or leave during the run are noticed.

    Without an address a new Ray is started on this machine, whose ports are open on the loopback
    interface only. With an address, an existing cluster is used, and its security is that of the
    cluster: **a Ray cluster runs any code that is sent to it**. Clusters made by `ray start` ask
    for no authentication by default; whoever reaches the ports can run programs as the user of the
    cluster. A cluster belongs in a network of trusted machines. From version 2.52 on Ray can ask
    for a token: set RAY_AUTH_MODE=token on all nodes and here, with the token in RAY_AUTH_TOKEN,
    in the file that RAY_AUTH_TOKEN_PATH names, or in ~/.ray/auth_token. The token does not encrypt
    the traffic.

    Args:
        work: what is done with the trials of a job; it must be importable on every node.
        address: of the cluster, as `ray start` prints it; by default Ray runs on this machine.
        gpus: GPUs that each job needs.
        job_timeout: seconds from its submission after which a job is cancelled and its process
            killed; by default a job may take any time.

    Raises:
        MissingDependencyError: if Ray is not installed.
        ClipGNNError: if the cluster does not answer, or Ray opens ports to the network.
    """

    def __init__(
        self,
        work: Work,
        address: str | None = None,
        gpus: int = 0,
        *,
        job_timeout: float | None = None,
    ) -> None:
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
            _check_answers(address)
            quiet = {"log_to_driver": False, "logging_level": "ERROR"}
            try:
                if address is None:
                    with _loopback_only():
                        # "local": not a cluster that happens to run on this machine
                        ray.init(address="local", include_dashboard=False, **quiet)
                else:
                    ray.init(address=address, **quiet)
            except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
                raise ClipGNNError(
                    f"The Ray cluster at {address or 'this machine'} does not answer. "
                    f"{describe(error)}"
                ) from error
            if address is None:
                self._check_loopback()
        self._resource = "GPU" if gpus else "CPU"
        self._each = gpus or 1
        needs = {"num_cpus": 1, "num_gpus": gpus, "max_retries": RESUBMISSIONS}
        self._remote = ray.remote(**needs)(attempt)
        self._work = work
        self.job_timeout = job_timeout
        if gpus and not ray.cluster_resources().get("GPU", 0):
            self.close()
            raise ClipGNNError("The Ray cluster has no GPU; use --device cpu, or add a node.")

    def run(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        """Work on jobs and give each outcome as it arrives."""
        under_way: dict[Any, tuple[Job, float]] = {}  # when it was submitted
        while True:
            while len(under_way) < self._room():
                job = next(jobs, None)
                if job is None:
                    break
                under_way[self._remote.remote(self._work, job)] = job, time.monotonic()
            if not under_way:
                return
            # Not longer, for nodes that have joined meanwhile.
            self._ray.wait(list(under_way), timeout=min(5.0, self.job_timeout or 5.0))
            ready, waiting = self._ray.wait(
                list(under_way), num_returns=len(under_way), timeout=0.0
            )
            for reference in ready:
                job, _ = under_way.pop(reference)
                yield self._outcome(reference, job)
            for reference in waiting:
                job, submitted = under_way[reference]
                if self.job_timeout and time.monotonic() - submitted >= self.job_timeout:
                    del under_way[reference]
                    self._ray.cancel(reference, force=True)  # also if its process is stopped
                    yield failure(
                        job, f"it did not finish within {self.job_timeout:g} s (--job-timeout)"
                    )

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

    def _check_loopback(self) -> None:
        addresses = {node["NodeManagerAddress"] for node in self._ray.nodes()}
        if not addresses <= set(LOOPBACK):
            self.close()
            raise ClipGNNError(
                f"Ray must listen on {LOOPBACK[0]} only. It uses {', '.join(addresses)}; set "
                f"{NO_CLUSTER}=0 before Ray is imported, or start a cluster and give its address."
            )

    def _room(self) -> int:
        return max(1, int(self._ray.cluster_resources().get(self._resource, 0) / self._each))


@contextmanager
def _loopback_only() -> Iterator[None]:
    """Have a Ray that is started inside use the loopback interface only."""
    constants: Any = import_module("ray._private.ray_constants")
    before = os.environ.get(NO_CLUSTER), constants.ENABLE_RAY_CLUSTER
    os.environ[NO_CLUSTER], constants.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        variable, constants.ENABLE_RAY_CLUSTER = before
        if variable is None:
            del os.environ[NO_CLUSTER]
        else:
            os.environ[NO_CLUSTER] = variable


def _check_answers(address: str | None) -> None:
    """Refuse an address that nothing listens on; Ray itself would wait for minutes."""
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
