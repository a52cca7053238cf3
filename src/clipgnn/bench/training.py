"""Speed of cross-validation compared with PyTorch Geometric, both measured in one run."""

import statistics
from dataclasses import dataclass
from pathlib import Path

import torch
from typing_extensions import override

from clipgnn.bench.comparison import Comparison
from clipgnn.bench.measurement import Measurement, Plan
from clipgnn.bench.peer import Peer
from clipgnn.bench.setting import Setting, engine_for, epochs_of, program_for, splits_of
from clipgnn.bench.timing import in_processes, rate_of


@dataclass(frozen=True)
class Training(Comparison):
    """Fold-epochs per second of both, by round.

    Attributes:
        compile_seconds: duration of compilation on a GPU, which is not part of the rates; None on
            the CPU.
    """

    compile_seconds: float | None = None

    @override
    def cells(self) -> dict[str, str]:
        cells = self.cells_in("fold-epochs/s")
        if self.compile_seconds is not None:
            total = 10 * self.setting.epochs
            cells["ten folds"] = f"{total / statistics.median(self.ours):.1f} s"
            cells["ten folds, PyG"] = f"{total / statistics.median(self.peer):.0f} s"
            cells["compilation"] = f"{self.compile_seconds:.0f} s"
        return cells


def measure(plan: Plan) -> list[Training]:
    """Compare both on each data set."""
    compare = _compare_on_gpu if plan.on_gpu else _compare_on_cpu
    return [compare(Setting.of(name), plan) for name in plan.datasets]


def _compare_on_cpu(setting: Setting, plan: Plan) -> Training:
    ours, peer = [], []
    for _ in range(plan.rounds):
        tasks = [(setting, plan.root, plan.seconds)] * plan.workers
        ours.append(sum(in_processes(_our_rate, tasks, plan.workers)))
        peer += in_processes(_peer_rate, [(setting, plan.root, plan.seconds, plan.workers)])
    return Training(setting, ours, peer)


def _compare_on_gpu(setting: Setting, plan: Plan) -> Training:
    graphs, device = setting.graphs(plan.root), torch.device(plan.device)
    engine = engine_for(setting.spec(), graphs, setting.recipe(), splits_of(graphs), device)
    program = program_for(engine, deterministic=plan.deterministic)
    our_epoch, peer = epochs_of(program), Peer.of(setting, graphs, device)
    our_rates, peer_rates = [], []
    for _ in range(plan.rounds):
        our_rates.append(engine.num_members * rate_of(our_epoch, plan.seconds, plan.device))
        peer_rates.append(rate_of(peer.epoch, plan.seconds, plan.device))
    return Training(setting, our_rates, peer_rates, program.compile_seconds)


def _our_rate(task: tuple[Setting, Path | None, float]) -> float:
    setting, root, seconds = task
    torch.set_num_threads(1)
    graphs, device = setting.graphs(root), torch.device("cpu")
    engine = engine_for(setting.spec(), graphs, setting.recipe(), splits_of(graphs)[:1], device)
    return rate_of(epochs_of(program_for(engine)), seconds)


def _peer_rate(task: tuple[Setting, Path | None, float, int]) -> float:
    setting, root, seconds, threads = task
    torch.set_num_threads(threads)
    peer = Peer.of(setting, setting.graphs(root), torch.device("cpu"))
    return rate_of(peer.epoch, seconds)


MEASUREMENT = Measurement(
    title="Training: cross-validation",
    note="Batches of 32, evaluation after every epoch. PyTorch Geometric trains one fold after the "
    "other, on the CPU with a thread for each core. clipgnn trains on the CPU in one process of "
    "one thread for each core, with one fold each, and on a GPU all ten folds at once; the total "
    "times of ten folds are extrapolated from the rates, without compilation.",
    row=Training,
    measure=measure,
)
