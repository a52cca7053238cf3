"""Train a GAT on circular skip links, without colors and with `AddColorings`.

The graphs are 4-regular, of 41 nodes and without attributes, so that a GAT has the same output for
all of them. With random colors it can distinguish them. The network computes k colorings of each
graph and takes the maximum, as CLIP does. Each step draws new colorings. The test graphs are those
of another seed, and their probabilities are averaged over 16 draws.

    python examples/pyg_colorings.py  # a few minutes on one CPU core
    python examples/pyg_colorings.py --epochs 2 --copies 2  # a few seconds
"""

import argparse

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, global_mean_pool

from clipgnn import AddColorings
from clipgnn.datasets import circular_skip_links

NUM_NODES, NUM_CLASSES = 41, 10


class GAT(nn.Module):
    """Three layers of GAT on one-hot colors, and a maximum over colorings.

    Args:
        num_colors: number of colors; 0 for the attributes of the graphs instead, which are 1.
        hidden: channels of the hidden layers.
        heads: number of attention heads.
    """

    def __init__(self, num_colors: int, *, hidden: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.num_colors = num_colors
        widths = (max(1, num_colors), hidden, hidden)
        self.convs = nn.ModuleList(GATConv(width, hidden // heads, heads) for width in widths)
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in widths)
        self.head = nn.Sequential(
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, NUM_CLASSES)
        )

    def forward(self, batch: Batch) -> Tensor:
        """Compute the logits of each graph, `[graphs, classes]`."""
        if self.num_colors == 0:
            return self.head(self._embed(batch.x, batch))
        codes = functional.one_hot(batch.colors, self.num_colors).float()  # [nodes, k, colors]
        return self.head(torch.stack([self._embed(x, batch) for x in codes.unbind(1)]).amax(0))

    def _embed(self, x: Tensor, batch: Batch) -> Tensor:
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = norm(conv(x, batch.edge_index)).relu()
        return global_mean_pool(x, batch.batch)


def train(graphs: list[Data], k: int, epochs: int) -> GAT:
    """Train on graphs with k new colorings in each step; k=0 for no colors."""
    model = GAT(NUM_NODES if k else 0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        for batch in DataLoader(graphs, batch_size=32, shuffle=True):
            optimizer.zero_grad()
            functional.cross_entropy(model(colored(batch, k)), batch.y).backward()
            optimizer.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def accuracy(model: GAT, graphs: list[Data], k: int, draws: int = 16) -> float:
    """Share of correctly classified graphs, by probabilities averaged over draws."""
    batch = Batch.from_data_list(graphs)
    outputs = torch.stack([model(colored(batch, k)).softmax(1) for _ in range(draws)])
    return float((outputs.mean(0).argmax(1) == batch.y).float().mean())


def colored(batch: Batch, k: int) -> Batch:
    """Add k random colorings to each graph of a batch."""
    return AddColorings(k, num_colors=NUM_NODES)(batch) if k else batch


def main() -> None:
    """Print the accuracies without and with colors."""
    parser = argparse.ArgumentParser(description="GAT on circular skip links")
    parser.add_argument("--colorings", type=int, default=4, help="number k of colorings")
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--copies", type=int, default=15, help="graphs of each class")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    graphs, unseen = (
        circular_skip_links(seed, copies=options.copies).to_data_list()
        for seed in (options.seed, options.seed + 1)
    )
    for k in (0, options.colorings):
        torch.manual_seed(options.seed)
        model = train(graphs, k, options.epochs)
        print(
            f"{k} colorings: {accuracy(model, unseen, k):.1%} of {len(unseen)} graphs", flush=True
        )


if __name__ == "__main__":
    main()
