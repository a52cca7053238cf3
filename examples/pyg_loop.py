"""A user of PyTorch Geometric: CLIP in a training loop, and what its prediction depends on.

python examples/pyg_loop.py [--epochs 40]
"""

import argparse

import torch
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.explain import GNNExplainer
from torch_geometric.loader import DataLoader

from clipgnn import CLIP, Explainer


def rings(nodes: int, count: int) -> Data:
    """Rings of equal size without attributes; the class is whether there is more than one."""
    source = torch.arange(nodes)
    size = nodes // count
    target = (source + 1) % size + source // size * size
    edge_index = torch.stack([torch.cat([source, target]), torch.cat([target, source])])
    return Data(x=torch.ones(nodes, 1), edge_index=edge_index, y=torch.tensor([count - 1]))


def main() -> None:
    """Train on one ring against two, which plain message passing cannot distinguish."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    graphs = [rings(nodes, count) for nodes in range(6, 16, 2) for count in (1, 2)]
    loader = DataLoader(graphs * 4, batch_size=10, shuffle=True)

    for name, colorings in (("message passing", 0), ("CLIP", 8)):
        model = CLIP(1, 2, num_colorings=colorings, num_colors=14, hidden_channels=16)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(arguments.epochs):
            for batch in loader:
                optimizer.zero_grad()
                logits = model(batch.x, batch.edge_index, batch.batch)
                functional.cross_entropy(logits, batch.y).backward()
                optimizer.step()
        model.eval()
        found = [model(own.x, own.edge_index).argmax(1) == own.y for own in graphs]
        print(f"{name}: {torch.cat(found).float().mean():.0%} of the graphs")

    explainer = Explainer(
        model,
        algorithm=GNNExplainer(epochs=50, lr=0.1),
        explanation_type="model",
        model_config={
            "mode": "multiclass_classification",
            "task_level": "graph",
            "return_type": "raw",
        },
        edge_mask_type="object",
        seed=0,
    )
    mask = explainer(graphs[1].x, graphs[1].edge_index).edge_mask
    print("importance of the edges of two triangles:", [round(own, 2) for own in mask.tolist()])


if __name__ == "__main__":
    main()
