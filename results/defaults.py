"""Measure the defaults of the estimators against other settings, on validation graphs.

    python results/defaults.py --esol ESOL.csv --output results/defaults.json

ESOL: three random and three scaffold splits of molecules.py, of seeds that the comparison with
chemprop does not use; root mean squared error on the validation molecules. MUTAG and PTC_MR: ten
folds, whose test graphs are the validation graphs here; accuracy. Numbers are means over the last
ten epochs, with the standard error over splits.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clipgnn import ModelSpec, PackedGraphs, Recipe, Split, load_tu, stratified_folds, train
from clipgnn.experiments.machine import installed_versions, this_machine
from clipgnn.writing import check_writable, write_file

sys.path.insert(0, str(Path(__file__).parents[1]))
from results.molecules import SPLITS, read_molecules

LAST = 10
"""Number of epochs at the end whose mean is taken."""

SEEDS = (100, 101, 102)
"""Seeds of the splits of ESOL."""

DEFAULT = {"epochs": 50, "halve_every": 10}

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "ESOL": [{**DEFAULT, "batch_size": 64, "num_colorings": k} for k in (0, 1, 4)],
    "MUTAG": [
        {**DEFAULT, "batch_size": 12, "num_colorings": 1},
        {**DEFAULT, "batch_size": 32, "num_colorings": 1},
        {"epochs": 100, "halve_every": 50, "batch_size": 32, "num_colorings": 1},
    ],
    "PTC_MR": [
        {**DEFAULT, "batch_size": 22, "num_colorings": 1},
        {"epochs": 100, "halve_every": 50, "batch_size": 32, "num_colorings": 1},
    ],
}
"""Settings by data set; the first of MUTAG and of PTC_MR has the batches of `batch_size="auto"`."""

PACKAGES = ("clipgnn", "clipgnn-source", "python", "torch", "rdkit", "numpy")


def molecules(path: Path) -> tuple[PackedGraphs, list[Split], float]:
    """Graphs with standardized targets, splits, and the scale of the targets."""
    smiles, targets = read_molecules(path)
    scale = float(targets.std())
    standardized = torch.tensor((targets - targets.mean()) / scale, dtype=torch.float32)
    parts = [split(smiles, seed) for split in SPLITS.values() for seed in SEEDS]
    splits = [
        Split(torch.tensor(own["train"]), validation=torch.tensor(own["val"])) for own in parts
    ]
    return PackedGraphs.from_smiles(smiles, y=standardized[:, None]), splits, scale


def classes(name: str) -> tuple[PackedGraphs, list[Split], float]:
    """Graphs, and ten folds."""
    graphs = load_tu(name)
    folds = stratified_folds(graphs.targets, 10, seed=7)
    return graphs, [Split(training, validation=test) for training, test in folds], 1.0


def measure(
    graphs: PackedGraphs, splits: Sequence[Split], scale: float, setting: dict[str, Any]
) -> dict[str, Any]:
    """Train one network for each split."""
    recipe = {name: value for name, value in setting.items() if name != "num_colorings"}
    if graphs.targets.is_floating_point():
        recipe |= {"loss": "squared-error", "metric": "rmse"}
    spec = ModelSpec("clip", {"num_colorings": setting["num_colorings"]})
    trained = train(graphs, spec, Recipe(**recipe), splits, range(len(splits)), "cpu")
    curves = np.array([own.history.validation_score for own in trained])
    return {**setting, "scores": (curves[:, -LAST:].mean(axis=1) * scale).tolist()}


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--esol", type=Path, required=True, help="CSV file, as in molecules.py")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    check_writable(str(arguments.output))
    torch.set_num_threads(1)
    described: dict[str, Any] = {
        "command": "python results/defaults.py --esol ESOL.csv",
        "machine": dict(this_machine("cpu")),
        "versions": {
            name: version for name, version in installed_versions().items() if name in PACKAGES
        },
        "measured": {},
    }
    for name, settings in SETTINGS.items():
        data = molecules(arguments.esol) if name == "ESOL" else classes(name)
        described["measured"][name] = []
        for setting in settings:
            result = measure(*data, setting)
            described["measured"][name].append(result)
            parts = np.array_split(np.array(result["scores"]), 2 if name == "ESOL" else 1)
            shown = [f"{own.mean():.3f} ± {own.std(ddof=1) / len(own) ** 0.5:.3f}" for own in parts]
            print(name, setting, *shown, flush=True)
            write_file(str(arguments.output), (json.dumps(described, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
