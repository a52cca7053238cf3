"""Peak memory of a process or a GPU."""

import re
from pathlib import Path

import torch


class PeakMemory:
    """Peak memory since construction: of the whole process, or of tensors on a GPU.

    `resource.getrusage` is not used: the peak that it returns cannot be reset, and in a new process
    it starts with the peak of the process that started it.

    Args:
        device: device of torch.
    """

    def __init__(self, device: str = "cpu") -> None:
        self._device = device
        if device == "cpu":
            Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM; see proc(5)
            self._before = _resident_bytes("VmRSS")
        else:
            torch.cuda.reset_peak_memory_stats(device)
            self._before = torch.cuda.memory_allocated(device)

    def read(self) -> int:
        """Return the peak so far, in bytes beyond the memory at construction."""
        if self._device == "cpu":
            return _resident_bytes("VmHWM") - self._before
        return torch.cuda.max_memory_allocated(self._device) - self._before


def _resident_bytes(name: str) -> int:
    found = re.search(rf"^{name}:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.M)
    return 1024 * int(found[1]) if found else 0
