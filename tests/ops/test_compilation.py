"""Compilation of the Triton kernels in several processes."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.needs("triton")

KEYS_AND_DESCRIPTIONS = """
import json, os, sys
from importlib import import_module
import torch
from tests.nn.fused_cases import Case, random_graphs
from clipgnn.baselines.gin import GIN
from clipgnn.nn.clip import CLIP
from clipgnn.ops.kernels.kernel import Kernel, collecting

names = "adam attributes graphs head isomorphism merge neighbors norm rows".split()
modules = [import_module(f"clipgnn.ops.kernels.{own}") for own in names]
kernels = [own for module in modules for own in vars(module).values() if type(own) is Kernel]

def keys(kernels):
    functions = [own.function for own in kernels]
    return {f"{own.__module__}.{own.__name__}": own.cache_key for own in functions}

if os.fork() == 0:  # each process computes the keys for the first time
    print(json.dumps(keys(reversed(kernels))))
    sys.exit()
os.wait()
print(json.dumps(keys(kernels)))

torch.cuda.current_stream = lambda: "stream"
for size in (5, 40):
    graphs = random_graphs([size, 6, 4], labels=3)
    clip = Case(CLIP, graphs, "cpu", hidden_channels=8, num_colorings=2)
    gin = Case(GIN, graphs, "cpu", hidden_channels=8)
    with collecting() as descriptions:
        for case in (clip, gin):
            case.run([[0, 1], [2, 1]], fused=True)
            case.run([[0, 1], [2, 1]], fused=True, training=False)
    print(json.dumps(descriptions))
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


@pytest.fixture(scope="module")
def keys_and_descriptions(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Keys in two orders, and descriptions for two sizes, of a process without the interpreter."""
    lines = _lines(KEYS_AND_DESCRIPTIONS, cache=tmp_path_factory.mktemp("cache"))
    return [json.loads(line) for line in lines]


def test_keys_do_not_depend_on_the_order_of_launches(keys_and_descriptions: list[Any]) -> None:
    backward, forward, _, _ = keys_and_descriptions
    assert len(forward) > 15
    assert forward == backward
    assert list(forward) == list(reversed(backward))


def test_descriptions_do_not_depend_on_sizes(keys_and_descriptions: list[Any]) -> None:
    _, _, small, large = keys_and_descriptions
    assert len(set(small)) > 25
    assert small == large


def test_a_compiler_that_hangs_is_killed_with_its_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triton.backends.compiler import GPUTarget

    from clipgnn.ops.kernels import compilation

    program = f"sleep 600 & echo $! > {shlex.quote(str(tmp_path / 'child'))}; cat; wait"
    process = subprocess.Popen(
        ["sh", "-c", program], stdin=subprocess.PIPE, text=True, start_new_session=True
    )
    target = GPUTarget("cuda", 90, 32)
    active = SimpleNamespace(active=SimpleNamespace(get_current_target=lambda: target))
    monkeypatch.setattr(compilation, "driver", active)
    monkeypatch.setattr(compilation, "MAX_SECONDS", 0.5)
    compilation._Compiler(process).compile(["kernel"])
    assert process.returncode == -signal.SIGKILL
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}/stat").exists() and time.monotonic() < deadline:
        if Path(f"/proc/{child}/stat").read_text().split()[2] == "Z":  # nobody has waited for it
            break
        time.sleep(0.05)
    else:
        assert not Path(f"/proc/{child}/stat").exists()


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
