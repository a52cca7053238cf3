"""Measure whether the spread of predictions over networks and colorings predicts errors.

    python results/spread.py --ptc --esol ESOL.csv --output results/spread.json

PTC_MR: ten folds of classification; how well an uncertainty ranks the wrong test predictions before
the right ones (area under the ROC curve, 0.5 is chance). ESOL: ten folds of regression; Spearman
correlation of an uncertainty with the absolute error. Uncertainties: the spread over draws of
colorings with one network, the spread over networks with one draw, over both, and for
classification 1 - the largest probability, which needs no spread.
"""

import argparse
import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

from clipgnn import CLIPClassifier, CLIPRegressor, PackedGraphs, load_tu, stratified_folds
from clipgnn.experiments.machine import installed_versions, this_machine
from clipgnn.writing import check_writable, write_file

MEMBERS, DRAWS, FOLDS = 5, 10, 10
"""Networks, draws of colorings, and folds."""

PACKAGES = ("clipgnn", "clipgnn-source", "python", "torch", "scikit-learn", "rdkit")

Values = NDArray[np.float64]


def spreads(outputs: Values) -> dict[str, Values]:
    """Standard deviations of outputs `[networks, draws, graphs]`, by what varies."""
    return {
        "colorings": outputs[0].std(axis=0),
        "networks": outputs[:, 0].std(axis=0),
        "both": outputs.reshape(-1, outputs.shape[2]).std(axis=0),
    }


def of_classes(epochs: int, seed: int) -> dict[str, Any]:
    """Classification of PTC_MR."""
    graphs = load_tu("PTC_MR")
    wrong = np.zeros(len(graphs), dtype=bool)
    found: dict[str, Values] = {}
    accuracy = {"one network, one draw": 0.0, "all": 0.0}
    for fold, (train, test) in enumerate(stratified_folds(graphs.targets, FOLDS, seed=seed)):
        model = CLIPClassifier(
            n_ensemble=MEMBERS, n_draws=DRAWS, epochs=epochs, random_state=seed + fold
        ).fit(graphs[train], graphs.targets[train].numpy())
        right = graphs.targets[test].numpy()
        # [networks, draws, graphs], probability of the second class
        second = model._probabilities(graphs[test]).reshape(MEMBERS, DRAWS, len(test), -1)[..., 1]
        mean = second.mean(axis=(0, 1))
        wrong[test] = (mean > 0.5) != right
        accuracy["all"] += float((~wrong[test]).sum()) / len(graphs)
        accuracy["one network, one draw"] += float(((second[0, 0] > 0.5) == right).sum()) / len(
            graphs
        )
        for name, own in {
            **spreads(second),
            "1 - largest probability": 1 - np.maximum(mean, 1 - mean),
        }.items():
            found.setdefault(name, np.zeros(len(graphs)))[test] = own
    areas = {name: float(roc_auc_score(wrong, own)) for name, own in found.items()}
    return {"data": "PTC_MR", "accuracy": accuracy, "area": areas, **_kept(found, wrong)}


def of_numbers(path: Path, epochs: int, seed: int) -> dict[str, Any]:
    """Regression of ESOL."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    smiles = [row["smiles"] for row in rows]
    targets = np.array([float(row["log_solubility"]) for row in rows])
    graphs = PackedGraphs.from_smiles(smiles)
    errors = np.zeros(len(targets))
    single = np.zeros(len(targets))
    found: dict[str, Values] = {}
    for fold, (train, test) in enumerate(
        KFold(FOLDS, shuffle=True, random_state=seed).split(smiles)
    ):
        model = CLIPRegressor(
            n_ensemble=MEMBERS, n_draws=DRAWS, epochs=epochs, random_state=seed + fold
        ).fit(graphs[train], targets[train])
        outputs = model._predictions(graphs[test]).reshape(MEMBERS, DRAWS, len(test))
        errors[test] = np.abs(outputs.mean(axis=(0, 1)) - targets[test])
        single[test] = np.abs(outputs[0, 0] - targets[test])
        for name, own in spreads(outputs).items():
            found.setdefault(name, np.zeros(len(targets)))[test] = own
    rmse = {
        "one network, one draw": float(np.sqrt(np.mean(single**2))),
        "all": float(np.sqrt(np.mean(errors**2))),
    }
    correlations = {name: float(spearmanr(own, errors).statistic) for name, own in found.items()}
    thirds = {name: _thirds(own, errors) for name, own in found.items()}
    return {
        "data": "ESOL",
        "rmse": rmse,
        "correlation": correlations,
        "rmse_by_third_of_spread": thirds,
        **_kept(found, errors),
    }


def _thirds(spread: Values, errors: Values) -> list[float]:
    """Root mean squared error of the third of graphs with the least spread, and of the others."""
    parts = np.array_split(np.argsort(spread), 3)
    return [float(np.sqrt(np.mean(errors[part] ** 2))) for part in parts]


def _kept(found: Mapping[str, Values], errors: NDArray[Any]) -> dict[str, Any]:
    rounded = {name: np.round(own, 5).tolist() for name, own in found.items()}
    return {"uncertainty": rounded, "error": np.round(errors.astype(float), 5).tolist()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ptc", action="store_true", help="measure PTC_MR")
    parser.add_argument("--esol", type=Path, help="measure ESOL: a CSV file, as in molecules.py")
    parser.add_argument("--epochs", type=int, default=CLIPRegressor().epochs)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    check_writable(str(chosen.output))
    measured = []
    if chosen.ptc:
        measured.append(of_classes(chosen.epochs, chosen.seed))
    if chosen.esol is not None:
        measured.append(of_numbers(chosen.esol, chosen.epochs, chosen.seed))
    for own in measured:
        print({name: value for name, value in own.items() if name not in ("uncertainty", "error")})
    described = {
        "command": "python results/spread.py"
        + (" --ptc" if chosen.ptc else "")
        + (f" --esol {chosen.esol.name}" if chosen.esol else "")
        + f" --epochs {chosen.epochs} --seed {chosen.seed}",
        "settings": {"networks": MEMBERS, "draws": DRAWS, "folds": FOLDS},
        "machine": dict(this_machine("cpu")),
        "versions": {
            name: version for name, version in installed_versions().items() if name in PACKAGES
        },
        "measured": measured,
    }
    write_file(str(chosen.output), (json.dumps(described) + "\n").encode())


if __name__ == "__main__":
    main()
