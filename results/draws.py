"""Measure how predictions of stored models change between draws of random colorings.

    python results/draws.py runs/schemes.sqlite --draws 10 --output results/schemes-draws.json

reads the models beside the store of an experiment with `keep_models` and `keep_predictions`, and
predicts the test graphs of each trial, and its fresh graphs, several times. With `--fresh`, fresh
graphs are predicted that the trials did not score: those of another seed of a generated data set.
Rows with several configurations are left out. Numbers are means over the finished trials of a row;
see `NUMBERS`. The trials are those of the last run of the store, or of `--experiment FILE`.
`--processes` predicts several trials at the same time.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clipgnn.datasets.registry import load_dataset
from clipgnn.experiments.artifacts import load_model, load_predictions
from clipgnn.experiments.data import FRESH_SEED, load
from clipgnn.experiments.plans import stored_experiment, with_stored_data
from clipgnn.experiments.reading import read_experiment
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import Trial
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.network import Network
from clipgnn.parameters.datasets import GENERATED
from clipgnn.writing import check_writable, write_file

NUMBERS = {
    "one_draw": "accuracy, or mean absolute error, of one draw: the mean over the draws",
    "deviation": "standard deviation of that number over the draws",
    "mean_of_draws": "the same number of the mean of all draws (probabilities, or numbers)",
    "spread": "share of pairs of draws that predict different classes; for numbers, the standard "
    "deviation of a prediction",
    "training_seconds": "seconds of training of a trial, with its evaluations, on one core",
}


def outputs_of(model: Network, graphs: PackedGraphs, draws: int) -> torch.Tensor:
    """Probabilities, or numbers, `[draws, graphs, channels]`."""
    outputs = torch.stack([model.predict(graphs, seed=seed) for seed in range(draws)]).double()
    return outputs if graphs.targets.is_floating_point() else outputs.softmax(-1)


def numbers_of(outputs: torch.Tensor, targets: torch.Tensor) -> dict[str, float]:
    """The numbers of a trial, without its time."""
    draws = len(outputs)
    if targets.is_floating_point():
        targets = targets.reshape(outputs.shape[1:]).double()
        scores = (outputs - targets).abs().mean((1, 2))
        together = (outputs.mean(0) - targets).abs().mean()
        spread = outputs.std(0, correction=0).mean()
    else:
        classes = outputs.argmax(-1)
        scores = (classes == targets).double().mean(1)
        together = (outputs.mean(0).argmax(-1) == targets).double().mean()
        # [draws, draws, graphs]
        differ = (classes[:, None] != classes).double().mean(2)
        spread = differ.sum() / max(1, draws * (draws - 1))
    return {
        "one_draw": float(scores.mean()),
        "deviation": float(scores.std(correction=0)),
        "mean_of_draws": float(together),
        "spread": float(spread),
    }


Numbers = dict[str, dict[str, float]]
"""The numbers of a trial for each part, `test` and `fresh`."""


def measure(trial: Trial, *, store: Path, root: str | None, draws: int, fresh: bool) -> Numbers:
    """The numbers of a trial for its test graphs, and for fresh graphs if it has them, or must."""
    model, kept = load_model(store, trial), load_predictions(store, trial)
    loaded = load(trial, root)
    parts = {"test": loaded.graphs.subset(torch.from_numpy(kept.graphs))}
    if trial.fresh:
        chosen = torch.arange(loaded.num_graphs, len(loaded.graphs))
        parts["fresh"] = loaded.graphs.subset(chosen)
    elif fresh:
        parts["fresh"] = load_dataset(trial.dataset, seed=FRESH_SEED)
    return {
        name: numbers_of(outputs_of(model, graphs, draws), graphs.targets)
        for name, graphs in parts.items()
    }


def means(rows: list[dict[str, float]]) -> dict[str, float]:
    """Means over trials, with the standard deviation of `one_draw` over them."""
    mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    return mean | {
        "one_draw_deviation_over_trials": float(np.std([row["one_draw"] for row in rows]))
    }


@contextmanager
def measuring(
    measure_trial: Callable[[Trial], Numbers], processes: int
) -> Iterator[Callable[[Sequence[Trial]], list[Numbers]]]:
    """A function that measures trials, in one process or several."""
    torch.set_num_threads(1)
    if processes == 1:
        yield lambda trials: [measure_trial(trial) for trial in trials]
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, context, torch.set_num_threads, (1,)) as pool:
        yield lambda trials: list(pool.map(measure_trial, trials))


def main() -> None:
    """Measure all rows of a store, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--root", help="folder of the TU data sets")
    parser.add_argument("--experiment", type=Path, help="TOML file of the whole experiment")
    parser.add_argument("--fresh", action="store_true", help="also predict graphs of another seed")
    parser.add_argument("--datasets", nargs="+", help="names of data sets; by default all")
    parser.add_argument("--models", nargs="+", help="names of rows; by default all")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    if not arguments.store.is_file():
        parser.error(f"the store {arguments.store} must be a file")
    check_writable(arguments.output)
    measure_trial = partial(
        measure,
        store=arguments.store,
        root=arguments.root,
        draws=arguments.draws,
        fresh=arguments.fresh,
    )
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    with Store(arguments.store) as store:
        results = store.results()
        if arguments.experiment is None:
            experiment = stored_experiment(store)
        else:
            experiment = with_stored_data(read_experiment(arguments.experiment), store)
        environments = store.environments()
        cells = [
            cell
            for cell in experiment.cells
            if cell.row in (arguments.models or [cell.row])
            and cell.dataset in (arguments.datasets or [cell.dataset])
        ]
        for flag, names, known in (
            ("--models", arguments.models, {cell.row for cell in experiment.cells}),
            ("--datasets", arguments.datasets, {cell.dataset for cell in experiment.cells}),
        ):
            if unknown := set(names or ()) - known:
                parser.error(f"{flag} must be among {sorted(known)}. Got {sorted(unknown)}.")
        other = {cell.dataset for cell in cells}.difference(GENERATED)
        if arguments.fresh and other:
            parser.error(
                "--fresh requires data sets that are generated from a seed. Got "
                f"{', '.join(sorted(other))}. Name others with --datasets."
            )
        with measuring(measure_trial, arguments.processes) as measure_trials:
            for cell in cells:
                if len(cell.configurations) > 1:
                    print(cell.dataset, cell.row, "is left out: it has several configurations")
                    continue
                trials = [
                    trial
                    for trial in experiment.trials_of(cell, cell.configurations[0])
                    if trial.identity in results
                ]
                if not trials:
                    continue
                measured = measure_trials(trials)
                seconds = float(np.mean([results[trial.identity].seconds for trial in trials]))
                found[cell.dataset][cell.row] = {
                    "trials": len(trials),
                    **{part: means([own[part] for own in measured]) for part in measured[0]},
                    "training_seconds": seconds,
                }
                print(cell.dataset, cell.row, found[cell.dataset][cell.row], flush=True)
    record = {
        "experiment": experiment.name,
        "draws": arguments.draws,
        "numbers": NUMBERS,
        "datasets": found,
        "environments": list(environments.values()),
    }
    write_file(arguments.output, (json.dumps(record, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
