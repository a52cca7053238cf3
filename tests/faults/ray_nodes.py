"""Run a Ray cluster of several nodes on this machine, and kill nodes on request.

The first line of its output is the address of the cluster. Each line of its input is the PID of a
worker, whose node is killed. At the end of the input the cluster is shut down.
"""

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

NODES = 2
SMALL = {"object_store_memory": 80 * 2**20, "include_dashboard": False}


def kill(node: Any) -> None:
    """Kill the raylet and its workers, as the loss of a machine does."""
    raylet = raylet_of(node)
    for process in [raylet, *children(raylet)]:
        os.kill(process, signal.SIGKILL)


def raylet_of(node: Any) -> int:
    return node.all_processes["raylet"][0].process.pid


def children(parent: int) -> list[int]:
    text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(process) for process in text.split()]


def main() -> None:
    from ray.cluster_utils import Cluster  # optional, and pytest imports this file for doctests

    folder = tempfile.mkdtemp(prefix="ray-")  # its sockets need a short path
    os.environ["RAY_TMPDIR"] = folder
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **SMALL})
    try:
        cpus = int(os.environ.get("NODE_CPUS", "1"))
        nodes = [cluster.add_node(num_cpus=cpus, wait=False, **SMALL) for _ in range(NODES)]
        cluster.wait_for_nodes()
        print(cluster.address, flush=True)
        for worker in sys.stdin:
            kill(next(node for node in nodes if int(worker) in children(raylet_of(node))))
            print("killed", flush=True)
    finally:
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
