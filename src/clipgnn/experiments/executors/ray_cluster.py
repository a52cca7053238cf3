"""Executor that runs jobs with Ray, on a cluster or on this machine; needs `clipgnn[ray]`."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from clipgnn.errors import ClipGNNError, InvalidParameterError, MissingDependencyError
from clipgnn.experiments.jobs import Job, Outcome, Work, attempt, describe, failure
from clipgnn.experiments.options import RunOptions

RESUBMISSIONS = 5
"""Number of times Ray restarts a job that was lost with its node or process."""

LOOPBACK = ("127.0.0.1", "::1")

CLUSTER_VARIABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Environment variable; with the value 0, all processes of Ray use the loopback interface only, on
every system. The argument `_node_ip_address` is not enough: Ray replaces 127.0.0.1 in it."""

CONNECT_SECONDS = 10.0
"""Seconds that a cluster may take to accept a connection."""


class RayExecutor:
    """Executor that runs jobs with Ray, one per free CPU or GPU of the cluster.

    Results are returned to this process, the only one that writes the store. A job that is lost
    with its node is restarted on another node. Nodes may join or leave during the run.

    Without an address, a new Ray instance is started on this machine, with ports on the loopback
    interface only. With an address, an existing cluster is used. **A Ray cluster runs any code
    that is sent to it.** Clusters started by `ray start` require no authentication by default:
    every machine that can connect to the ports can run programs as the user of the cluster.
    Use a cluster only in a network of trusted machines. From version 2.52 on, Ray supports token
    authentication: set RAY_AUTH_MODE=token on all nodes and on this machine, with the token in
    RAY_AUTH_TOKEN, in the file named by RAY_AUTH_TOKEN_PATH, or in ~/.ray/auth_token. The token
    does not encrypt the traffic.

    Args:
        work: function that runs the trials of a job; it must be importable on every node.
        address: address of the cluster, as `ray start` prints it; by default Ray runs on this
            machine.
        gpus: number of GPUs of each job.
        job_timeout: seconds after its submission at which a job is cancelled and its process
            killed; by default there is no limit.

    Raises:
        MissingDependencyError: if Ray is not installed.
        ClipGNNError: if the cluster does not respond, or Ray opens ports to the network.
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
                "The executor 'ray' requires Ray, which is not installed. "
                "Use pip install 'clipgnn[ray]'."
            ) from error
        self._ray = ray
        self._began = not ray.is_initialized()
        if self._began:
            # An instance of our own needs no dashboard and sends no usage statistics.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            _check_responds(address)
            quiet = {"log_to_driver": False, "logging_level": "ERROR"}
            try:
                if address is None:
                    with _loopback_only():
                        # "local" starts a new instance even if a cluster runs on this machine.
                        ray.init(address="local", include_dashboard=False, **quiet)
                else:
                    ray.init(address=address, **quiet)
            except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
                raise ClipGNNError(
                    f"The Ray cluster at {address or 'this machine'} does not respond. "
                    f"{describe(error)}"
                ) from error
            if address is None:
                self._check_loopback()
        self._resource = "GPU" if gpus else "CPU"
        self._per_job = gpus or 1
        needs = {"num_cpus": 1, "num_gpus": gpus, "max_retries": RESUBMISSIONS}
        self._remote = ray.remote(**needs)(attempt)
        self._work = work
        self.job_timeout = job_timeout
        if gpus and not ray.cluster_resources().get("GPU", 0):
            self.close()
            raise ClipGNNError(
                'The Ray cluster must have a GPU to train on one. Got none. Use the device "cpu", '
                "or add a node with a GPU."
            )

    @classmethod
    def from_options(cls, work: Work, options: RunOptions) -> "RayExecutor":
        """Create the executor, with one GPU per job if jobs train on a GPU."""
        options.check_supported("address", "job_timeout")
        gpus = 1 if options.on_gpu else 0
        return cls(work, options.address, gpus, job_timeout=options.job_timeout)

    def run(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        """Run jobs and yield each outcome as it arrives."""
        running: dict[Any, tuple[Job, float]] = {}  # job and time of submission by reference
        while True:
            while len(running) < self._capacity():
                job = next(jobs, None)
                if job is None:
                    break
                running[self._remote.remote(self._work, job)] = job, time.monotonic()
            if not running:
                return
            # The wait is short, because nodes may join and the capacity grow.
            self._ray.wait(list(running), timeout=min(5.0, self.job_timeout or 5.0))
            ready, waiting = self._ray.wait(list(running), num_returns=len(running), timeout=0.0)
            for reference in ready:
                job, _ = running.pop(reference)
                yield self._outcome(reference, job)
            for reference in waiting:
                job, submitted = running[reference]
                if self.job_timeout and time.monotonic() - submitted >= self.job_timeout:
                    del running[reference]
                    self._ray.cancel(reference, force=True)  # works on stopped processes too
                    yield failure(
                        job, f"it did not finish within {self.job_timeout:g} s (job_timeout)"
                    )

    def close(self) -> None:
        """Disconnect from the cluster, which cancels the jobs of this executor."""
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
                f"Ray must listen on {LOOPBACK[0]} only. Got {', '.join(addresses)}. Set "
                f"{CLUSTER_VARIABLE}=0 before Ray is imported, or start a cluster and use its "
                "address."
            )

    def _capacity(self) -> int:
        return max(1, int(self._ray.cluster_resources().get(self._resource, 0) / self._per_job))


@contextmanager
def _loopback_only() -> Iterator[None]:
    """Restrict a Ray instance that is started inside to the loopback interface."""
    constants: Any = import_module("ray._private.ray_constants")
    before = os.environ.get(CLUSTER_VARIABLE), constants.ENABLE_RAY_CLUSTER
    os.environ[CLUSTER_VARIABLE], constants.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        variable, constants.ENABLE_RAY_CLUSTER = before
        if variable is None:
            del os.environ[CLUSTER_VARIABLE]
        else:
            os.environ[CLUSTER_VARIABLE] = variable


def _check_responds(address: str | None) -> None:
    """Refuse an address that accepts no connection; Ray itself would wait for minutes."""
    if address in (None, "auto", "local"):
        return
    try:
        parsed = urlsplit(address if "://" in address else f"//{address}")
        endpoint = (parsed.hostname or "", parsed.port or 0)
    except ValueError:
        endpoint = ("", 0)
    if not all(endpoint):
        raise InvalidParameterError(
            "address must be the host and port of a Ray cluster, such as 10.0.0.1:6379. "
            f"Got {address!r}.",
            parameter="address",
        )
    try:
        socket.create_connection(endpoint, timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise ClipGNNError(
            f"The Ray cluster at {address} does not respond. {describe(error)}"
        ) from error
