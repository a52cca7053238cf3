"""CLIP with Lightning: the trainer has the loop, checkpoints and early stopping.

pip install lightning && python examples/lightning_module.py [--epochs 10]
"""

import argparse

import lightning
import torch
from torch.nn import functional
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from clipgnn import CLIP, hold_out
from clipgnn.datasets import circular_skip_links


class Classifier(lightning.LightningModule):
    """A classifier of graphs."""

    def __init__(self, model: CLIP, learning_rate: float = 0.01) -> None:
        super().__init__()
        self.model = model
        self.learning_rate = learning_rate

    def training_step(self, batch: Batch, number: int) -> torch.Tensor:
        """Return the loss of a batch."""
        loss = functional.cross_entropy(self.model(batch.x, batch.edge_index, batch.batch), batch.y)
        self.log("train_loss", loss, batch_size=batch.num_graphs)
        return loss

    def validation_step(self, batch: Batch, number: int) -> None:
        """Log the accuracy on validation graphs."""
        outputs = self.model(batch.x, batch.edge_index, batch.batch)
        accuracy = (outputs.argmax(1) == batch.y).float().mean()
        self.log("accuracy", accuracy, batch_size=batch.num_graphs, prog_bar=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the optimizer."""
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate)


def main() -> None:
    """Train on circular skip links, ten classes of 4-regular graphs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()
    lightning.seed_everything(0)
    graphs = circular_skip_links()
    training, validation = hold_out(torch.arange(len(graphs)), graphs.targets, 0.2, seed=0)
    model = CLIP.from_graphs(graphs, num_colorings=8, num_layers=5, hidden_channels=16)
    trainer = lightning.Trainer(
        max_epochs=arguments.epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(
        Classifier(model),
        DataLoader(graphs[training].to_data_list(), batch_size=32, shuffle=True),
        DataLoader(graphs[validation].to_data_list(), batch_size=32),
    )
    print(f"validation accuracy: {trainer.callback_metrics['accuracy']:.2f}")


if __name__ == "__main__":
    main()
