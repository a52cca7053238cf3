"""Options of commands that can run on a Ray cluster."""

from enum import StrEnum
from typing import Annotated

import typer

from clipgnn.errors import InvalidParameterError


class Executor(StrEnum):
    """Where a command computes."""

    here = "here"
    ray = "ray"


ExecutorOption = Annotated[
    Executor,
    typer.Option(help="For graphs on disk: compute here, or in processes of a Ray cluster."),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        help="Address of a Ray cluster, for --executor ray; by default Ray runs on this machine. "
        "A Ray cluster runs any code that is sent to it: use one in a trusted network only."
    ),
]
WorkersOption = Annotated[
    int, typer.Option("--num-workers", min=1, max=1024, help="Processes of --executor ray.")
]


def check_alone(address: str | None, num_workers: int) -> None:
    """Check that options of Ray are not given without it.

    Raises:
        InvalidParameterError: if one is.
    """
    for name, given in (("address", address is not None), ("num_workers", num_workers > 1)):
        if given:
            raise InvalidParameterError(
                f"{name} must only be given with --executor ray. Use it, or torchrun for several "
                "processes on this machine.",
                parameter=name,
            )
