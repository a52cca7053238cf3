"""Training graphs that are read from disk, one window after the other.

In every epoch, blocks of `BLOCK_GRAPHS` consecutive graphs are put in a new random order, which is
a circle. The first window begins anywhere in it. A window has the graphs of the next blocks, in a
random order, and all windows have about the same number of graphs. The next window is read while
the current one is used.

The place of a graph in an epoch is uniform. Two graphs of one block are in one window, unless it
ends between them. They are in one batch with the probability `(batch_size - 1) / (window - 1)` for
windows of `window` graphs, instead of `(batch_size - 1) / (graphs - 1)` for a shuffle of all
graphs, which graphs of different blocks have approximately. A data set of one window is shuffled as
one in memory.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.seeds import as_signed
from clipgnn.graphs.storage.heap import release_freed_memory
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

_BLOCKS, _BEGIN = 2**30, 2**30 - 1
"""Numbers in place of that of a window, for the order of blocks and where the first one begins."""

Ahead = Future[Window | PackedGraphs]
"""A window that is read by another thread."""


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
        self.bounds = _bounds(len(train), recipe.batch_size, _window_batches(stored, recipe))
        self._side = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._only: Window | None = None
        self._begun: tuple[int, int, Ahead] | None = None  # epoch and number of a window

    @property
    def num_portions(self) -> int:
        """Number of windows of an epoch."""
        return len(self.bounds) - 1

    @override
    def first(self) -> Portion:
        if self._begun is None:
            with ThreadPoolExecutor(1) as reader:
                self._begun = (0, 0, reader.submit(self._load, 0, 0))
        return self._portion(self._window(self._begun[2].result()), 0, 0)

    @override
    def portions(self, epoch: int, first: int = 0) -> Iterator[Portion]:
        begun, self._begun = self._begun, None
        with ThreadPoolExecutor(1) as reader:
            if begun is not None and begun[:2] == (epoch, first):
                ahead: Ahead | None = begun[2]
            else:
                ahead = self._submit(reader, epoch, first)
            begun = None
            for number in range(first, self.num_portions):
                assert ahead is not None
                window = self._window(ahead.result())
                ahead = self._submit(reader, epoch, number + 1)
                yield self._portion(window, epoch, number)
        if ahead is not None:
            self._begun = (epoch + 1, 0, ahead)

    def positions(self, epoch: int, number: int) -> Tensor:
        """Positions of the training graphs of a window, ascending."""
        count, (start, stop) = len(self.train), self.bounds[number : number + 2]
        if self.num_portions == 1:
            return torch.arange(start, stop)
        order = torch.argsort(self._keys(epoch, _BLOCKS, -(-count // BLOCK_GRAPHS)))
        # The first window begins anywhere, also inside a block: otherwise the first graphs of
        # blocks would precede the last ones on average.
        begin = (start + int(self._keys(epoch, _BEGIN, 1))) % count
        end = begin + stop - start
        parts = [self._in_blocks(order, begin, min(end, count))]
        if end > count:
            parts.append(self._in_blocks(order, 0, end - count))
        return torch.cat(parts).sort().values

    def _in_blocks(self, order: Tensor, start: int, stop: int) -> Tensor:
        """Positions of the graphs from `start` to `stop` in an order of blocks."""
        sizes = torch.full_like(order, BLOCK_GRAPHS)
        sizes[order == len(order) - 1] = len(self.train) - (len(order) - 1) * BLOCK_GRAPHS
        ends = sizes.cumsum(0)
        # The blocks that overlap with the range, of which the first and the last can be cut.
        touched = slice(
            int(torch.searchsorted(ends, start, right=True)),
            int(torch.searchsorted(ends, stop - 1, right=True)) + 1,
        )
        first, last = ends[touched] - sizes[touched], ends[touched]
        skipped = (start - first).clamp(min=0)
        taken = last.clamp(max=stop) - first - skipped
        return expand_segments(order[touched] * BLOCK_GRAPHS + skipped, taken)[2]

    def order(self, epoch: int, number: int) -> Tensor:
        """Order in which the graphs of a window are used."""
        count = self.bounds[number + 1] - self.bounds[number]
        return torch.argsort(self._keys(epoch, number, count))

    def _submit(self, reader: ThreadPoolExecutor, epoch: int, number: int) -> Ahead | None:
        """Begin to read a window; after the last one, the first one of the next epoch."""
        if number == self.num_portions:
            epoch, number = epoch + 1, 0
            if epoch >= self.recipe.epochs:
                return None
        return reader.submit(self._load, epoch, number)

    def _load(self, epoch: int, number: int) -> Window | PackedGraphs:
        """Read the graphs of a window, and on the CPU compute what batches need."""
        if self._only is not None:
            return self._only
        ids = self.train.ids(self.positions(epoch, number))
        graphs = self.stored.subset(ids).with_floats(self.dtype)
        check_targets(self.recipe, graphs)
        if self._side is None:
            window = Window(graphs, self.network, self.recipe)
            release_freed_memory()
            return window
        with torch.cuda.stream(self._side):
            copied = graphs.with_tensors(self._copy)
            self._side.synchronize()  # waits in this thread only
        return copied

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

    def _portion(self, window: Window, epoch: int, number: int) -> Portion:
        order = self.order(epoch, number)
        if self.recipe.max_nodes is not None:
            counts = window.assembler.node_count.cpu()[order]
            cut, steps = cut_by_nodes(order, counts, self.recipe.max_nodes, window.padding)
            return Portion(window, cut[None].to(self.device), steps)
        steps = num_steps(len(order), self.recipe.batch_size)
        length = steps * self.recipe.batch_size
        padded = functional.pad(order, (0, max(0, length - len(order))), value=window.padding)
        return Portion(window, padded[None, :length].to(self.device), steps)

    def _keys(self, epoch: int, number: int, count: int) -> Tensor:
        """Random numbers of a window, or of the blocks, in an epoch."""
        counter = torch.tensor([-1 - epoch - (number << 32)])
        return hashed_integers(self.seed, counter, 1, count).flatten() & (2**62 - 1)


def _window_batches(stored: StoredGraphs, recipe: Recipe) -> int:
    """Largest number of batches of a window: they have about `WINDOW_SIZE` nodes and edges."""
    size = (stored.num_nodes + stored.num_edges) / len(stored)
    return max(1, int(WINDOW_SIZE / max(1.0, size)) // recipe.batch_size)


def _bounds(count: int, batch_size: int, batches: int) -> list[int]:
    """First graph of each window, and the number of graphs.

    Windows have full batches, and about the same number of them: the graphs of a short one would
    come from few blocks. A single graph that is left over belongs to the last window.
    """
    steps = num_steps(count, batch_size)
    windows = -(-steps // batches)
    return [number * steps // windows * batch_size for number in range(windows)] + [count]
