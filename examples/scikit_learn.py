"""A user of scikit-learn: cross-validation, a grid search, a pipeline and calibrated probabilities.

python examples/scikit_learn.py [--data MUTAG] [--epochs 20]

Without --data, the graphs are rings with and without a chord.
"""

import argparse

import networkx as nx
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from clipgnn import CLIPClassifier, CLIPEmbedding, load_tu


def rings(number: int) -> tuple[list[nx.Graph], list[str]]:
    """Rings of different sizes, every second one with a chord."""
    graphs = []
    for place in range(number):
        graph = nx.cycle_graph(6 + place % 10)
        if place % 2:
            graph.add_edge(0, 3)
        graphs.append(graph)
    return graphs, ["ring", "chord"] * (number // 2)


def main() -> None:
    """Evaluate CLIP with the tools of scikit-learn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="name of a TU data set instead of rings")
    parser.add_argument("--epochs", type=int, default=20)
    arguments = parser.parse_args()
    if arguments.data is None:
        graphs, y = rings(60)
    else:
        graphs = load_tu(arguments.data)  # a PackedGraphs, which can be indexed like an array
        y = graphs.targets.numpy()
    options = {
        "epochs": arguments.epochs,
        "num_colors": 30,
        "hidden_channels": 16,
        "learning_rate": 0.01,
        "random_state": 0,
    }

    scores = cross_val_score(CLIPClassifier(**options), graphs, y, cv=3)
    print(f"accuracy over 3 folds: {scores.mean():.2f} ± {scores.std():.2f}")

    search = GridSearchCV(CLIPClassifier(**options), {"num_colorings": [0, 4]}, cv=3)
    print(f"best number of colorings: {search.fit(graphs, y).best_params_['num_colorings']}")

    # Vectors of graphs for any other model; without targets the weights stay random.
    pipeline = make_pipeline(CLIPEmbedding(**options), StandardScaler(), SVC())
    print(f"vectors and a support vector machine: {pipeline.fit(graphs, y).score(graphs, y):.2f}")

    calibrated = CalibratedClassifierCV(CLIPClassifier(**options), cv=3).fit(graphs, y)
    print(f"calibrated probabilities: {calibrated.predict_proba(graphs[:2]).round(2).tolist()}")


if __name__ == "__main__":
    main()
