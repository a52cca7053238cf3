"""A Ray cluster of several nodes on this machine: begins it, kills nodes when told to, ends it.

Says its address on the first line; each line it reads is the number of a worker's process,
whose node it kills; when there is nothing more to read, it ends everything it has begun.
"""

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from ray._private.node import Node
from ray.cluster_utils import Cluster

NODES = 2
SMALL = {"object_store_memory": 80 * 2**20, "include_dashboard": False}


def kill(node: Node) -> None:
    """End the raylet and its workers at once, as a machine that loses its power does."""
    raylet = raylet_of(node)
    for process in [raylet, *children(raylet)]:
        os.kill(process, signal.SIGKILL)


def raylet_of(node: Node) -> int:
    return node.all_processes["raylet"][0].process.pid


def children(parent: int) -> list[int]:
    text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(process) for process in text.split()]


def main() -> None:
    folder = tempfile.mkdtemp(prefix="ray-")  # its sockets need a short path
    os.environ["RAY_TMPDIR"] = folder
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **SMALL})
    try:
        nodes = [cluster.add_node(num_cpus=1, wait=False, **SMALL) for _ in range(NODES)]
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
