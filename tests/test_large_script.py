"""The script in results/ that measures graph sets larger than memory, and large graphs."""

import json
import os
from pathlib import Path

import pytest
import torch
from results import large

from clipgnn.training import stream as streams


def test_generated_graphs() -> None:
    graphs = large.molecules(50, 0)
    assert (graphs.node_pointers.diff() == large.NODES).all()
    assert (graphs.edge_pointers.diff() == 42).all()
    assert not graphs.directed
    assert graphs.simplify().edge_index.shape == graphs.edge_index.shape
    assert large.molecules(50, 0).fingerprint == graphs.fingerprint
    assert large.molecules(50, 1).fingerprint != graphs.fingerprint


def test_an_interrupted_generation_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "SHARD", 10)
    large.generate(tmp_path / "one", 20)
    assert large.generate(tmp_path / "one", 35).fingerprint == (
        large.generate(tmp_path / "other", 35).fingerprint
    )


def test_a_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "WINDOW_SIZE", 62 * 256)
    monkeypatch.setattr(large, "ROUNDS", 1)
    large.generate(tmp_path / "small", 600)
    found = large.compare(tmp_path, "small")
    assert found["disk to memory"] > 0
    json.dumps(found)


def test_one_large_graph() -> None:
    graphs = large.large_graph(1000)
    assert len(graphs) == 256
    assert not graphs.directed
    assert large.step_large(Path(), "1000")["step, s"] > 0


def test_exponents() -> None:
    rows = [{"edges": size, "cost": 3.0 * size**2} for size in (10, 20, 40)]
    assert large.exponent(rows, "cost") == 2


def test_memory_of_this_process() -> None:
    before = large._anonymous_bytes(os.getpid())
    tensor = torch.ones(10**7)
    assert large._anonymous_bytes(os.getpid()) - before > 3 * 10**7
    assert tensor.numel() == 10**7
    assert os.getpid() in large._family(os.getpid())


def test_the_page_is_up_to_date() -> None:
    content = json.loads((large.PAGE / "large.json").read_text())
    assert (large.PAGE / "large.md").read_text() == large.page(content)
