"""`clipgnn bench`."""

import platform
import statistics
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import clipgnn
from clipgnn.commands.device import checked_device
from clipgnn.commands.terminal import terminal
from clipgnn.errors import DatasetNotFoundError, InvalidParameterError, one_line


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Data sets. [default: MUTAG, IMDB-MULTI and PROTEINS]"),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:NUMBER.")] = "cpu",
    root: Annotated[
        Path | None,
        typer.Option(help="Folder of the TU data sets; by default $CLIPGNN_DATA or the cache."),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=1, max=1000, help="Number of rounds; each round measures both.")
    ] = 3,
    seconds: Annotated[float, typer.Option(help="Minimum duration of a measurement.")] = 5.0,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="On a GPU, make runs repeatable in every bit.")
    ] = False,
    together: Annotated[
        bool,
        typer.Option(
            "--together",
            help="Instead, compare ten folds at once with one by one, for all networks.",
        ),
    ] = False,
    scaling: Annotated[
        bool,
        typer.Option(
            "--scaling/--no-scaling", help="Also measure the growth of cost (on the CPU)."
        ),
    ] = True,
) -> None:
    """Measure the speed of cross-validation against PyTorch Geometric, in one run.

    Default data sets that are not found are skipped with a message. On a GPU the property task
    connectivity is measured too.
    """
    if not 0 <= seconds <= 3600:  # false for NaN
        raise InvalidParameterError(f"--seconds must be a number from 0 to 3600. Got {seconds}.")
    device = checked_device(device)
    import torch

    from clipgnn.bench import scaling as growth
    from clipgnn.bench.speed import Setting, compare_on_cpu, compare_on_gpu
    from clipgnn.experiments.machine import available_cores

    console = terminal()
    if together:
        _print_folds(console, names or ["MUTAG"], device, root, rounds, seconds)
        return
    settings = [Setting(name) for name in names or ("MUTAG", "IMDB-MULTI", "PROTEINS")]
    if device != "cpu" and not names:
        settings.append(Setting("connectivity", num_colorings=16, hidden_channels=32, epochs=400))
    workers = available_cores()
    table = Table(title=f"Cross-validation on {_described(device)}", title_justify="left")
    for heading in ("data set", "k", "T", "hidden", "fold-epochs/s", "PyG", "ratio"):
        table.add_column(heading, justify="left" if heading == "data set" else "right")
    if device != "cpu":
        for heading in ("ten folds", "PyG", "compilation"):
            table.add_column(heading, justify="right")
    for setting in settings:
        try:
            if device == "cpu":
                found = compare_on_cpu(
                    setting, root=root, rounds=rounds, seconds=seconds, workers=workers
                )
            else:
                found = compare_on_gpu(
                    setting, root=root, rounds=rounds, seconds=seconds, deterministic=deterministic
                )
        except DatasetNotFoundError as error:
            if names:
                raise
            typer.echo(f"{setting.dataset} is skipped: {one_line(str(error))}", err=True)
            continue
        ours, peer = statistics.median(found.ours), statistics.median(found.peer)
        row = [
            setting.dataset,
            str(setting.num_colorings),
            str(setting.num_layers),
            str(setting.hidden_channels),
            f"{ours:.2f}",
            f"{peer:.2f}",
            f"{found.ratio:.1f}",
        ]
        if device != "cpu":
            total = 10 * setting.epochs
            row += [f"{total / ours:.1f} s", f"{total / peer:.0f} s"]
            row.append(f"{found.compile_seconds:.0f} s")
        table.add_row(*row)
    if table.row_count:
        if not console.is_terminal:
            console.width = max(console.width, 120)
        console.print(table, soft_wrap=False)
        console.print(
            f"Batches of 32, evaluation after every epoch; medians of {rounds} rounds. clipgnn "
            f"{clipgnn.__version__}, torch {torch.__version__}, Python "
            f"{platform.python_version()}, {workers} cores."
        )
    if scaling and device == "cpu":
        growth.measure()


def _print_folds(
    console: Console,
    names: list[str],
    device: str,
    root: Path | None,
    rounds: int,
    seconds: float,
) -> None:
    import torch

    from clipgnn.bench.together import compare_folds

    for name in names:
        table = Table(title=f"{name} on {_described(device)}", title_justify="left")
        table.add_column("network")
        for heading in ("fold-epochs/s together", "one by one", "ratio"):
            table.add_column(heading, justify="right")
        for found in compare_folds(name, device, root=root, rounds=rounds, seconds=seconds):
            if found.skipped:
                table.add_row(found.network, "–", "–", "–")
                typer.echo(f"{found.network} is skipped: {found.skipped}", err=True)
                continue
            ratio = f"{found.together / found.alone:.2f}"
            table.add_row(found.network, f"{found.together:.1f}", f"{found.alone:.1f}", ratio)
        console.print(table, soft_wrap=False)
    console.print(
        "One by one is one process of one thread, and one such process per core can run at the "
        f"same time. Default parameters, batches of 32, medians of {rounds} rounds. clipgnn "
        f"{clipgnn.__version__}, torch {torch.__version__}, Python {platform.python_version()}."
    )


def _described(device: str) -> str:
    import torch

    return torch.cuda.get_device_name(device) if device != "cpu" else "the CPU"
