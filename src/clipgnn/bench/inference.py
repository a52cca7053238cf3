"""Speed of inference compared with PyTorch Geometric, both measured in one run."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from typing_extensions import override

from clipgnn.bench.comparison import Comparison
from clipgnn.bench.measurement import Measurement, Plan
from clipgnn.bench.peer import PeerCLIP, predict
from clipgnn.bench.products import product_share
from clipgnn.bench.setting import BATCH_SIZE, SEED, Setting
from clipgnn.bench.timing import in_processes, rate_of
from clipgnn.training.models import new_members

NUM_COLORINGS = 16


@dataclass(frozen=True)
class Inference(Comparison):
    """Graphs per second of both, by round.

    Attributes:
        our_product_share: share of clipgnn's time in matrix products.
        peer_product_share: share of the time of PyTorch Geometric in matrix products.
    """

    our_product_share: float
    peer_product_share: float

    @override
    def cells(self) -> dict[str, str]:
        return {
            **self.cells_in("graphs/s"),
            "products": f"{self.our_product_share:.0%}",
            "products, PyG": f"{self.peer_product_share:.0%}",
        }


@dataclass(frozen=True)
class _Task:
    setting: Setting
    root: Path | None
    device: str
    seconds: float
    threads: int = 1

    def ours(self) -> tuple[int, Callable[[], object]]:
        """Return the number of graphs, and a function that predicts them."""
        torch.set_num_threads(self.threads)
        graphs = self.setting.graphs(self.root).to(self.device)
        recipe = self.setting.recipe()
        model = new_members(self.setting.spec(), graphs, recipe, [SEED]).to(self.device)
        return len(graphs), lambda: model.predict(graphs)

    def peer(self) -> tuple[int, Callable[[], object]]:
        """Return the same for PyTorch Geometric."""
        torch.set_num_threads(self.threads)
        graphs = self.setting.graphs(self.root)
        model = PeerCLIP.of(self.setting, graphs).to(self.device)
        items = graphs.to_data_list()
        return len(graphs), lambda: predict(model, items, BATCH_SIZE)


def measure(plan: Plan) -> list[Inference]:
    """Compare both on each data set."""
    return [
        _compare(replace(Setting.of(name), num_colorings=NUM_COLORINGS), plan)
        for name in plan.datasets
    ]


def _compare(setting: Setting, plan: Plan) -> Inference:
    workers = 1 if plan.on_gpu else plan.workers
    own = _Task(setting, plan.root, plan.device, plan.seconds)
    other = replace(own, threads=plan.workers)
    ours, peer = [], []
    for _ in range(plan.rounds):
        ours.append(sum(in_processes(_our_rate, [own] * workers, workers)))
        peer += in_processes(_peer_rate, [other])
    [our_share] = in_processes(_our_share, [own])
    [peer_share] = in_processes(_peer_share, [other])
    return Inference(setting, ours, peer, our_share, peer_share)


def _our_rate(task: _Task) -> float:
    graphs, run = task.ours()
    return graphs * rate_of(run, task.seconds, task.device)


def _peer_rate(task: _Task) -> float:
    graphs, run = task.peer()
    return graphs * rate_of(run, task.seconds, task.device)


def _our_share(task: _Task) -> float:
    return product_share(task.ours()[1], task.device)


def _peer_share(task: _Task) -> float:
    return product_share(task.peer()[1], task.device)


MEASUREMENT = Measurement(
    title="Inference",
    note="Evaluation mode without gradients, with assembly of batches and sampling of colorings, "
    "and with new weights. clipgnn: `predict` with its default batches, on the CPU in one process "
    "of one thread for each core. PyTorch Geometric: batches of 32 of a DataLoader, the fastest of "
    "32, 128 and 256, on the CPU with a thread for each core. Products: share of the time in dense "
    "matrix products by torch's profiler, on the CPU of the duration in one process, on a GPU of "
    "the time of all kernels.",
    row=Inference,
    measure=measure,
)
