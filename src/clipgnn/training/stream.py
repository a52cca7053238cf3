"""Training graphs that are read from disk, one window after the other.

In every epoch, blocks of `BLOCK_GRAPHS` consecutive graphs are put in a new random order. A window
has the graphs of the next blocks, in a random order: graphs of one batch come from all blocks of a
window, and two graphs that are neighbors on disk are in the same window. The next window is read
while the current one is used.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.seeds import as_signed
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.nn.network import Network
from clipgnn.ops.hashing import hashed_integers
from clipgnn.ops.pointers import expand_segments
from clipgnn.parameters import Recipe
from clipgnn.training.feed import Feed
from clipgnn.training.losses import check_targets
from clipgnn.training.windows import Portion, Window, cut_by_nodes, num_steps

BLOCK_GRAPHS = 256
"""Number of consecutive graphs that are read together."""

WINDOW_SIZE = 2**21
"""Number of nodes and edges of a window, if graphs are not larger."""


class TrainingGraphs:
    """Which graphs of a graph set are trained on: some of them, or all but some.

    Args:
        num_graphs: number of graphs of the graph set.
        chosen: the training graphs; None for all but those in `excluded`.
        excluded: graphs that are not trained on, ascending.
    """

    def __init__(self, num_graphs: int, chosen: Tensor | None, excluded: Tensor) -> None:
        self._chosen = None if chosen is None else chosen.sort().values
        # Number of training graphs before each excluded one.
        self._before = excluded - torch.arange(excluded.numel())
        self._count = num_graphs - excluded.numel() if chosen is None else chosen.numel()

    def __len__(self) -> int:
        return self._count

    def ids(self, positions: Tensor) -> Tensor:
        """Indices of the training graphs at positions from 0 to their number."""
        if self._chosen is not None:
            return self._chosen[positions]
        return positions + torch.searchsorted(self._before, positions, right=True)


class Streamed(Feed):
    """Training graphs on disk, for one member.

    Args:
        stored: the graph set.
        train: the training graphs.
        network: the network that is trained.
        recipe: the training recipe.
        seed: the seed of the member.
        device: device of the training.
        dtype: dtype of floats.
    """

    def __init__(
        self,
        stored: StoredGraphs,
        train: TrainingGraphs,
        network: Network,
        recipe: Recipe,
        seed: int,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        self.stored, self.train, self.network, self.recipe = stored, train, network, recipe
        self.device, self.dtype = device, dtype
        self.seed = torch.tensor([as_signed(seed)])
        self.window_graphs = _window_graphs(stored, recipe)
        self._side = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._only: Window | None = None

    @property
    def num_portions(self) -> int:
        """Number of windows of an epoch; a single graph at the end is left out."""
        full, rest = divmod(len(self.train), self.window_graphs)
        return full + (rest > 1)

    @override
    def first(self) -> Portion:
        return next(self.portions(0))

    @override
    def portions(self, epoch: int, first: int = 0) -> Iterator[Portion]:
        with ThreadPoolExecutor(1) as reader:
            ahead = self._submit(reader, epoch, first)
            for number in range(first, self.num_portions):
                assert ahead is not None
                ids, loaded = ahead.result()
                window = self._window(loaded)
                ahead = self._submit(reader, epoch, number + 1)
                yield self._portion(window, len(ids), epoch, number)

    def positions(self, epoch: int, number: int) -> Tensor:
        """Positions of the training graphs of a window, ascending."""
        count = len(self.train)
        blocks = -(-count // BLOCK_GRAPHS)
        order = torch.argsort(self._keys(-1 - epoch, blocks)) if self.num_portions > 1 else None
        order = torch.arange(blocks) if order is None else order
        sizes = torch.full((blocks,), BLOCK_GRAPHS)
        sizes[order == blocks - 1] = count - (blocks - 1) * BLOCK_GRAPHS
        ends = sizes.cumsum(0)
        start = number * self.window_graphs
        stop = min(start + self.window_graphs, count)
        # The blocks that overlap with the window, of which the first and the last can be cut.
        touched = slice(
            int(torch.searchsorted(ends, start, right=True)),
            int(torch.searchsorted(ends, stop - 1, right=True)) + 1,
        )
        begin = order[touched] * BLOCK_GRAPHS
        first, last = ends[touched] - sizes[touched], ends[touched]
        skipped = (start - first).clamp(min=0)
        taken = torch.minimum(last, torch.tensor(stop)) - first - skipped
        return expand_segments(begin + skipped, taken)[2].sort().values

    def _submit(
        self, reader: ThreadPoolExecutor, epoch: int, number: int
    ) -> "Future[tuple[Tensor, Window | PackedGraphs]] | None":
        return reader.submit(self._load, epoch, number) if number < self.num_portions else None

    def _load(self, epoch: int, number: int) -> tuple[Tensor, Window | PackedGraphs]:
        """Read the graphs of a window, and on the CPU compute what batches need."""
        ids = self.train.ids(self.positions(epoch, number))
        if self._only is not None:
            return ids, self._only
        graphs = self.stored.subset(ids).with_floats(self.dtype)
        check_targets(self.recipe, graphs)
        if self._side is None:
            return ids, Window(graphs, self.network, self.recipe)
        with torch.cuda.stream(self._side):
            copied = graphs.with_tensors(self._copy)
            self._side.synchronize()  # waits in this thread only
        return ids, copied

    def _copy(self, tensor: Tensor) -> Tensor:
        return tensor.pin_memory().to(self.device, non_blocking=True)

    def _window(self, loaded: Window | PackedGraphs) -> Window:
        if isinstance(loaded, PackedGraphs):
            # Memory of the side stream must not be used again before this stream has read it.
            current = torch.cuda.current_stream(self.device)
            for tensor in filter(torch.is_tensor, vars(loaded).values()):
                tensor.record_stream(current)
            loaded = Window(loaded, self.network, self.recipe)
        if self.num_portions == 1:
            self._only = loaded
        return loaded

    def _portion(self, window: Window, count: int, epoch: int, number: int) -> Portion:
        order = torch.argsort(self._keys(-1 - epoch - (number << 32), count) & (2**62 - 1))
        if self.recipe.max_nodes is not None:
            counts = window.assembler.node_count.cpu()[order]
            cut, steps = cut_by_nodes(order, counts, self.recipe.max_nodes, window.padding)
            return Portion(window, cut[None].to(self.device), steps)
        steps = num_steps(count, self.recipe.batch_size)
        length = steps * self.recipe.batch_size
        padded = functional.pad(order, (0, max(0, length - count)), value=window.padding)
        return Portion(window, padded[None, :length].to(self.device), steps)

    def _keys(self, counter: int, count: int) -> Tensor:
        return hashed_integers(self.seed, torch.tensor([counter]), 1, count).flatten()


def _window_graphs(stored: StoredGraphs, recipe: Recipe) -> int:
    """Number of graphs of a window: full batches with about `WINDOW_SIZE` nodes and edges."""
    size = (stored.num_nodes + stored.num_edges) / len(stored)
    batches = max(1, int(WINDOW_SIZE / max(1.0, size)) // recipe.batch_size)
    return max(2, batches * recipe.batch_size)
