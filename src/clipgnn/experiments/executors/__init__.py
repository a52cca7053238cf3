"""Who does the work: this process, local processes, or a Ray cluster, behind one interface."""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from clipgnn.errors import InvalidParameterError, suggestion
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.executors.processes import ProcessExecutor
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
) -> Executor:
    """The executor of this name.

    Args:
        name: one of `EXECUTORS`.
        work: what is done with the trials of a job.
        workers: number of local processes; by default one for each core, or one for the GPU.
        address: of the Ray cluster; by default Ray runs on this machine.
        on_gpu: whether the work needs a GPU.

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
    if name == "in-process":
        return InProcessExecutor(work)
    if name == "ray":
        return RayExecutor(work, address, gpus=1 if on_gpu else 0)
    return ProcessExecutor(work, 1 if workers is None and on_gpu else workers)


__all__ = ["EXECUTORS", "Executor", "executor_named"]
