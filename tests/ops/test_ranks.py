"""Random ranks within groups: the kernel against the operations of torch."""

import pytest
import torch
from tests.graphs.examples import assembler_of, packed

from clipgnn.graphs.assembly import Capacity
from clipgnn.ops.ranks import hashed_ranks

pytestmark = [
    pytest.mark.needs("triton"),
    # The interpreter computes with NumPy; products in hashes overflow on purpose.
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_kernel(device: str) -> None:
    from clipgnn.ops.kernels.colorings import launch

    graphs = packed([5, 40, 3])
    chosen = torch.tensor([[1, 0], [2, 1]])
    batch = assembler_of(graphs).batch(chosen, Capacity(64, 0))
    seeds, counter = torch.tensor([3, -4]), torch.tensor(11)
    expected = hashed_ranks(
        seeds, counter, 4, batch.same_group, batch.node_ids, batch.largest_group
    )
    same = batch.same_group
    found = launch(
        seeds.to(device),
        counter.to(device),
        4,
        same.begin.to(device),
        same.count.to(device),
        same.first.to(device),
        same.col.to(device),
        batch.largest_group,
    ).cpu()
    assert batch.node_mask is not None
    nodes = batch.node_mask.flatten()
    assert torch.equal(found[:, nodes], expected[:, nodes])
    # Padding has many colors: additions of its gradients to one row would be serialized.
    colors = found[:, ~nodes].unique()
    assert colors.numel() > batch.largest_group // 2
    assert int(colors.max()) < batch.largest_group
