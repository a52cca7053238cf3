"""A run on a real Ray cluster of several nodes, one of which is killed while it is going."""

import shutil
import socket
import subprocess
import sys
import time
from ipaddress import ip_address

import pytest
from tests.experiments.fake_training import SMALL, fake
from tests.experiments.own_files import write_paths
from tests.faults.command import numbers
from tests.faults.fake_cli import COMMAND, ENVIRONMENT, ROOT

from clipgnn.errors import ClipGNNError
from clipgnn.experiments.executors import make_executor
from clipgnn.experiments.options import RunOptions

pytestmark = [
    pytest.mark.needs("ray"),
    pytest.mark.skipif(sys.platform != "linux", reason="finds a node's processes in /proc"),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


@pytest.fixture
def cluster(folder):
    """A head without work and two nodes, in a process that also ends them."""
    environment = {
        **ENVIRONMENT,
        "FAKE_LOG": str(folder / "log"),
        "FAKE_SECONDS": "0.5",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    with (folder / "ray").open("w") as messages:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.ray_nodes"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
            text=True,
        )
        yield process
        process.communicate(timeout=30)  # ends its input, and with it the cluster


def run(folder, store, *options):
    return [
        *COMMAND,
        "experiment",
        "run",
        str(folder / "small.toml"),
        "--store",
        str(folder / store),
        "--datasets",
        "csl",
        "--format",
        "csv",
        "--device",
        "cpu",
        *options,
    ]


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def test_a_cluster_that_does_not_answer():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and never listens
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        for given in (address, f"ray://{address}"):
            with pytest.raises(ClipGNNError, match=rf"The Ray cluster at {given} does not respond"):
                make_executor(fake, RunOptions(executor="ray", address=given))


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:many", ":6379", "ray://"])
def test_an_address_that_is_none(address):
    with pytest.raises(ClipGNNError, match="must be the host and port"):
        make_executor(fake, RunOptions(executor="ray", address=address))


def test_a_ray_of_its_own_is_on_loopback_and_replaces_a_stopped_process(tmp_path):
    """And its processes find the modules and the data of a user; all with one start of Ray."""
    example = shutil.copytree(ROOT / "examples" / "own_experiment", tmp_path / "example")
    file = example / "ladders.toml"
    file.write_text(file.read_text().replace('data:load"]', 'data:load", "tu:OWN"]'))
    write_paths(tmp_path / "data" / "OWN", nodes=5, graphs=20)
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.ray_local", str(example), str(tmp_path / "data")],
        cwd=ROOT,
        env={**ENVIRONMENT, "RAY_ADDRESS": "192.0.2.1:6379"},  # no cluster was asked for
        capture_output=True,
        text=True,
        timeout=300,  # half a minute on an idle machine
        check=False,
    )
    assert done.returncode == 0, done.stderr
    addresses, *outcomes = done.stdout.splitlines()
    assert len(addresses.split()) >= 4, "the processes of Ray were not found"
    assert {
        address for address in addresses.split() if not ip_address(address).is_loopback
    } == set()
    assert outcomes[:3] == ["0 it did not finish within 4 s (job_timeout)", "1 ", "2 "]
    assert sorted(outcomes[3:]) == ["ladders.data:load True", "tu:OWN True"]


@pytest.mark.slow
def test_a_node_is_killed_while_the_run_is_going(folder, cluster, request):
    address = cluster.stdout.readline().strip()
    assert address, (folder / "ray").read_text()
    process = subprocess.Popen(
        run(folder, "ray.sqlite", "--executor", "ray", "--address", address),
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    request.addfinalizer(process.kill)
    end = time.monotonic() + 40
    while len(lines(folder / "log")) < 5:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.02)
    assert len({line.split()[0] for line in lines(folder / "log")}) == 2, "both nodes are at work"
    worker = lines(folder / "log")[-1].split()[0]  # has just begun, and needs half a second
    cluster.stdin.write(f"{worker}\n")
    cluster.stdin.flush()
    assert cluster.stdout.readline() == "killed\n"
    assert process.poll() is None
    output, errors = process.communicate(timeout=50)
    assert process.returncode == 0, errors
    assert "16 of 16 trials" in errors

    begun = [line.split()[1] for line in lines(folder / "log")]
    assert len(set(begun)) == 16
    assert len(begun) > 16, "the job that was on the node was begun again elsewhere"

    local = subprocess.run(
        run(folder, "local.sqlite", "--executor", "in-process"),
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert numbers(output) == numbers(local.stdout)
    assert len(numbers(output).splitlines()) == 3
