"""Status of an experiment, cell by cell."""

from collections import Counter
from collections.abc import Mapping, Set

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clipgnn.errors import one_line
from clipgnn.experiments.attempts import Failure
from clipgnn.experiments.experiment import Cell, Experiment
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import Trial


def show_status(
    experiment: Experiment, store: Store, console: Console, *, traceback: bool = False
) -> None:
    """Print the numbers of finished, running, failed and diverged trials, and the errors.

    Args:
        experiment: the experiment.
        store: store of its results.
        console: console to print to.
        traceback: whether to print the tracebacks of failed trials.

    Raises:
        DamagedStoreError: if a result, a trial or an attempt is damaged.
    """
    finished, claimed = store.results().keys(), store.claimed()
    trials = {trial.identity: trial for trial in experiment.trials()}
    done, running = len(finished & trials.keys()), len(claimed.keys() & trials.keys())
    failed = _among(trials, store.failures())
    diverged = _among(trials, store.diverged())
    console.print(
        f"{experiment.name} in {one_line(str(store.path))}: {done} of {len(trials)} trials "
        f"finished, {running} running, {len(failed)} failed, {len(diverged)} diverged",
    )
    table = Table(box=box.SIMPLE)
    table.add_column("model")
    for dataset in experiment.datasets:
        table.add_column(Text(dataset), justify="right")
    cells = {(cell.row, cell.dataset): cell for cell in experiment.cells}
    for row in experiment.rows:
        counts = [
            _count(experiment, cell, finished, failed.keys(), diverged.keys())
            if cell is not None
            else "–"
            for cell in (cells.get((row.name, dataset)) for dataset in experiment.datasets)
        ]
        table.add_row(Text(row.name), *counts)
    console.print(table, soft_wrap=False)
    unsuccessful = [*failed.values(), *diverged.values()]
    for error, count in Counter(failure.error for failure in unsuccessful).most_common():
        console.print(f"{count} × {one_line(error)}", style="red")
    if traceback:
        for identity, failure in failed.items():
            attempts = f"{failure.attempts} attempt{'s' * (failure.attempts > 1)}"
            console.print(f"\n{trials[identity]}, {attempts}:")
            for line in failure.traceback.split("\n"):
                console.print(one_line(line))


def _among(trials: Mapping[str, Trial], found: Mapping[str, Failure]) -> dict[str, Failure]:
    return {identity: found[identity] for identity in trials if identity in found}


def _count(
    experiment: Experiment, cell: Cell, finished: Set[str], failed: Set[str], diverged: Set[str]
) -> str:
    own = {
        trial.identity
        for configuration in cell.configurations
        for trial in experiment.trials_of(cell, configuration)
    }
    text = f"{len(own & finished)} of {len(own)}"
    for those, what in ((failed, "failed"), (diverged, "diverged")):
        text += f", {len(own & those)} {what}" if own & those else ""
    return text
