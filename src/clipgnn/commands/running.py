"""Options of the commands that run experiments: where and how trials are trained."""

from dataclasses import asdict, dataclass
from typing import Any

from clipgnn.commands import options
from clipgnn.commands.device import checked_device
from clipgnn.commands.learning import Quiet
from clipgnn.experiments.options import RunOptions


@dataclass(frozen=True)
class RunningOptions:
    """Options of `run` and `resume`; see `RunOptions`."""

    root: options.Root = None
    executor: options.Executor = "processes"
    address: options.Address = None
    workers: options.Workers = None
    jobs_at_once: options.JobsAtOnce = None
    device: options.Device = "auto"
    deterministic: options.Deterministic = False
    precision: options.Precision = None
    retry_failed: options.RetryFailed = False
    take_over: options.TakeOver = False
    job_timeout: options.JobTimeout = None
    heartbeat_timeout: options.HeartbeatTimeout = None
    quiet: Quiet = False

    def run_options(self, search_path: tuple[str, ...]) -> RunOptions:
        """Return the options of a run.

        Args:
            search_path: folders of the user's own modules.

        Raises:
            InvalidParameterError: if a value is out of range, or the device does not exist.
        """
        values: dict[str, Any] = asdict(self)
        del values["quiet"]
        values["device"] = checked_device(self.device, remote=self.executor == "ray")
        values["root"] = None if self.root is None else str(self.root.expanduser().absolute())
        return RunOptions(**values, search_path=search_path)
