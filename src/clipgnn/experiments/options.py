"""Options of a run: which executor runs the jobs, where they train, what is attempted again."""

import math
from dataclasses import dataclass

from clipgnn.errors import InvalidParameterError, shown

EXECUTOR_OPTIONS = ("workers", "jobs_at_once", "address", "job_timeout", "heartbeat_timeout")
"""Options that only some executors support; None leaves them at the executor's default."""


PRECISIONS = ("highest", "high")
"""Precisions of float32 products on a GPU, as in `torch.set_float32_matmul_precision`: that of
float32, or that of TF32, which is faster."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run. They change how trials are run, never which trials there are.

    Attributes:
        executor: name of the executor, one of `clipgnn.experiments.executors.EXECUTORS`.
        workers: number of local processes; by default one per core, or one for a GPU.
        jobs_at_once: number of jobs that a local process runs at the same time; by default four on
            a GPU, where their work overlaps, and otherwise one.
        address: address of a Ray cluster; by default Ray runs on this machine. Every node of a
            cluster runs any code that is sent to it; see `RayExecutor`.
        device: torch device to train on, such as "cpu" or "cuda:1".
        deterministic: whether repeated runs on a GPU must agree in every bit.
        precision: precision of float32 products on a GPU, one of `PRECISIONS`, set in every process
            that trains; by default that of torch.
        job_timeout: seconds after which an unfinished job fails and its process is killed; by
            default there is no limit.
        heartbeat_timeout: seconds without a heartbeat after which a local process counts as
            unresponsive, with the same consequence.
        retry_failed: whether to train again trials that diverged in an earlier run. Trials that
            failed for other reasons are always attempted again.
        take_over: whether to start at once with trials that sessions on other machines have
            claimed, instead of waiting until their heartbeats have expired.
        root: folder of the TU data sets on every machine that runs trials; by default the
            environment variable CLIPGNN_DATA of each machine, or the user's cache.
        search_path: folders of the user's own modules on every machine that runs trials, in
            addition to `sys.path`; used if the experiment has import paths.

    Raises:
        InvalidParameterError: if a value is out of range.
    """

    executor: str = "processes"
    workers: int | None = None
    jobs_at_once: int | None = None
    address: str | None = None
    device: str = "cpu"
    deterministic: bool = False
    precision: str | None = None
    job_timeout: float | None = None
    heartbeat_timeout: float | None = None
    retry_failed: bool = False
    take_over: bool = False
    root: str | None = None
    search_path: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("workers", "jobs_at_once"):
            count = getattr(self, name)
            if count is not None and (not isinstance(count, int) or count < 1):
                raise InvalidParameterError(
                    f"{name} must be an integer of at least 1. Got {shown(count)}.",
                    parameter=name,
                )
        if self.precision not in (None, *PRECISIONS):
            raise InvalidParameterError(
                f"precision must be one of {', '.join(PRECISIONS)}. Got {shown(self.precision)}.",
                parameter="precision",
            )
        for name in ("job_timeout", "heartbeat_timeout"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise InvalidParameterError(
                    f"{name} must be a positive number of seconds. Got {shown(value)}.",
                    parameter=name,
                )

    @property
    def on_gpu(self) -> bool:
        """Whether jobs train on a GPU."""
        return self.device.startswith("cuda")

    def check_supported(self, *supported: str) -> None:
        """Refuse options that the executor does not support.

        Args:
            *supported: those of `EXECUTOR_OPTIONS` that it supports.

        Raises:
            InvalidParameterError: if another one has a value.
        """
        for name in EXECUTOR_OPTIONS:
            value = getattr(self, name)
            if value is not None and name not in supported:
                raise InvalidParameterError(
                    f"{name} must not be set for the executor {self.executor!r}, which does not "
                    f"support it. Got {shown(value)}. Leave it out, or use another executor.",
                    parameter=name,
                )
