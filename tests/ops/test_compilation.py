"""Compilation of the Triton kernels in several processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("triton")

KEYS = """
import os
from importlib import import_module

modules = ["adam", "attributes", "graphs", "head", "merge", "neighbors", "norm", "rows"]
modules = [import_module(f"clipgnn.ops.kernels.{own}") for own in modules]
kernel = import_module("clipgnn.ops.kernels.kernel")
kernels = [own for module in modules for own in vars(module).values() if type(own) is kernel.Kernel]
if os.fork():  # each process computes the keys for the first time
    os.wait()
else:
    kernels.reverse()
for own in kernels:
    print(own.function.__name__, own.function.cache_key)
"""

DESCRIBE = """
import torch
from tests.nn.test_fused import Case, _graphs
from clipgnn.ops.kernels.kernel import collecting

torch.cuda.current_stream = lambda: "stream"
for size in (5, 40):
    case = Case(_graphs([size, 6, 4], labels=3), "cpu", hidden_channels=8, num_colorings=2)
    with collecting() as descriptions:
        case.run([[0, 1], [2, 1]], fused=True)
        case.run([[0, 1], [2, 1]], fused=True, training=False)
    print("\\n".join(descriptions))
"""

TRAIN = """
import sys
import triton
from tests.training.examples import CLIP4, folds, some_graphs
from clipgnn.training import Recipe, train

def compiled(*, src, metadata, metadata_group, times, cache_hit):
    if not cache_hit:
        print(src.fn.__name__)

triton.knobs.compilation.listener = compiled
number = int(sys.argv[1])
train(some_graphs(number), CLIP4, Recipe(epochs=1), folds(3, number), [1, 2, 3], "cuda")
"""


def _lines(program: str, *arguments: str, cache: Path) -> list[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"},
        "TRITON_CACHE_DIR": str(cache),
    }
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_keys_do_not_depend_on_the_order_of_launches(tmp_path: Path) -> None:
    keys = _lines(KEYS, cache=tmp_path)
    first, second = keys[: len(keys) // 2], keys[len(keys) // 2 :]
    assert len(first) > 15
    assert first == second[::-1]


def test_descriptions_do_not_depend_on_sizes(tmp_path: Path) -> None:
    descriptions = _lines(DESCRIBE, cache=tmp_path)
    small, large = descriptions[: len(descriptions) // 2], descriptions[len(descriptions) // 2 :]
    assert len(set(small)) > 25
    assert small == large


@pytest.mark.gpu
def test_processes_compile_the_kernels_of_a_training(tmp_path: Path) -> None:
    assert set(_lines(TRAIN, "40", cache=tmp_path)) <= {"_fill_slots", "_rank_in_groups"}
    assert not _lines(TRAIN, "40", cache=tmp_path)


@pytest.mark.gpu
def test_other_sizes_use_the_same_kernels(tmp_path: Path) -> None:
    _lines(TRAIN, "40", cache=tmp_path)
    [folder] = tmp_path.glob("clipgnn-*")
    compiled = sorted(folder.iterdir())
    assert len(compiled) > 20
    assert not _lines(TRAIN, "45", cache=tmp_path)
    assert sorted(folder.iterdir()) == compiled
