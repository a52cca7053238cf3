"""How far an experiment is, cell by cell."""

from collections import Counter

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clipgnn.errors import one_line
from clipgnn.experiments.spec import Cell, Spec
from clipgnn.experiments.store import Store


def show_status(spec: Spec, store: Store, console: Console, *, traceback: bool = False) -> None:
    """Print how much of every cell is finished, running and failed, and what failed.

    Args:
        spec: the experiment.
        store: its results.
        console: where to print.
        traceback: whether to print where the failed trials failed.
    """
    finished, claimed, failures = store.finished(), store.claimed(), store.failures()
    trials = {trial.identity: trial for trial in spec.trials()}
    done, running = len(finished & trials.keys()), len(claimed.keys() & trials.keys())
    failed = {identity: failures[identity] for identity in trials if identity in failures}
    console.print(
        f"{spec.name} in {one_line(str(store.path))}: {done} of {len(trials)} trials finished, "
        f"{running} running, {len(failed)} failed",
        markup=False,
        soft_wrap=True,
    )
    table = Table(box=box.SIMPLE)
    table.add_column("model")
    for dataset in spec.datasets:
        table.add_column(Text(dataset), justify="right")
    cells = {(cell.row, cell.dataset): cell for cell in spec.cells}
    for row in spec.rows:
        counts = [
            _count(spec, cell, finished, set(failed)) if cell is not None else "–"
            for cell in (cells.get((row.name, dataset)) for dataset in spec.datasets)
        ]
        table.add_row(Text(row.name), *counts)
    console.print(table)
    for error, count in Counter(failure.error for failure in failed.values()).most_common():
        console.print(f"{count} × {one_line(error)}", style="red", markup=False, soft_wrap=True)
    if traceback:
        for identity, failure in failed.items():
            attempts = f"{failure.attempts} attempt{'s' * (failure.attempts > 1)}"
            console.print(f"\n{trials[identity]}, {attempts}:", markup=False, soft_wrap=True)
            for line in failure.traceback.split("\n"):
                console.print(one_line(line), markup=False, soft_wrap=True)


def _count(spec: Spec, cell: Cell, finished: set[str], failed: set[str]) -> str:
    own = {
        trial.identity
        for configuration in cell.configurations
        for trial in spec.trials_of(cell, configuration)
    }
    text = f"{len(own & finished)} of {len(own)}"
    return f"{text}, {len(own & failed)} failed" if own & failed else text
