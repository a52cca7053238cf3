"""CLIP with skorch: its callbacks and schedules around the network.

pip install skorch && python examples/skorch_net.py [--epochs 10]
"""

import argparse

import torch
from skorch import NeuralNetClassifier
from skorch.dataset import ValidSplit
from torch_geometric.data import Batch, Data

from clipgnn import CLIP, PackedGraphs
from clipgnn.datasets import circular_skip_links


class OfBatches(torch.nn.Module):
    """CLIP on a batch of PyG, which skorch passes as one argument."""

    def __init__(self, graphs: PackedGraphs, **options: object) -> None:
        super().__init__()
        self.model = CLIP.from_graphs(graphs, **options)

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the logits of the graphs."""
        return self.model(batch.x, batch.edge_index, batch.batch)


def collated(rows: list[tuple[Data, int]]) -> tuple[Batch, torch.Tensor]:
    """Join graphs and their classes."""
    graphs, classes = zip(*rows, strict=True)
    return Batch.from_data_list(graphs), torch.tensor(classes)


class Graphs(torch.utils.data.Dataset):
    """Graphs with their classes."""

    def __init__(self, graphs: PackedGraphs) -> None:
        self.graphs, self.classes = graphs.to_data_list(), graphs.targets.tolist()

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, place: int) -> tuple[Data, int]:
        return self.graphs[place], self.classes[place]


def main() -> None:
    """Train on circular skip links, ten classes of 4-regular graphs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    graphs = circular_skip_links()
    net = NeuralNetClassifier(
        OfBatches,
        module__graphs=graphs,
        module__num_colorings=8,
        module__num_layers=5,
        module__hidden_channels=16,
        criterion=torch.nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=0.01,
        batch_size=32,
        max_epochs=arguments.epochs,
        iterator_train__collate_fn=collated,
        iterator_train__shuffle=True,
        iterator_valid__collate_fn=collated,
        train_split=ValidSplit(0.2, stratified=True, random_state=0),
        classes=list(range(10)),
        verbose=0,
    )
    net.fit(Graphs(graphs), graphs.targets.numpy())
    print(f"validation accuracy: {net.history[-1, 'valid_acc']:.2f}")


if __name__ == "__main__":
    main()
