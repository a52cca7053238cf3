"""Joining the processes that `torchrun` has started."""

import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import distributed as dist

from clipgnn.errors import ClipGNNError, InvalidParameterError
from clipgnn.training.workers import Workers, current_workers


@contextmanager
def process_group(device: str = "auto") -> Iterator[Workers]:
    """Join the processes of `torchrun`; alone, do nothing.

    Processes communicate with gloo on CPUs and with NCCL on GPUs.

    Args:
        device: "cpu", "cuda" for one GPU for each process, or "auto" for GPUs if there are any.

    Raises:
        InvalidParameterError: if there are several processes, and the device has a number.
    """
    several = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if several and device.startswith("cuda:"):
        raise InvalidParameterError(
            f'device must be "cuda" with several processes, of one GPU each. Got {device!r}.',
            parameter="device",
        )
    if not several or dist.is_initialized():
        yield current_workers()
        return
    on_gpu = device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
    if on_gpu:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    dist.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield current_workers()
    except RuntimeError as error:
        if not isinstance(error, ClipGNNError) and re.search("gloo|nccl|peer", str(error), re.I):
            raise ClipGNNError(
                "All processes must run to the end. Another one has ended; its message has the "
                "reason."
            ) from error
        raise
    finally:
        dist.destroy_process_group()


def _end_with(parent: int) -> None:
    """End this process with `torchrun`, which cannot end its processes if it is killed."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
