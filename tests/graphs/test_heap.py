"""Memory that shards leave after their checks."""

import re
from pathlib import Path

import pytest
import torch

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage import heap
from clipgnn.graphs.storage.stored import append_graphs, open_graphs


def _anonymous_bytes() -> int:
    found = re.search(r"RssAnon:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def _rings(number: int) -> PackedGraphs:
    """Triangles."""
    source = torch.tensor([0, 1, 2, 1, 2, 0]).repeat(number)
    target = torch.tensor([1, 2, 0, 0, 1, 2]).repeat(number)
    return PackedGraphs(
        name="triangles",
        x=torch.zeros(3 * number, dtype=torch.int64),
        in_channels=1,
        edge_index=torch.stack([source, target]),
        node_pointers=torch.arange(number + 1) * 3,
        edge_pointers=torch.arange(number + 1) * 6,
        y=torch.zeros(number),
    )


@pytest.mark.skipif(heap._malloc_trim() is None, reason="the C library is not glibc")
def test_memory_does_not_grow_with_the_number_of_shards(tmp_path: Path) -> None:
    for _ in range(40):
        append_graphs(tmp_path, _rings(20_000))
    stored = open_graphs(tmp_path)
    stored[:1]
    before = _anonymous_bytes()
    stored.check()
    assert _anonymous_bytes() - before < 10**7


def test_other_c_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "_malloc_trim", lambda: None)
    heap.release_freed_memory()
