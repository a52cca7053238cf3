"""Executor that runs jobs with Ray, on a cluster or on this machine; needs `clipgnn[ray]`."""

import time
from collections.abc import Iterator
from typing import Any

from clipgnn.errors import ClipGNNError
from clipgnn.experiments.executors.ray_connection import RayConnection
from clipgnn.experiments.jobs import Job, Outcome, Work, attempt, describe, failure
from clipgnn.experiments.options import RunOptions

RESUBMISSIONS = 5
"""Number of times Ray restarts a job that was lost with its node or process."""


class RayExecutor:
    """Executor that runs jobs with Ray, one per free CPU or GPU of the cluster.

    Results are returned to this process, the only one that writes the store. A job that is lost
    with its node is restarted on another node. Nodes may join or leave during the run.

    `RayConnection` describes which cluster is used, and who can use it.

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
        self._connection = RayConnection(address)
        self._ray = ray = self._connection.ray
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
        self._connection.close()

    def _outcome(self, reference: Any, job: Job) -> Outcome:
        try:
            outcome: Outcome = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return failure(job, f"lost by the cluster: {describe(error)}", str(error))
        return outcome

    def _capacity(self) -> int:
        return max(1, int(self._ray.cluster_resources().get(self._resource, 0) / self._per_job))
