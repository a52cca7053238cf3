"""A network scientist: which process has grown a network? From networkx graphs to a saved model.

python examples/networks.py [--graphs 60] [--epochs 60]
"""

import argparse
from pathlib import Path
from tempfile import mkdtemp

import networkx as nx
from sklearn.metrics import classification_report
from sklearn.model_selection import train_test_split

from clipgnn import CLIPClassifier


def grown_networks(number: int) -> tuple[list[nx.Graph], list[str]]:
    """Networks of 20 to 39 nodes with similar numbers of edges; the strings are their classes."""
    graphs, names = [], []
    for seed in range(number):
        nodes = 20 + seed % 20
        graphs.append(nx.barabasi_albert_graph(nodes, 2, seed=seed))
        graphs.append(nx.watts_strogatz_graph(nodes, 4, 0.1, seed=seed))
        graphs.append(nx.gnm_random_graph(nodes, 2 * nodes, seed=seed))
        names += ["preferential attachment", "small world", "random"]
    return [with_roles(graph) for graph in graphs], names


def with_roles(graph: nx.Graph) -> nx.Graph:
    """Name hubs. Attributes are found by name; strings and numbers can be mixed."""
    for node, degree in graph.degree():
        graph.nodes[node]["role"] = "hub" if degree > 6 else "other"
    return graph


def main() -> None:
    """Train, evaluate, save and load."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=int, default=60, help="networks of each kind")
    parser.add_argument("--epochs", type=int, default=60)
    arguments = parser.parse_args()
    graphs, names = grown_networks(arguments.graphs)
    train, test, train_names, test_names = train_test_split(
        graphs, names, test_size=0.3, stratify=names, random_state=0
    )
    model = CLIPClassifier(num_colorings=4, num_colors=40, epochs=arguments.epochs, random_state=0)
    model.fit(train, train_names)
    print(classification_report(test_names, model.predict(test), zero_division=0))

    path = Path(mkdtemp()) / "growth.safetensors"
    model.save(path)
    loaded = CLIPClassifier.load(path)
    lattice = with_roles(nx.watts_strogatz_graph(30, 4, 0))
    [probabilities] = loaded.set_params(n_draws=5).predict_proba([lattice])
    for name, probability in zip(loaded.classes_, probabilities, strict=True):
        print(f"a ring lattice of 30 nodes, {name}: {probability:.2f}")

    [explanation] = loaded.explain(test[:1])  # what the prediction loses without a node
    node = int(explanation.node_mask.argmax())
    print(f"{loaded.predict(test[:1])[0]}: most important is node {node}, {test[0].nodes[node]}")


if __name__ == "__main__":
    main()
