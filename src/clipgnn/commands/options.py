"""Options and arguments shared by `clipgnn report` and the commands of `clipgnn experiment`."""

from pathlib import Path
from typing import Annotated

import typer

from clipgnn.experiments.catalog import GROUPS
from clipgnn.experiments.executors import EXECUTORS
from clipgnn.experiments.executors.processes import HEARTBEAT_TIMEOUT
from clipgnn.experiments.options import PRECISIONS
from clipgnn.experiments.protocol import PROTOCOLS
from clipgnn.experiments.sessions import EXPIRY_SECONDS
from clipgnn.report import FORMATS

Name = Annotated[str, typer.Argument(help="A name in experiments/, or the path of a TOML file.")]
RunName = Annotated[str, typer.Argument(help="Name of an experiment that was run before.")]
Store = Annotated[
    Path | None, typer.Option("--store", help="File of results; by default runs/NAME.sqlite.")
]
Root = Annotated[
    Path | None,
    typer.Option(
        "--root",
        help="Folder of the TU data sets, on every machine that runs trials; by default "
        "$CLIPGNN_DATA or the cache. For pairs of graphs, the folder of the files of BREC, by "
        "default BREC in or beside that folder; files with relative paths are looked for in it "
        "too.",
    ),
]
Executor = Annotated[
    str, typer.Option("--executor", help=f"Executor of jobs: {', '.join(EXECUTORS)}.")
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="Address of a Ray cluster, for the executor ray; by default a new Ray instance on "
        "this machine, on the loopback interface only. A Ray cluster runs any code that is sent "
        "to it, by default without authentication: use one only in a trusted network, or with "
        "Ray's token authentication (RAY_AUTH_MODE=token, Ray 2.52 or later).",
    ),
]
JobTimeout = Annotated[
    float | None,
    typer.Option(
        "--job-timeout",
        metavar="SECONDS",
        help="Kill the process of a job (a trial, or folds that are trained together) that takes "
        "longer; the job is attempted once more and then fails. By default there is no limit. For "
        "the executors processes and ray.",
    ),
]
HeartbeatTimeout = Annotated[
    float | None,
    typer.Option(
        "--heartbeat-timeout",
        metavar="SECONDS",
        help="Kill a process that has sent no heartbeat for this time, likewise; by default "
        f"{HEARTBEAT_TIMEOUT:.0f}. For the executor processes.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, max=1024, help="Processes; by default one per core."),
]
JobsAtOnce = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Jobs that each process runs at the same time. [default: 4 on a GPU, otherwise 1]",
    ),
]
Device = Annotated[
    str, typer.Option("--device", help="cpu, cuda, cuda:1, …; auto uses a GPU if there is one.")
]
Deterministic = Annotated[
    bool, typer.Option("--deterministic", help="On a GPU, make runs repeatable in every bit.")
]
Precision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        help=f"Precision of float32 products on a GPU: {', '.join(PRECISIONS)}; by default that of "
        "PyTorch, highest. high is a tenth to a fifth faster.",
    ),
]
RetryFailed = Annotated[
    bool,
    typer.Option(
        "--retry-failed",
        help="Train diverged trials again; trials that failed otherwise are always run again.",
    ),
]
TakeOver = Annotated[
    bool,
    typer.Option(
        "--take-over",
        help="Run trials at once that a session on another machine has claimed, instead of waiting "
        f"until it has sent no heartbeat for {EXPIRY_SECONDS:.0f} s.",
    ),
]
Models = Annotated[str | None, typer.Option("--models", help="Only these rows: 0-CLIP,16-CLIP.")]
Datasets = Annotated[str | None, typer.Option("--datasets", help="Only these data sets: csl,…")]
Epochs = Annotated[int | None, typer.Option("--epochs", help="Number of epochs.")]
Folds = Annotated[int | None, typer.Option("--folds", help="Number of first folds to run.")]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", help="Only this part of the grid: num_layers=3,5. Repeatable."),
]
Seeds = Annotated[
    str | None, typer.Option("--seeds", help="Other seeds of weights and colorings: 0,1,2.")
]
Groups = Annotated[
    str | None,
    typer.Option("--groups", help=f"Graphs to keep in one fold: {', '.join(GROUPS)}."),
]
Protocol = Annotated[
    str | None, typer.Option("--protocol", help=f"Evaluation protocol: {', '.join(PROTOCOLS)}.")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help=f"Format of the report: {', '.join(FORMATS)}; by default given by the ending of "
        "--output.",
    ),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File to write the report to.")]
