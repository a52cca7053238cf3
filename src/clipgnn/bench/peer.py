"""k-CLIP implemented with PyTorch Geometric, as a peer for speed comparisons.

The same network as `clipgnn.CLIP`, in the usual style of PyG: `MessagePassing` layers, a
`DataLoader`, every graph repeated k times in the batch, colors as one-hot columns, `BatchNorm1d`.
Colorings are drawn for the whole batch at once, because a loop over graphs would be slower.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import MessagePassing, global_add_pool

from clipgnn.bench.setting import BATCH_SIZE, SEED, Setting, splits_of
from clipgnn.coloring.groups import Partition, color_groups
from clipgnn.graphs.packed import PackedGraphs


def _mlp(in_channels: int, hidden: int, out_channels: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(in_channels, hidden),
        nn.BatchNorm1d(hidden),
        nn.ReLU(),
        nn.Linear(hidden, out_channels),
    )


class PeerLayer(MessagePassing):  # type: ignore[misc]
    """Layer of Eq. (9) with PyG's message passing."""

    def __init__(self, in_channels: int, hidden: int) -> None:
        super().__init__(aggr="add")
        self.phi = _mlp(in_channels, hidden, hidden)
        self.psi = _mlp(in_channels + hidden, hidden, hidden)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Apply ψ to a node and the sum of φ over its neighbors."""
        received = self.propagate(edge_index, x=self.phi(x))
        return self.psi(torch.cat([x, received], dim=1))


class PeerCLIP(nn.Module):
    """k-CLIP on a batch in which every graph is repeated k times."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden: int,
        num_layers: int,
        num_colorings: int,
        num_colors: int,
    ) -> None:
        super().__init__()
        self.num_colorings = num_colorings
        self.num_colors = num_colors
        widths = [in_channels + num_colors] + [hidden] * (num_layers - 1)
        self.layers = nn.ModuleList(PeerLayer(width, hidden) for width in widths)
        self.readout = _mlp(hidden, hidden, out_channels)

    @classmethod
    def of(cls, setting: Setting, graphs: PackedGraphs) -> "PeerCLIP":
        """Return the network of a setting."""
        groups = color_groups(graphs.x, graphs.graph_of_node)
        torch.manual_seed(SEED)
        return cls(
            graphs.in_channels,
            graphs.num_classes,
            hidden=setting.hidden_channels,
            num_layers=setting.num_layers,
            num_colorings=setting.num_colorings,
            num_colors=int(Partition.of(groups, graphs.graph_of_node).sizes.max()),
        )

    def forward(self, batch: Batch) -> Tensor:
        """Return the output for each graph, `[graphs, classes]`."""
        k, nodes, graphs = self.num_colorings, batch.num_nodes, batch.num_graphs
        copy = torch.arange(k, device=batch.x.device)
        edge_index = (batch.edge_index[:, None] + nodes * copy[:, None]).flatten(1)
        graph = (batch.batch + graphs * copy[:, None]).flatten()
        colors = self._colors(batch).flatten()
        x = torch.cat([batch.x.repeat(k, 1), functional.one_hot(colors, self.num_colors)], dim=1)
        for layer in self.layers:
            x = layer(x, edge_index)
        pooled = global_add_pool(x, graph, size=graphs * k).view(k, graphs, -1)
        return self.readout(pooled.amax(0))

    def _colors(self, batch: Batch) -> Tensor:
        groups = color_groups(batch.x, batch.batch)
        group = torch.unique(batch.batch * (int(groups.max()) + 1) + groups, return_inverse=True)[1]
        keys = torch.rand(self.num_colorings, batch.num_nodes, device=group.device)
        order = torch.argsort(keys + group, dim=1)
        sizes = torch.bincount(group)
        starts = (sizes.cumsum(0) - sizes).repeat_interleave(sizes)
        rank = torch.arange(batch.num_nodes, device=group.device) - starts
        return torch.empty_like(order).scatter_(1, order, rank.expand_as(order))


@torch.no_grad()
def predict(model: PeerCLIP, graphs: Sequence[Data], batch_size: int) -> Tensor:
    """Return the outputs for graphs in evaluation mode, `[graphs, classes]`."""
    model.eval()
    device = next(model.parameters()).device
    loader = DataLoader(graphs, batch_size=batch_size)
    return torch.cat([model(batch.to(device)) for batch in loader])


class Peer:
    """Training of one fold of cross-validation, epoch by epoch.

    Args:
        graphs: graphs as `Data` objects.
        train: numbers of the training graphs.
        test: numbers of the test graphs.
        model: the network, on its device.
        batch_size: number of graphs of a batch.
    """

    def __init__(
        self,
        graphs: Sequence[Data],
        train: Tensor,
        test: Tensor,
        model: PeerCLIP,
        batch_size: int,
    ) -> None:
        self.model = model
        self.device = next(model.parameters()).device
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        chosen = [graphs[number] for number in train.tolist()]
        held_out = [graphs[number] for number in test.tolist()]
        self.train_loader = DataLoader(chosen, batch_size=batch_size, shuffle=True)
        self.test_loader = DataLoader(held_out, batch_size=batch_size)

    @classmethod
    def of(cls, setting: Setting, graphs: PackedGraphs, device: torch.device) -> "Peer":
        """Return the training of the first fold in a setting."""
        split = splits_of(graphs)[0]
        model = PeerCLIP.of(setting, graphs).to(device)
        return cls(graphs.to_data_list(), split.train, split.test, model, BATCH_SIZE)

    def epoch(self) -> float:
        """Train for an epoch and return the test accuracy."""
        self.model.train()
        for batch in self.train_loader:
            batch = batch.to(self.device)
            self.optimizer.zero_grad()
            functional.cross_entropy(self.model(batch), batch.y).backward()
            self.optimizer.step()
        self.model.eval()
        correct = torch.zeros((), device=self.device)
        total = 0
        with torch.no_grad():
            for batch in self.test_loader:
                batch = batch.to(self.device)
                correct += (self.model(batch).argmax(1) == batch.y).sum()
                total += batch.num_graphs
        return float(correct) / total
