"""Peak memory: memory that was freed counts, memory before does not."""

import pytest
import torch

from clipgnn.bench.peak import PeakMemory


def test_freed_memory_counts() -> None:
    before = torch.ones(20_000_000)  # 80 MB
    memory = PeakMemory()
    torch.ones(10_000_000)  # 40 MB, freed at once
    assert 38e6 < memory.read() < 60e6
    assert before.numel() > 0
    assert PeakMemory().read() < 20e6


@pytest.mark.gpu
def test_freed_memory_counts_on_a_gpu() -> None:
    before = torch.ones(20_000_000, device="cuda")
    memory = PeakMemory("cuda")
    torch.ones(10_000_000, device="cuda")
    assert 40e6 <= memory.read() < 45e6
    assert before.numel() > 0
