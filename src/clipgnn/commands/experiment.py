"""`clipgnn experiment`: run, status, resume, merge, repair."""

import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from clipgnn.commands import options
from clipgnn.commands.command_line import command_line
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.parts import PartOptions
from clipgnn.commands.progress import ProgressDisplay
from clipgnn.commands.report_output import format_of, write_report
from clipgnn.commands.running import RunningOptions
from clipgnn.commands.status import show_status
from clipgnn.commands.stores import check_exists, default_store, experiment_name, open_store
from clipgnn.commands.terminal import terminal
from clipgnn.errors import InvalidExperimentError, counted, one_line
from clipgnn.experiments import work
from clipgnn.experiments.executors import make_executor
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.merge import merge as merge_stores
from clipgnn.experiments.options import RunOptions
from clipgnn.experiments.plans import stored_experiment
from clipgnn.experiments.preparing import prepare_experiment
from clipgnn.experiments.reading import find_experiment, read_experiment
from clipgnn.experiments.repair import repair as repair_store
from clipgnn.experiments.run import RunProgress, run_experiment
from clipgnn.experiments.store import Store
from clipgnn.report import FORMATS, make_report

app = typer.Typer(
    help="Run experiments, print their progress, join and repair their stores.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command()
@with_option_groups
def run(
    name: options.Name,
    running: RunningOptions,
    part: PartOptions,
    store: options.Store = None,
    protocol: options.Protocol = None,
    format_name: options.Format = None,
    output: options.Output = None,
) -> None:
    """Run the unfinished trials of an experiment and print its table.

    Example: clipgnn experiment run table1 --models CLIP --datasets MUTAG
    """
    experiment = part.overrides(protocol)(read_experiment(find_experiment(name)))
    path = store or default_store(name)
    run_and_report(
        experiment,
        path,
        running.run_options(_module_folders(name)),
        format_name,
        output,
        quiet=running.quiet,
    )


@app.command()
@with_option_groups
def resume(
    name: options.RunName,
    running: RunningOptions,
    store: options.Store = None,
    format_name: options.Format = None,
    output: options.Output = None,
) -> None:
    """Continue the last run of an experiment, with the same trials on the same data.

    Example: clipgnn experiment resume table1
    """
    path = store or default_store(name)
    with open_store(path, name) as opened:
        experiment = stored_experiment(opened, experiment_name(name))
    run_and_report(
        experiment,
        path,
        running.run_options(_module_folders(name)),
        format_name,
        output,
        quiet=running.quiet,
    )


@app.command()
def status(
    name: options.RunName,
    store: options.Store = None,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Print the tracebacks of failed trials.")
    ] = False,
) -> None:
    """Print the progress of an experiment, and which trials failed or diverged.

    Example: clipgnn experiment status table1 --traceback
    """
    with open_store(store or default_store(name), name) as opened:
        show_status(
            stored_experiment(opened, experiment_name(name)),
            opened,
            terminal(),
            traceback=traceback,
        )


@app.command()
def merge(
    target: Annotated[Path, typer.Argument(help="Store to copy to; created if it is missing.")],
    sources: Annotated[list[Path], typer.Argument(help="Stores to copy.")],
    repository: Annotated[
        Path,
        typer.Option(help="Git repository of clipgnn, in which the source of results is found."),
    ] = Path(),
    any_source: Annotated[
        bool, typer.Option("--any-source", help="Copy results of uncommitted source too.")
    ] = False,
) -> None:
    """Copy the results of stores, such as those of several machines, to one store.

    Only results of committed source are copied: the hash of the source that they were computed with
    must be that of a commit.

    Example: clipgnn experiment merge results/all.sqlite runs/mutag.sqlite runs/ptc.sqlite
    """
    console = terminal()
    for source in sources:
        own = merge_stores(target, source, None if any_source else repository)
        known = f", {own.known} known before" if own.known else ""
        other = f" ({own.different} with other curves, not copied)" if own.different else ""
        console.print(one_line(f"{source}: {counted(own.results, 'new result')}{known}{other}."))


@app.command()
def repair(name: options.RunName, store: options.Store = None) -> None:
    """Delete damaged rows of a store; the next run trains their trials again.

    Example: clipgnn experiment repair table1
    """
    path = store or default_store(name)
    check_exists(path, name)
    repaired = repair_store(path)
    console = terminal()
    for own in repaired:
        console.print(one_line(f"{own.action.capitalize()} {own.what}: {own.why}."))
    kept = sum(own.action == "kept" for own in repaired)
    deleted = len(repaired) - kept
    if repaired:
        entries = "1 entry" if deleted == 1 else f"{deleted} entries"
        summary = f"{entries} of {path} deleted, {kept} kept; the next run trains missing trials"
    else:
        summary = f"No damaged entries in {path}; indexes rebuilt"
    console.print(one_line(f"{summary}."))


def run_and_report(
    experiment: Experiment,
    path: Path,
    run_options: RunOptions,
    format_name: str | None,
    output: Path | None,
    *,
    quiet: bool,
) -> None:
    """Run the unfinished trials of an experiment, and print or write its report.

    Args:
        experiment: the experiment.
        path: store of its results.
        run_options: how trials are run.
        format_name: name of the format of the report; by default that of the file.
        output: file of the report; None to print it.
        quiet: whether to show no progress.
    """
    chosen = format_of(format_name, output)  # an error must come before hours of training
    messages = terminal(stderr=True)
    try:
        with _termination_as_interrupt():
            progress = _run_and_write(experiment, path, run_options, chosen, output, quiet=quiet)
    except KeyboardInterrupt:
        kept = f"Finished results are in {one_line(str(path))}; the" if path.exists() else "The"
        messages.print(f"Interrupted. {kept} same command continues.")
        raise typer.Exit(130) from None
    if output is not None and not quiet:
        messages.print(one_line(f"Report: {output}"))
    if progress.diverged:
        messages.print(
            f"{progress.diverged} of {progress.total} trials diverged. Their configurations are "
            "excluded and listed under the table; --retry-failed trains them again.",
            style="yellow",
        )
    if progress.failed:
        messages.print(
            f"{progress.failed} of {progress.total} trials failed and are missing in the table. "
            f"`clipgnn experiment status {shlex.quote(experiment.name)} --store "
            f"{shlex.quote(one_line(str(path)))} --traceback` prints the tracebacks; the same "
            "command runs them again.",
            style="red",
        )
        raise typer.Exit(1)


def _run_and_write(
    experiment: Experiment,
    path: Path,
    run_options: RunOptions,
    format_name: str,
    output: Path | None,
    *,
    quiet: bool,
) -> RunProgress:
    # Output of libraries, such as Ray and downloads of PyG, must not get into the table.
    with redirect_stdout(sys.stderr):
        experiment = prepare_experiment(experiment, run_options)
    run_trials = partial(
        work.run_trials,
        device=run_options.device,
        deterministic=run_options.deterministic,
        precision=run_options.precision,
        root=run_options.root,
        search_path=run_options.search_path,
    )
    with (
        closing(make_executor(run_trials, run_options)) as executor,
        Store(path, create=True) as store,
    ):
        with (
            redirect_stdout(sys.stderr),
            ProgressDisplay(experiment.name, terminal(stderr=True), quiet=quiet) as display,
        ):
            progress = run_experiment(
                experiment,
                store,
                executor,
                run_options,
                command=command_line(),
                on_progress=display.show,
            )
        report = make_report(
            experiment, store, experiment.protocol, figures=FORMATS[format_name].figures
        )
        write_report(report, format_name, output)
    return progress


def _module_folders(name: str) -> tuple[str, ...]:
    """Return the folders of own modules: that of the experiment file, and the working directory."""
    with suppress(InvalidExperimentError):  # only a store has the experiment
        return str(find_experiment(name).parent.absolute()), str(Path.cwd())
    return (str(Path.cwd()),)


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C inside."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
