"""The share of matrix products: most of a product, little of anything else."""

import pytest
import torch

from clipgnn.bench.products import product_share


def test_share() -> None:
    matrix, number = torch.ones(400, 400), torch.ones(400, 400, 10)
    assert product_share(lambda: matrix @ matrix) > 0.6
    assert product_share(lambda: number.exp()) == 0
    both = product_share(lambda: (matrix @ matrix, number.exp(), number.exp()))
    assert 0 < both < product_share(lambda: matrix @ matrix)


@pytest.mark.gpu
@pytest.mark.filterwarnings("default")  # of the profiler
def test_share_on_a_gpu() -> None:
    matrix, number = torch.ones(400, 400, device="cuda"), torch.ones(400, 400, device="cuda")
    assert product_share(lambda: matrix @ matrix, "cuda") == 1
    assert product_share(lambda: number.exp(), "cuda") == 0
    assert 0 < product_share(lambda: (matrix @ matrix, number.exp()), "cuda") < 1
