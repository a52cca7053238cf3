"""Where jobs run: this process, local processes, or a Ray cluster, behind one interface."""

import math
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from clipgnn.errors import InvalidParameterError, suggestion
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.executors.processes import HEARTBEAT_TIMEOUT, ProcessExecutor
from clipgnn.experiments.executors.ray_cluster import RayExecutor
from clipgnn.experiments.jobs import Job, Outcome, Work

EXECUTORS = ("processes", "in-process", "ray")
"""Names of the executors."""


@runtime_checkable
class Executor(Protocol):
    """Something that works on jobs."""

    def run(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        """Work on jobs and give each outcome as it arrives.

        A job is taken from the iterator only when there is room to begin it. A job that raises, or
        whose process dies, gives a failed outcome; nothing is ever dropped.
        """
        ...

    def close(self) -> None:
        """Stop what is under way and free everything."""
        ...


def executor_named(
    name: str,
    work: Work,
    *,
    workers: int | None = None,
    address: str | None = None,
    on_gpu: bool = False,
    job_timeout: float | None = None,
    heartbeat_timeout: float | None = None,
) -> Executor:
    """The executor of this name.

    Args:
        name: one of `EXECUTORS`.
        work: what is done with the trials of a job.
        workers: number of local processes; by default one for each core, or one for the GPU.
        address: of the Ray cluster; by default Ray runs on this machine. Every node of a cluster
            runs any code that is sent to it; see `RayExecutor`.
        on_gpu: whether the work needs a GPU.
        job_timeout: seconds after which a job that is not finished fails and its process is
            killed; by default there is no limit. Not for the executor in-process.
        heartbeat_timeout: seconds without a heartbeat after which a local process counts as
            unresponsive, with the same consequence; only for the executor processes.

    Raises:
        InvalidParameterError: if there is none of this name, or it does not know an option.
        MissingDependencyError: if it needs a package that is not installed.
    """
    if name not in EXECUTORS:
        raise InvalidParameterError(
            f"The executor must be one of {', '.join(EXECUTORS)}. Got {name!r}."
            f"{suggestion(name, EXECUTORS)}"
        )
    if address is not None and name != "ray":
        raise InvalidParameterError(f"--address is for the executor ray. Got {name!r}.")
    if workers is not None and name != "processes":
        raise InvalidParameterError(f"--workers is for the executor processes. Got {name!r}.")
    for option, value in (
        ("--job-timeout", job_timeout),
        ("--heartbeat-timeout", heartbeat_timeout),
    ):
        if value is not None and not 0 < value < math.inf:
            raise InvalidParameterError(f"{option} must be a positive number. Got {value}.")
    if job_timeout is not None and name == "in-process":
        raise InvalidParameterError(
            "--job-timeout is for the executors processes and ray: in-process cannot stop a job "
            "that runs in this process."
        )
    if heartbeat_timeout is not None and name != "processes":
        raise InvalidParameterError(
            f"--heartbeat-timeout is for the executor processes. Got {name!r}."
        )
    if name == "in-process":
        return InProcessExecutor(work)
    if name == "ray":
        return RayExecutor(work, address, gpus=1 if on_gpu else 0, job_timeout=job_timeout)
    return ProcessExecutor(
        work,
        1 if workers is None and on_gpu else workers,
        job_timeout=job_timeout,
        heartbeat_timeout=heartbeat_timeout or HEARTBEAT_TIMEOUT,
    )


__all__ = ["EXECUTORS", "HEARTBEAT_TIMEOUT", "Executor", "executor_named"]
