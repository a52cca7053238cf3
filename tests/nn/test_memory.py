"""Many colorings in bounded memory: whole processes, and the most they ever held."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import clipgnn

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads the peak of a process from /proc"
)

TWO_GIGABYTES = 2 * 10**9

SCRIPT = """
import json, re, sys
from pathlib import Path
import torch
from clipgnn import CLIP

case = json.loads(sys.argv[1])
torch.manual_seed(0)
nodes, edges, copies = case["nodes"], case["edges"], case["copies"]
edge_index = torch.randint(nodes, (2, edges))
edge_index = torch.cat([edge_index, edge_index.flip(0)], dim=1)
edge_index = torch.cat([edge_index + copy * nodes for copy in range(copies)], dim=1)
model = CLIP(1, 2, **case["parameters"])
batch = torch.arange(copies).repeat_interleave(nodes)
arguments = [torch.ones(copies * nodes, 1), edge_index, batch]
named = {}
if model.config.edge_channels:
    named["edge_attr"] = torch.randn(edge_index.shape[1], model.config.edge_channels)
apply = getattr(model, case["method"])
model.eval()
with torch.no_grad():
    ready = bool(apply(*arguments, **named).isfinite().all())
model.train()
apply(*arguments, **named).square().sum().backward()
ready &= all(bool(p.grad.isfinite().all()) for p in model.layers.parameters())
# Not resource.getrusage: a process inherits the peak of the one that started it.
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
print(json.dumps({"ready": bool(ready), "peak": peak}))
"""


def peak_of(**case: Any) -> int:
    """The most memory in bytes that a process ever held in a forward pass and a training step."""
    source = str(Path(clipgnn.__file__).parents[1])
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(case)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-5_000:]
    result = json.loads(finished.stdout)
    assert result["ready"]
    return int(result["peak"])


both_methods = pytest.mark.parametrize("method", ["embed", "embed_nodes"])


def test_all_colorings_of_seven_nodes() -> None:
    """7! = 5040 of each of two graphs."""
    case = {"nodes": 7, "edges": 10, "copies": 2, "parameters": {"coloring": "all"}}
    assert peak_of(**case, method="forward") < TWO_GIGABYTES


THOUSAND: dict[str, Any] = {"nodes": 1000, "edges": 2500, "copies": 1}
FOUR_THOUSAND: dict[str, Any] = {"num_colorings": 4096, "num_colors": 1000}


@both_methods
def test_many_colorings_of_a_thousand_nodes(method: str) -> None:
    """A narrow network of one layer: held at once, an activation of 4096 colorings would be
    260 MB, and a training step holds a dozen."""
    parameters = {**FOUR_THOUSAND, "hidden_channels": 16, "num_layers": 1}
    assert peak_of(**THOUSAND, parameters=parameters, method=method) < TWO_GIGABYTES


@pytest.mark.slow
def test_edge_attributes() -> None:
    """φ is applied on edges then, of which there may be many more than nodes."""
    parameters = {"num_colorings": 128, "num_colors": 1000, "num_layers": 1, "edge_channels": 2}
    case = {"nodes": 1000, "edges": 10_000, "copies": 1, "parameters": parameters}
    assert peak_of(**case, method="embed") < TWO_GIGABYTES


@pytest.mark.slow
@both_methods
def test_many_colorings_as_the_model_comes(method: str) -> None:
    """The same with the model's own width and depth."""
    assert peak_of(**THOUSAND, parameters=FOUR_THOUSAND, method=method) < TWO_GIGABYTES
