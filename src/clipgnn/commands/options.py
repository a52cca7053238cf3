"""Options and arguments that the commands of `clipgnn experiment` share."""

from pathlib import Path
from typing import Annotated

import typer

from clipgnn.commands.writing import FormatName
from clipgnn.experiments.executors import EXECUTORS, HEARTBEAT_TIMEOUT
from clipgnn.experiments.protocol import PROTOCOLS
from clipgnn.experiments.sessions import EXPIRY_SECONDS

Name = Annotated[str, typer.Argument(help="A name in experiments/, or the path of a TOML file.")]
RunName = Annotated[str, typer.Argument(help="Name of an experiment that was run.")]
Store = Annotated[
    Path | None, typer.Option("--store", help="File of results; by default runs/NAME.sqlite.")
]
Executor = Annotated[
    str, typer.Option("--executor", help=f"Where jobs run: {', '.join(EXECUTORS)}.")
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="Address of a Ray cluster, for the executor ray; by default a Ray of its own on this "
        "machine, on the loopback interface only. A Ray cluster runs any code that is sent to it, "
        "by default without authentication: use one in a trusted network only, or with Ray's "
        "token authentication (RAY_AUTH_MODE=token, Ray 2.52 or later).",
    ),
]
JobTimeout = Annotated[
    float | None,
    typer.Option(
        "--job-timeout",
        metavar="SECONDS",
        help="Kill and replace the process of a job (a trial, or the folds that are trained "
        "together) that takes longer; the job is attempted once more and then failed. By default "
        "there is no limit. For the executors processes and ray.",
    ),
]
HeartbeatTimeout = Annotated[
    float | None,
    typer.Option(
        "--heartbeat-timeout",
        metavar="SECONDS",
        help="Do the same with a process that does not respond and has sent no heartbeat for this "
        f"time; by default {HEARTBEAT_TIMEOUT:.0f}. For the executor processes.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, max=1024, help="Local processes; by default one per core."),
]
Device = Annotated[
    str, typer.Option("--device", help="cpu, cuda, cuda:1, …; auto takes a GPU if there is one.")
]
Deterministic = Annotated[
    bool, typer.Option("--deterministic", help="On a GPU, agree in every bit between runs.")
]
RetryFailed = Annotated[
    bool,
    typer.Option(
        "--retry-failed", help="Train again what diverged; other failures always are tried again."
    ),
]
TakeOver = Annotated[
    bool,
    typer.Option(
        "--take-over",
        help="Begin at once with trials that a session on another machine has claimed, instead of "
        f"waiting until it has been without a heartbeat for {EXPIRY_SECONDS:.0f} s.",
    ),
]
Models = Annotated[str | None, typer.Option("--models", help="Only these rows: 0-CLIP,16-CLIP.")]
Datasets = Annotated[str | None, typer.Option("--datasets", help="Only these data sets: csl,…")]
Epochs = Annotated[int | None, typer.Option("--epochs", help="Epochs to train.")]
Folds = Annotated[int | None, typer.Option("--folds", help="Only the first folds, this many.")]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", help="Only this part of the grid: num_layers=3,5. Repeatable."),
]
Protocol = Annotated[
    str | None, typer.Option("--protocol", help=f"How numbers are made: {', '.join(PROTOCOLS)}.")
]
Format = Annotated[
    FormatName | None, typer.Option("--format", help="Of the table; by default as --output ends.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File to write the table to.")]
