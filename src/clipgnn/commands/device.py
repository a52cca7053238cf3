"""The option `--device`."""

import re

from clipgnn.errors import InvalidParameterError, suggestion


def checked_device(name: str, *, remote: bool = False) -> str:
    """The device to train on, as torch names it.

    Args:
        name: auto, cpu, cuda or cuda:NUMBER.
        remote: whether another machine trains, whose devices are unknown here.

    Raises:
        InvalidParameterError: if there is no such device.
    """
    if not re.fullmatch(r"auto|cpu|cuda(:[0-9]{1,4})?", name):
        raise InvalidParameterError(
            f"--device must be auto, cpu, cuda or cuda:NUMBER. Got {name[:100]!r}."
            f"{suggestion(name[:100], ('auto', 'cpu', 'cuda'))}"
        )
    if remote or name == "cpu":
        return "cpu" if name == "auto" else name
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return "cuda" if count else "cpu"
    if int(name.partition(":")[2] or 0) >= count:
        raise InvalidParameterError(
            f"--device {name} is not on this machine, which has {count} GPUs that torch can use. "
            "Choose another device, or leave it to auto."
        )
    return name
