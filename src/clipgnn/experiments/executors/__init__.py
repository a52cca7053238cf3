"""Executors: where jobs run, behind one interface.

To add an executor, write its class with `from_options` in a file of this folder, and add it to
`EXECUTORS`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, runtime_checkable

from clipgnn.errors import InvalidParameterError, suggestion
from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.executors.processes import ProcessExecutor
from clipgnn.experiments.executors.ray_cluster import RayExecutor
from clipgnn.experiments.jobs import Job, Outcome, Work
from clipgnn.experiments.options import RunOptions


@runtime_checkable
class Executor(Protocol):
    """Interface of executors."""

    def run(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        """Run jobs and yield each outcome as it arrives.

        A job is taken from the iterator only when it can start. A job that raises, or whose
        process dies, yields a failed outcome; no job is dropped.
        """
        ...

    def close(self) -> None:
        """Stop running jobs and release all resources."""
        ...


Factory = Callable[[Work, RunOptions], Executor]
"""Creates an executor; raises InvalidParameterError for options that it does not support."""

EXECUTORS: Mapping[str, Factory] = {
    "processes": ProcessExecutor.from_options,
    "in-process": InProcessExecutor.from_options,
    "ray": RayExecutor.from_options,
}
"""Factories of executors by name."""


def make_executor(work: Work, options: RunOptions) -> Executor:
    """Create the executor that the options name.

    Args:
        work: function that runs the trials of a job.
        options: options of the run.

    Raises:
        InvalidParameterError: if the executor is unknown or does not support an option.
        MissingDependencyError: if it needs a package that is not installed.
    """
    if options.executor not in EXECUTORS:
        raise InvalidParameterError(
            f"executor must be one of {', '.join(EXECUTORS)}. Got {options.executor!r}."
            f"{suggestion(options.executor, EXECUTORS)}",
            parameter="executor",
        )
    return EXECUTORS[options.executor](work, options)


__all__ = ["EXECUTORS", "Executor", "Factory", "make_executor"]
