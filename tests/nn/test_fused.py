"""Fused kernels against the layers of CLIP in float64: outputs, gradients, running averages.

Without a GPU, Triton's interpreter runs the kernels.
"""

from typing import Any

import pytest
import torch
from tests.graphs.examples import assembler_of
from tests.nn.fused_cases import DEVICES, LABELED, TWO_BATCHES, Case, random_graphs

from clipgnn.coloring.random import HashedSampler
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.clip import CLIP
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
        for name in ("rows.WEIGHT_PARTS", "attributes.NODE_PARTS", "attributes.COLOR_PARTS"):
            monkeypatch.setattr(f"clipgnn.ops.kernels.launch.{name}", 2)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("graphs", "parameters"),
    [
        pytest.param(LABELED, {"num_colorings": 3, "num_layers": 3}, id="labels"),
        pytest.param(LABELED, {"num_colorings": 2, "num_layers": 1}, id="one layer"),
        pytest.param(LABELED, {"num_colorings": 0, "num_layers": 2}, id="0-CLIP"),
        pytest.param(
            {"sizes": [3, 6, 4, 9, 5, 7], "channels": 20},
            {"num_colorings": 1, "num_layers": 2},
            id="attributes",
        ),
        pytest.param(
            {"sizes": [3, 6, 4, 9, 5, 7], "channels": 70},
            {"num_colorings": 2, "num_layers": 1},
            id="more attributes than a tile has",
        ),
        pytest.param(
            {"sizes": [3, 1, 4, 5, 5, 6], "weighted": True},
            {"num_colorings": 2, "num_layers": 2, "dropout": 0.5},
            id="weights and dropout",
        ),
    ],
)
def test_training(device: str, graphs: dict[str, Any], parameters: dict[str, Any]) -> None:
    Case(CLIP, random_graphs(**graphs), device, hidden_channels=12, **parameters).compare(
        TWO_BATCHES
    )


@pytest.mark.parametrize("device", DEVICES)
def test_more_colors_than_a_tile_has(device: str) -> None:
    graphs = random_graphs([75, 5, 4, 7])
    Case(CLIP, graphs, device, hidden_channels=5, num_colorings=1, num_layers=1).compare(
        [[0, 1, 2], [2, 3, 1]]
    )


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("num_graphs", "num_colorings", "hidden_channels"), [(70, 8, 64), (140, 2, 32), (20, 300, 16)]
)
def test_large_batches(num_graphs: int, num_colorings: int, hidden_channels: int) -> None:
    sizes = [3 + number % 20 for number in range(num_graphs + 2)]
    case = Case(
        CLIP,
        random_graphs(sizes, labels=5),
        "cuda",
        hidden_channels=hidden_channels,
        num_colorings=num_colorings,
        num_layers=3,
    )
    batches = [list(range(num_graphs)), list(range(2, num_graphs + 2))]
    # Of 3,520 rows in 32 channels, the activation nearest to 0 is 9e-8.
    case.compare(batches, other_sides=0.01)


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_are_computed_once(device: str) -> None:
    case = Case(
        CLIP, random_graphs(**LABELED), device, hidden_channels=4, num_colorings=1, num_layers=1
    )
    network = case.network(torch.float32)
    assembler = assembler_of(case.graphs)
    graph_ids = torch.tensor([[0, 1], [2, 3]], device=device)
    batch = assembler.batch(graph_ids, assembler.capacity_for(graph_ids).rounded_up(32))
    seeds, counter = torch.tensor([5, 6], device=device), torch.tensor(3, device=device)
    network.has_kernels = lambda batch: True  # type: ignore[method-assign]
    outputs = network.forward_batch(batch, HashedSampler().sample(batch, 1, seeds, counter))
    outputs.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="once only"):
        outputs.sum().backward()


@pytest.mark.parametrize("device", DEVICES)
def test_evaluation_uses_running_averages(device: str) -> None:
    """Two steps, so that averages are neither initial values nor those of a single step."""
    case = Case(
        CLIP, random_graphs(**LABELED), device, hidden_channels=8, num_colorings=2, num_layers=1
    )
    case.compare(TWO_BATCHES, steps=2)
    case.compare(TWO_BATCHES, training=False)


@pytest.mark.parametrize("device", DEVICES)
def test_a_constant_channel_is_not_amplified(device: str) -> None:
    """Without colors and attributes, all nodes of regular graphs are equal in every channel."""
    sizes = [4, 5, 6]
    graphs = random_graphs(sizes)
    sources = [torch.arange(size) for size in sizes]
    targets = [(own + 1) % size for own, size in zip(sources, sizes, strict=True)]
    both = [torch.cat([a, b]) for a, b in zip(sources, targets, strict=True)]
    back = [torch.cat([b, a]) for a, b in zip(sources, targets, strict=True)]
    cycles = PackedGraphs(
        name="cycles",
        x=graphs.x,
        in_channels=1,
        edge_index=torch.stack([torch.cat(both), torch.cat(back)]),
        node_pointers=graphs.node_pointers,
        edge_pointers=2 * graphs.node_pointers,
        y=graphs.y,
    )
    case = Case(CLIP, cycles, device, hidden_channels=6, num_colorings=0, num_layers=2)
    case.compare([[0, 1, 2], [2, 1, 0]])


@pytest.mark.parametrize("device", DEVICES)
def test_members_and_padding_do_not_change_any_bit(device: str) -> None:
    case = Case(
        CLIP, random_graphs(**LABELED), device, hidden_channels=8, num_colorings=2, num_layers=2
    )
    alone = case.run([[0, 3, 1], [0, 3, 1]], fused=True)
    beside = case.run([[0, 3, 1], [4, 2, 3]], fused=True)  # another member, a larger capacity
    assert torch.equal(alone[0]["outputs"][0], beside[0]["outputs"][0])
    for name, own in alone[1].items():
        assert torch.equal(own[0], beside[1][name][0]), name


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("coloring", [0, 1, 2])
def test_the_maximum_over_colorings_keeps_nan(device: str, coloring: int) -> None:
    """Otherwise a member that has diverged would not be found."""
    from clipgnn.ops.kernels import head

    total = torch.zeros(1, 2, 3, 4, device=device)
    total[0, 0, coloring] = torch.nan
    sizes = torch.ones(2, dtype=torch.int64, device=device)
    weight, bias = torch.eye(4, device=device)[None], torch.zeros(1, 4, device=device)
    pooled = torch.empty(1, 2, 4, device=device)
    winners = torch.empty(1, 2, 4, dtype=torch.int32, device=device)
    arguments = (total, sizes, weight, bias, pooled, winners, 2, 3, 4)
    head.max_over_colorings[(1, 1)](*arguments, GRAPHS=16, WIDTH=16, PRECISION="tf32x3")
    assert pooled[0, 0].isnan().all()
    assert torch.equal(pooled[0, 1], torch.zeros(4, device=device))


@pytest.mark.parametrize("device", DEVICES)
def test_a_member_that_diverged_is_found(device: str) -> None:
    case = Case(
        CLIP, random_graphs(**LABELED), device, hidden_channels=8, num_colorings=2, num_layers=1
    )
    original = case.network

    def broken(dtype: torch.dtype) -> Network:
        network = original(dtype)
        with torch.no_grad():
            network.get_parameter("layers.0.phi.first.weight")[0] = torch.nan
        return network

    case.network = broken  # type: ignore[method-assign]
    results, _, _ = case.run([[0, 3, 1], [4, 2, 3]], fused=True, training=False)
    assert not results["outputs"][0].isfinite().any()
    assert results["outputs"][1].isfinite().all()


@pytest.mark.parametrize("device", DEVICES)
def test_empty_graphs_and_batches_of_padding(device: str) -> None:
    """The first member has only padding, the second a graph without nodes."""
    case = Case(
        CLIP, random_graphs([3, 0, 4, 5], labels=2), device, hidden_channels=5, num_colorings=3
    )
    case.compare([[4, 4, 4], [0, 1, 3]])
