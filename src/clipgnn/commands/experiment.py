"""`clipgnn experiment`: run, status, report, resume, repair."""

import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from clipgnn.commands import options
from clipgnn.commands.device import checked_device
from clipgnn.commands.progress import ProgressDisplay
from clipgnn.commands.status import show_status
from clipgnn.commands.terminal import terminal
from clipgnn.commands.writing import FormatName, format_of, write_table
from clipgnn.errors import InvalidParameterError, StoreError, one_line, suggestion
from clipgnn.experiments import data, trial
from clipgnn.experiments.catalog import Value
from clipgnn.experiments.executors import executor_named
from clipgnn.experiments.protocol import PROTOCOLS
from clipgnn.experiments.reading import find_spec, parse_spec, read_spec
from clipgnn.experiments.repair import repair as repair_store
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.spec import Overrides, Spec
from clipgnn.experiments.store import Store

app = typer.Typer(
    help="Run experiments, show their progress, print their tables, repair their stores.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command()
def run(
    name: options.Name,
    store: options.Store = None,
    executor: options.Executor = "processes",
    address: options.Address = None,
    workers: options.Workers = None,
    device: options.Device = "auto",
    deterministic: options.Deterministic = False,
    retry_failed: options.RetryFailed = False,
    take_over: options.TakeOver = False,
    job_timeout: options.JobTimeout = None,
    heartbeat_timeout: options.HeartbeatTimeout = None,
    models: options.Models = None,
    datasets: options.Datasets = None,
    epochs: options.Epochs = None,
    folds: options.Folds = None,
    where: options.Where = None,
    protocol: options.Protocol = None,
    format_name: options.Format = None,
    output: options.Output = None,
) -> None:
    """Run an experiment, or what is missing of it, and print its table."""
    overrides = _overrides(models, datasets, epochs, folds, where, protocol)
    spec = overrides(read_spec(find_spec(name)))
    path = store or _default_store(name)
    _run(
        spec,
        path,
        executor,
        address,
        workers,
        device,
        deterministic,
        retry_failed,
        take_over,
        job_timeout,
        heartbeat_timeout,
        format_name,
        output,
    )


@app.command()
def resume(
    name: options.RunName,
    store: options.Store = None,
    executor: options.Executor = "processes",
    address: options.Address = None,
    workers: options.Workers = None,
    device: options.Device = "auto",
    deterministic: options.Deterministic = False,
    retry_failed: options.RetryFailed = False,
    take_over: options.TakeOver = False,
    job_timeout: options.JobTimeout = None,
    heartbeat_timeout: options.HeartbeatTimeout = None,
    format_name: options.Format = None,
    output: options.Output = None,
) -> None:
    """Go on with the last run of a store, as it was asked for then, on the same data."""
    path = store or _default_store(name)
    with _open(path, name) as opened:
        spec = _last_plan(opened, name)
    _run(
        spec,
        path,
        executor,
        address,
        workers,
        device,
        deterministic,
        retry_failed,
        take_over,
        job_timeout,
        heartbeat_timeout,
        format_name,
        output,
    )


@app.command()
def status(
    name: options.RunName,
    store: options.Store = None,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where the failed trials failed.")
    ] = False,
) -> None:
    """Show how far an experiment is, and what failed or diverged."""
    with _open(store or _default_store(name), name) as opened:
        show_status(_last_plan(opened, name), opened, terminal(), traceback=traceback)


@app.command()
def report(
    name: options.RunName,
    store: options.Store = None,
    spec_name: Annotated[
        str | None,
        typer.Option("--spec", help="Report this experiment, not the part that was run last."),
    ] = None,
    models: options.Models = None,
    datasets: options.Datasets = None,
    epochs: options.Epochs = None,
    folds: options.Folds = None,
    where: options.Where = None,
    protocol: options.Protocol = None,
    format_name: options.Format = None,
    output: options.Output = None,
) -> None:
    """Print the table of what is finished, without running anything."""
    chosen = format_of(format_name, output)
    overrides = _overrides(models, datasets, epochs, folds, where, None)
    _check_protocol(protocol)
    with _open(store or _default_store(name), name) as opened:
        if spec_name is None:
            spec = _last_plan(opened, name)
        else:
            spec = _with_data(read_spec(find_spec(spec_name)), opened)
        write_table(overrides(spec), opened, protocol or spec.protocol, chosen, output)


@app.command()
def repair(name: options.RunName, store: options.Store = None) -> None:
    """Delete what is damaged in a store; the next run measures it again."""
    path = store or _default_store(name)
    _check_exists(path, name)
    repaired = repair_store(path)
    console = terminal()
    for own in repaired:
        console.print(one_line(f"{own.action.capitalize()} {own.what}: {own.why}."))
    kept = sum(own.action == "kept" for own in repaired)
    deleted = len(repaired) - kept
    if repaired:
        entries = "1 entry" if deleted == 1 else f"{deleted} entries"
        summary = f"{entries} of {path} deleted, {kept} kept; the next run measures what is missing"
    else:
        summary = f"No damaged entries in {path}; indexes rebuilt"
    console.print(one_line(f"{summary}."))


def _run(
    spec: Spec,
    path: Path,
    executor_name: str,
    address: str | None,
    workers: int | None,
    device: str,
    deterministic: bool,
    retry_failed: bool,
    take_over: bool,
    job_timeout: float | None,
    heartbeat_timeout: float | None,
    format_name: FormatName | None,
    output: Path | None,
) -> None:
    chosen = format_of(format_name, output)  # before hours of work, not after
    device = checked_device(device, remote=executor_name == "ray")
    on_gpu = device.startswith("cuda")
    work = partial(trial.run_trials, device=device, deterministic=deterministic)
    messages = terminal(stderr=True)
    with redirect_stdout(sys.stderr):  # downloads are reported on stdout
        found = data.fingerprints(dict.fromkeys(cell.dataset for cell in spec.cells), spec.data)
    spec = replace(spec, data=found)
    executor = executor_named(
        executor_name,
        work,
        workers=workers,
        address=address,
        on_gpu=on_gpu,
        job_timeout=job_timeout,
        heartbeat_timeout=heartbeat_timeout,
    )
    with Store(path, create=True) as store:
        try:
            # What libraries print (Ray, of nodes that die) must not get into the table.
            with (
                redirect_stdout(sys.stderr),
                _termination_as_interrupt(),
                ProgressDisplay(spec.name, messages) as display,
            ):
                progress = run_experiment(
                    spec,
                    store,
                    executor,
                    together=on_gpu,
                    retry_failed=retry_failed,
                    command=_command(),
                    tell=display.tell,
                    take_over=take_over,
                )
        except KeyboardInterrupt:
            messages.print(
                f"Stopped. What is finished is in {one_line(str(path))}; the same command goes on."
            )
            raise typer.Exit(130) from None
        write_table(spec, store, spec.protocol, chosen, output)
    if progress.diverged:
        messages.print(
            f"{progress.diverged} of {progress.total} trials diverged. Their configurations could "
            "not be chosen and are named under the table; --retry-failed trains them again.",
            style="yellow",
        )
    if progress.failed:
        messages.print(
            f"{progress.failed} of {progress.total} trials failed, and are missing in the table. "
            f"`clipgnn experiment status {shlex.quote(spec.name)} --store "
            f"{shlex.quote(one_line(str(path)))} --traceback` shows where; the same command tries "
            "them again.",
            style="red",
        )
        raise typer.Exit(1)


def _command() -> str:
    """How this process was asked to run; of a path outside, its name tells enough."""
    words = [word if not Path(word).is_absolute() else Path(word).name for word in sys.argv[1:]]
    return shlex.join(["clipgnn", *words])


def _overrides(
    models: str | None,
    datasets: str | None,
    epochs: int | None,
    folds: int | None,
    where: list[str] | None,
    protocol: str | None,
) -> Overrides:
    _check_protocol(protocol)
    return Overrides(
        models=None if models is None else _listed(models),
        datasets=None if datasets is None else _listed(datasets),
        epochs=epochs,
        folds=folds,
        where=dict(_condition(text) for text in where or []),
        protocol=protocol,
    )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _condition(text: str) -> tuple[str, tuple[Value, ...]]:
    key, equals, values = text.partition("=")
    if not equals or not _listed(values):
        raise InvalidParameterError(f"--where must be like num_layers=3,5. Got {text!r}.")
    return key.strip(), tuple(_value(value) for value in _listed(values))


def _value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def _check_protocol(protocol: str | None) -> None:
    if protocol is not None and protocol not in PROTOCOLS:
        raise InvalidParameterError(
            f"--protocol must be one of {', '.join(PROTOCOLS)}. Got {protocol!r}."
            f"{suggestion(protocol, PROTOCOLS)}"
        )


def _default_store(name: str) -> Path:
    return Path("runs") / f"{_plain(name)}.sqlite"


def _open(path: Path, name: str) -> Store:
    _check_exists(path, name)
    return Store(path)


def _check_exists(path: Path, name: str) -> None:
    if not path.exists():
        raise StoreError(
            f"There is no store {path}. Run `clipgnn experiment run {name}` first, or say where "
            "it is with --store."
        )


def _last_plan(store: Store, name: str) -> Spec:
    plans = {plan.name: plan for plan in store.plans()}
    if not plans:
        raise StoreError(f"{store.path} is empty: nothing has been run into it yet.")
    plan = plans.get(_plain(name))
    if plan is None:
        raise StoreError(
            f"Nothing called {_plain(name)!r} has been run into {store.path}, which has "
            f"{', '.join(plans)}.{suggestion(_plain(name), plans)}"
        )
    return _with_data(parse_spec(plan.content, plan.name, str(store.path)), store)


def _with_data(spec: Spec, store: Store) -> Spec:
    """The experiment on the data of its newest plans; of others where it has none of its own."""
    found: dict[str, str] = {}
    for plan in sorted(store.plans(), key=lambda plan: plan.name == spec.name):
        found.update(plan.data)
    return replace(spec, data=found)


def _plain(name: str) -> str:
    """The name of an experiment, also if it was given as the path of its file."""
    return Path(name).name.removesuffix(".toml")


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Treat the signal SIGTERM like Ctrl-C."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
