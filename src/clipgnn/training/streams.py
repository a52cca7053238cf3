"""CUDA streams of trainings that run at the same time in threads of a process."""

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_lock = threading.Lock()
_free: dict[int, list[torch.cuda.Stream]] = defaultdict(list)


@contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """Use a stream that no other training uses; on the CPU, do nothing.

    Streams are kept and used again: torch returns one of only 32, so that a new one could be the
    stream of another training, and its work would be recorded with that of this one.
    """
    if device.type != "cuda":
        yield
        return
    with torch.cuda.device(device):
        number = torch.cuda.current_device()
        with _lock:
            own = _free[number].pop() if _free[number] else torch.cuda.Stream()
        before = torch.cuda.current_stream()
        own.wait_stream(before)
        try:
            with torch.cuda.stream(own):
                yield
            before.wait_stream(own)
        finally:
            with _lock:
                _free[number].append(own)
