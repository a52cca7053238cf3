"""The option `--device`."""

import re

from clipgnn.errors import InvalidParameterError, suggestion


def checked_device(name: str, *, remote: bool = False) -> str:
    """Return the torch device that the option names.

    Args:
        name: auto, cpu, cuda or cuda:NUMBER.
        remote: whether jobs run on other machines, whose devices are unknown.

    Raises:
        InvalidParameterError: if the device does not exist.
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
            f"--device must be a device of this machine, which has {count} GPUs that torch can "
            f"use. Got {name}. Use another device, or auto."
        )
    return name
