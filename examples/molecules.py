"""A chemist: from a CSV file of SMILES to a model with uncertainty, saved in one file.

python examples/molecules.py [--data ESOL.csv --target log_solubility] [--epochs 50]

Without --data, the file is written first: chains of fragments with their computed log P.
"""

import argparse
import csv
from itertools import product
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from rdkit import Chem
from rdkit.Chem import Crippen
from sklearn.model_selection import train_test_split

from clipgnn import CLIPRegressor


def write_example(path: Path) -> None:
    """Write SMILES of 256 molecules and their log P by Crippen's method."""
    fragments = ["C", "C(O)", "C(=O)N", "c1ccc(cc1)"]
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["smiles", "log_p"])
        for chain in product(fragments, repeat=4):
            smiles = "C" + "".join(chain) + "F"
            rows.writerow([smiles, Crippen.MolLogP(Chem.MolFromSmiles(smiles))])


def main() -> None:
    """Train, evaluate and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="CSV file with a column smiles")
    parser.add_argument("--target", default="log_p", help="column to predict")
    parser.add_argument("--epochs", type=int, default=50)
    arguments = parser.parse_args()
    folder = Path(mkdtemp())
    if arguments.data is None:
        arguments.data = folder / "molecules.csv"
        write_example(arguments.data)
    with arguments.data.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    smiles = [row["smiles"] for row in rows]
    targets = np.array([float(row[arguments.target]) for row in rows])

    train, test, y_train, y_test = train_test_split(smiles, targets, test_size=0.2, random_state=0)
    # More colors than the training molecules need, for larger ones.
    model = CLIPRegressor(n_ensemble=3, num_colors=32, epochs=arguments.epochs, random_state=0)
    model.fit(train, y_train)
    predicted, spread = model.predict(test), model.predict_spread(test)
    error = np.sqrt(np.mean((predicted - y_test) ** 2))
    print(f"{len(train)} training molecules, RMSE on {len(test)} others: {error:.2f}")
    for own in np.argsort(spread)[-3:]:
        print(f"least sure: {test[own]}: {predicted[own]:.2f} ± {spread[own]:.2f}")

    model.save(folder / "molecules.safetensors")
    loaded = CLIPRegressor.load(folder / "molecules.safetensors")
    print(f"ethanol: {loaded.predict(['CCO'])[0]:.2f}")
    [explanation] = loaded.explain(["CCO"])  # what the prediction loses without an atom
    for atom, importance in zip("CCO", explanation.node_mask[:, 0].tolist(), strict=True):
        print(f"  without {atom}: {-importance:+.2f}")


if __name__ == "__main__":
    main()
