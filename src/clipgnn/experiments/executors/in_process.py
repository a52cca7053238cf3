"""One job after the other in this process, where a debugger can see them."""

from collections.abc import Iterator
from dataclasses import dataclass

from clipgnn.experiments.jobs import Job, Outcome, Work, attempt


@dataclass(frozen=True)
class InProcessExecutor:
    """Works on one job at a time, here.

    Attributes:
        work: what is done with the trials of a job.
    """

    work: Work

    def run(self, jobs: Iterator[Job]) -> Iterator[Outcome]:
        """Work on jobs and give each outcome as it arrives."""
        for job in jobs:
            yield attempt(self.work, job)

    def close(self) -> None:
        """Nothing to stop."""
