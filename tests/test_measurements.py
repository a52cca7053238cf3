"""The scripts in results/ that compare with chemprop and measure the spread of predictions."""

import json
from pathlib import Path

import numpy as np
import pytest
from results import molecules, spread

pytestmark = pytest.mark.needs("rdkit")

SMILES = [
    f"{chain}{ring}" for chain in ("C", "CC", "CCC", "CO") for ring in ("c1ccccc1", "C1CCCC1")
]
SMILES += ["C" * number for number in range(1, 13)]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A CSV file of 20 molecules."""
    path = tmp_path / "small.csv"
    rows = [f"{own},{len(own)}.5" for own in SMILES]
    path.write_text("smiles,log_solubility\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("split", list(molecules.SPLITS))
def test_splits_are_partitions(split: str) -> None:
    parts = molecules.SPLITS[split](SMILES, 0)
    assert sorted(own for part in parts.values() for own in part) == list(range(len(SMILES)))
    assert molecules.SPLITS[split](SMILES, 0) == parts
    assert molecules.SPLITS[split](SMILES, 1) != parts


def test_molecules_of_one_scaffold_stay_together() -> None:
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    for seed in range(5):
        parts = molecules.scaffold_split(SMILES, seed)
        found = [{MurckoScaffoldSmiles(SMILES[own]) for own in part} for part in parts.values()]
        assert not found[0] & found[1]
        assert not (found[0] | found[1]) & found[2]


def test_a_run_of_the_regressor(table: Path) -> None:
    parts = {"train": list(range(4, 20)), "val": [], "test": [0, 1, 2, 3]}
    run = molecules.run_clip(table, parts, seed=0)
    assert run["rmse"] > 0
    assert run["num_colorings"] in (1, 16)
    json.dumps(run)


def test_the_summary_has_ratios_of_means() -> None:
    runs = [
        {"split": "random", "system": system, "seed": seed, "rmse": rmse + seed, "seconds": seconds}
        for system, rmse, seconds in (("clip", 0.5, 2.0), ("chemprop", 1.5, 8.0))
        for seed in (0, 1)
    ]
    [_, _, line] = molecules.summary(runs).splitlines()
    assert line == "| random | 1.000 ± 0.707 | 2.000 ± 0.707 | 0.50 | 2.0 | 8.0 | 4.0 |"


def test_seconds_of_a_log() -> None:
    first = "2026-01-01T00:00:58 - INFO:chemprop.cli.main - a"
    log = f"{first}\nx\n2026-01-01T00:01:10 - INFO:chemprop.cli.train - b"
    assert molecules._logged_seconds(log) == 12


def test_spreads_of_networks_and_draws() -> None:
    outputs = np.array([[[0.0], [2.0]], [[4.0], [6.0]]])  # two networks, two draws, one graph
    found = {name: own.tolist() for name, own in spread.spreads(outputs).items()}
    assert found == {"colorings": [1.0], "networks": [2.0], "both": [pytest.approx(np.sqrt(5))]}


def test_errors_by_thirds_of_the_spread() -> None:
    errors = np.array([3.0, 1.0, 2.0, 3.0, 1.0, 2.0])
    assert spread._thirds(errors, errors) == [1.0, 2.0, 3.0]
