"""Executor that runs one job after the other in this process, for debugging."""

from collections.abc import Iterator
from dataclasses import dataclass

from clipgnn.experiments.jobs import Job, Outcome, Work, attempt
from clipgnn.experiments.options import RunOptions


@dataclass(frozen=True)
class InProcessExecutor:
    """Executor that runs one job at a time in this process.

    Attributes:
        work: function that runs the trials of a job.
    """

    work: Work

    @classmethod
    def from_options(cls, work: Work, options: RunOptions) -> "InProcessExecutor":
        """Create the executor; it supports none of the executor options."""
        options.check_supported()
        return cls(work)

    def run(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        """Run jobs and yield each outcome as it arrives."""
        for job in jobs:
            yield attempt(self.work, job)

    def close(self) -> None:
        """Do nothing; there is nothing to stop."""
