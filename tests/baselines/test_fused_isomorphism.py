"""Fused kernels against the layers of GIN and RP-GIN in float64: outputs, gradients, averages.

Without a GPU, Triton's interpreter runs the kernels.
"""

from typing import Any

import pytest
import torch
from tests.nn.fused_cases import DEVICES, LABELED, TWO_BATCHES, Case, random_graphs

from clipgnn.baselines.gin import GIN
from clipgnn.baselines.rp_gin import RPGIN
from clipgnn.nn.network import Network

pytestmark = [
    pytest.mark.needs("triton"),
    pytest.mark.usefixtures("without_shape_checks"),
    # The interpreter computes with NumPy; products in hashes overflow on purpose.
    pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning"),
]


@pytest.fixture(autouse=True)
def few_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute few partial sums, since the interpreter runs one program after the other."""
    if not torch.cuda.is_available():
        monkeypatch.setattr("clipgnn.ops.kernels.launch.rows.WEIGHT_PARTS", 2)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("kind", "graphs", "parameters"),
    [
        pytest.param(GIN, LABELED, {"num_layers": 3}, id="labels"),
        pytest.param(GIN, LABELED, {"num_layers": 1}, id="one layer"),
        pytest.param(
            GIN, {"sizes": [3, 6, 4, 9, 5, 7], "channels": 20}, {"num_layers": 2}, id="attributes"
        ),
        pytest.param(
            GIN,
            {"sizes": [3, 1, 4, 5, 5, 6], "weighted": True},
            {"num_layers": 2, "dropout": 0.5},
            id="weights and dropout",
        ),
        pytest.param(RPGIN, LABELED, {"num_layers": 2, "num_identities": 4}, id="identities"),
    ],
)
def test_training(
    device: str, kind: type[Network], graphs: dict[str, Any], parameters: dict[str, Any]
) -> None:
    case = Case(kind, random_graphs(**graphs), device, hidden_channels=12, **parameters)
    case.compare(TWO_BATCHES)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("kind", "parameters"), [(GIN, {}), (RPGIN, {"num_identities": 4, "num_permutations": 3})]
)
def test_evaluation_uses_running_averages(
    device: str, kind: type[Network], parameters: dict[str, Any]
) -> None:
    """Two steps, so that averages are neither initial values nor those of a single step."""
    case = Case(
        kind, random_graphs(**LABELED), device, hidden_channels=8, num_layers=2, **parameters
    )
    case.compare(TWO_BATCHES, steps=2)
    case.compare(TWO_BATCHES, training=False)


@pytest.mark.gpu
@pytest.mark.parametrize(("num_graphs", "hidden_channels"), [(70, 64), (140, 32)])
def test_large_batches(num_graphs: int, hidden_channels: int) -> None:
    sizes = [3 + number % 20 for number in range(num_graphs + 2)]
    case = Case(
        GIN, random_graphs(sizes, labels=5), "cuda", hidden_channels=hidden_channels, num_layers=3
    )
    batches = [list(range(num_graphs)), list(range(2, num_graphs + 2))]
    case.compare(batches, other_sides=0.01)


@pytest.mark.parametrize("device", DEVICES)
def test_members_and_padding_do_not_change_any_bit(device: str) -> None:
    case = Case(GIN, random_graphs(**LABELED), device, hidden_channels=8, num_layers=2)
    alone = case.run([[0, 3, 1], [0, 3, 1]], fused=True)
    beside = case.run([[0, 3, 1], [4, 2, 3]], fused=True)  # another member, a larger capacity
    assert torch.equal(alone[0]["outputs"][0], beside[0]["outputs"][0])
    for name, own in alone[1].items():
        assert torch.equal(own[0], beside[1][name][0]), name


@pytest.mark.parametrize("device", DEVICES)
def test_empty_graphs_and_batches_of_padding(device: str) -> None:
    """The first member has only padding, the second a graph without nodes."""
    graphs = random_graphs([3, 0, 4, 5], labels=2)
    Case(GIN, graphs, device, hidden_channels=5, num_layers=2).compare([[4, 4, 4], [0, 1, 3]])


@pytest.mark.parametrize("parameters", [{"learn_epsilon": True}, {"norm": None}, {"num_maps": 3}])
def test_variants_without_kernels(parameters: dict[str, Any]) -> None:
    graphs = random_graphs(**LABELED)
    assert RPGIN.from_graphs(graphs).network.has_fused_layers
    assert not RPGIN.from_graphs(graphs, **parameters).network.has_fused_layers
