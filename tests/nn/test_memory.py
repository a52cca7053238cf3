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

SCRIPT = """
import json, re, sys
from pathlib import Path
import torch
from clipgnn import CLIP

def run(case):
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
    return ready and all(bool(p.grad.isfinite().all()) for p in model.layers.parameters())

def peak():
    # Not resource.getrusage: a process inherits the peak of the one that started it.
    text = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", text)[1]) * 1024

peaks = [peak()]
for case in json.loads(sys.argv[1]):
    assert run(case)
    peaks.append(peak())
print(json.dumps(peaks))
"""


def peaks_of(*cases: dict[str, Any]) -> list[int]:
    """The most bytes that a process has held before and after a step of each case, in order."""
    source = str(Path(clipgnn.__file__).parents[1])
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(cases)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-5_000:]
    peaks: list[int] = json.loads(finished.stdout)
    return peaks


THOUSAND: dict[str, Any] = {"nodes": 1000, "edges": 2500, "copies": 1}
THOUSANDS: dict[str, Any] = {"num_colorings": 2048, "num_colors": 1000}
METHODS = ("embed", "embed_nodes")


@pytest.mark.slow
def test_many_colorings() -> None:
    """Held at once, an activation of 2048 colorings would have 130 MB, and a step 1.2 GB."""
    narrow = {**THOUSANDS, "hidden_channels": 16, "num_layers": 1}
    cases = [{**THOUSAND, "parameters": narrow, "method": method} for method in METHODS]
    assert max(peaks := peaks_of(*cases)) < 1e9, peaks


@pytest.mark.slow
def test_edge_attributes() -> None:
    """φ is applied on edges then, of which there may be many more than nodes."""
    parameters = {"num_colorings": 128, "num_colors": 1000, "num_layers": 1, "edge_channels": 2}
    case = {"nodes": 1000, "edges": 10_000, "copies": 1, "parameters": parameters}
    peaks = peaks_of({**case, "method": "embed"})
    assert peaks[-1] < 2e9, peaks


@pytest.mark.slow
def test_many_colorings_as_the_model_comes() -> None:
    """The same with the model's own width and depth."""
    parameters = {**THOUSANDS, "num_colorings": 4096}
    cases = [{**THOUSAND, "parameters": parameters, "method": method} for method in METHODS]
    peaks = peaks_of(*cases)
    assert peaks[-1] < 2e9, peaks
