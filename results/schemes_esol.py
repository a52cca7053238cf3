"""Measure coloring schemes on solubilities of molecules: error, spread over draws, and time.

    python results/schemes_esol.py --esol ESOL.csv --output results/schemes-esol.json

Five folds, the same for all schemes; CLIPRegressor with its defaults but the number of epochs. The
spread is the standard deviation of a prediction over ten draws of colorings with one network.
"""

import argparse
import csv
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from clipgnn import CLIPRegressor, PackedGraphs
from clipgnn.experiments.machine import installed_versions, this_machine
from clipgnn.writing import check_writable, write_file

SCHEMES: dict[str, dict[str, Any]] = {
    "0-CLIP": {"num_colorings": 0},
    "random, k = 1": {"num_colorings": 1},
    "random, k = 4": {"num_colorings": 4},
    "refined, k = 1": {"coloring": "refined", "num_colorings": 1},
    "individualized, k = 4": {"coloring": "individualized", "num_colorings": 4},
    "canonical": {"coloring": "canonical", "num_colorings": 1},
}
FOLDS, DRAWS = 5, 10


def measure(
    graphs: PackedGraphs, y: np.ndarray, parameters: dict[str, Any], epochs: int
) -> dict[str, Any]:
    """Return errors of the folds, the mean spread over draws, and the time of training."""
    errors, averaged, spreads, seconds = [], [], [], 0.0
    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(y):
        began = time.perf_counter()
        model = CLIPRegressor(epochs=epochs, n_draws=DRAWS, random_state=0, **parameters)
        model.fit(graphs[train], y[train])
        seconds += time.perf_counter() - began
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # some test molecules need more colors than those trained
            draws = model._predictions(graphs[test]).reshape(-1, len(test))
        errors.append(float(np.sqrt(np.mean((draws[0] - y[test]) ** 2))))
        averaged.append(float(np.sqrt(np.mean((draws.mean(0) - y[test]) ** 2))))
        spreads.append(float(draws.std(0).mean()))
    return {
        "rmse": errors,
        "rmse_of_the_mean_of_draws": averaged,
        "spread": spreads,
        "seconds": seconds,
    }


def main() -> None:
    """Measure all schemes, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--esol", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    check_writable(arguments.output)
    with arguments.esol.open(newline="") as file:
        rows = list(csv.DictReader(file))
    y = np.array([float(row["log_solubility"]) for row in rows])
    graphs = PackedGraphs.from_smiles([row["smiles"] for row in rows])
    found = {
        name: measure(graphs, y, parameters, arguments.epochs)
        for name, parameters in SCHEMES.items()
    }
    record = {
        "epochs": arguments.epochs,
        "schemes": found,
        "versions": dict(installed_versions()),
        "machine": dict(this_machine("cpu")),
    }
    write_file(arguments.output, (json.dumps(record, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
