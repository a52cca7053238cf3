"""A training and predictions on a real Ray cluster: processes and nodes are lost."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.faults.fake_cli import ENVIRONMENT, ROOT

from clipgnn import load
from clipgnn.datasets import circular_skip_links

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("ray"),
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc"),
]

COMMAND = (sys.executable, "-m", "clipgnn.cli")
SHORT = (
    *("--num-layers", "2", "--hidden-channels", "8", "--num-colorings", "1", "--seed", "3"),
    *("--batch-size", "16", "--device", "cpu", "--quiet", "--checkpoint-seconds", "0"),
)
PLAIN = {name: own for name, own in ENVIRONMENT.items() if name != "FAKE_LOG"} | {
    "RAY_USAGE_STATS_ENABLED": "0",
    "OMP_NUM_THREADS": "1",
}


@pytest.fixture
def cluster(tmp_path: Path) -> "Iterator[subprocess.Popen[str]]":
    """Two nodes of two CPUs and a head without any, in a process that also ends them."""
    with (tmp_path / "ray").open("w") as messages:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.ray_nodes"],
            cwd=ROOT,
            env={**PLAIN, "NODE_CPUS": "2"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
            text=True,
        )
        yield process
        process.communicate(timeout=60)  # ends its input, and with it the cluster


def _address(cluster: "subprocess.Popen[str]", folder: Path) -> str:
    assert cluster.stdout is not None
    address = cluster.stdout.readline().strip()
    assert address, (folder / "ray").read_text()
    return address


def _workers() -> list[int]:
    """Processes of Ray Train that are training."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            title = path.read_bytes()
        except OSError:
            continue
        if title.startswith(b"ray::") and b"TrainWorker" in title:
            found.append(int(path.parent.name))
    return found


def _train(folder: Path, name: str, *options: str) -> "subprocess.Popen[str]":
    arguments = ["train", "graphs", "-o", f"{name}.safetensors", "--checkpoint", f"kept-{name}"]
    return subprocess.Popen(
        [*COMMAND, *arguments, *SHORT, *options],
        cwd=folder,
        env=PLAIN,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait(process: "subprocess.Popen[str]", seconds: float = 240) -> None:
    _, errors = process.communicate(timeout=seconds)
    assert process.returncode == 0, errors


def _after_some_epochs(process: "subprocess.Popen[str]", folder: Path, name: str) -> list[int]:
    """Wait until a training has written checkpoints; return its processes."""
    file = folder / f"kept-{name}" / "models-0.safetensors"
    end = time.monotonic() + 120
    while not file.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.05)
    time.sleep(1)
    assert process.poll() is None, "the training has ended before it could be disturbed"
    return _workers()


def _weights(folder: Path, name: str) -> dict[str, torch.Tensor]:
    return load(folder / f"{name}.safetensors").state_dict()


def test_lost_processes_and_nodes(
    tmp_path: Path, cluster: "subprocess.Popen[str]", request: pytest.FixtureRequest
) -> None:
    circular_skip_links(0).save(tmp_path / "graphs")
    address = _address(cluster, tmp_path)
    on_cluster = ("--executor", "ray", "--address", address, "--num-workers", "2", "--epochs", "60")

    undisturbed = _train(tmp_path, "undisturbed", *on_cluster)
    request.addfinalizer(undisturbed.kill)
    _wait(undisturbed)
    expected = _weights(tmp_path, "undisturbed")

    killed = _train(tmp_path, "killed", *on_cluster)
    request.addfinalizer(killed.kill)
    workers = _after_some_epochs(killed, tmp_path, "killed")
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    _wait(killed)
    assert not (tmp_path / "kept-killed").exists()

    lost = _train(tmp_path, "lost", *on_cluster)
    request.addfinalizer(lost.kill)
    workers = _after_some_epochs(lost, tmp_path, "lost")
    assert cluster.stdin is not None
    assert cluster.stdout is not None
    cluster.stdin.write(f"{workers[0]}\n")
    cluster.stdin.flush()
    assert cluster.stdout.readline() == "killed\n"
    _wait(lost)

    for name in ("killed", "lost"):
        found = _weights(tmp_path, name)
        assert all(torch.equal(found[key], value) for key, value in expected.items()), name

    # One node is left, and predicts what this process predicts.
    arguments = ["predict", "undisturbed.safetensors", "graphs", "--quiet", "-o"]
    for output, options in (("here.csv", ()), ("ray.csv", on_cluster[:-2])):
        done = subprocess.run(
            [*COMMAND, *arguments, output, *options],
            cwd=tmp_path,
            env=PLAIN,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "ray.csv").read_text() == (tmp_path / "here.csv").read_text()


WITHOUT_GRAPHS = """
from pathlib import Path
from clipgnn.commands.learning import CheckpointOptions, LearningOptions
from clipgnn.commands.ray_training import train_with_ray
from clipgnn.commands.stored_training import StoredTraining
from clipgnn.errors import ClipGNNError

kept = CheckpointOptions(Path("kept"))
options = {"device": "cpu", "seed": 0, "checkpoints": kept, "shown": False}
training = StoredTraining.of(Path("missing"), LearningOptions(epochs=1), **options)
try:
    train_with_ray(training, None, 1, Path("model.safetensors"))
except ClipGNNError as error:
    print(error)
"""


def test_a_process_without_the_graphs(tmp_path: Path) -> None:
    """The command has checked the folder on its machine; on another one it is missing."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_GRAPHS],
        cwd=tmp_path,
        env=PLAIN,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert "missing must be a folder of graphs" in done.stdout, done.stderr
    assert done.stdout.count("\n") == 1
    assert not (tmp_path / "model.safetensors").exists()
