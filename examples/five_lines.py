"""The five lines of the README."""

import networkx

from clipgnn import CLIPClassifier

kinds = {"ring": networkx.cycle_graph, "chain": networkx.path_graph}
graphs = [make(nodes) for nodes in range(4, 14) for make in kinds.values()]  # or SMILES, PyG
model = CLIPClassifier(epochs=50, random_state=0).fit(graphs, [*kinds] * 10)
print(model.predict([networkx.cycle_graph(9)]))  # ['ring']; predict_proba has probabilities
