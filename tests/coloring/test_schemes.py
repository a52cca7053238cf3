"""The contract of coloring schemes: one suite that every scheme runs through."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.graphs.examples import assembler_of, packed
from tests.training.examples import some_graphs
from torch import Tensor
from typing_extensions import override

from clipgnn import CLIP, save
from clipgnn.coloring import Sampler, Scheme, sample_colorings
from clipgnn.coloring.canonical import Canonical
from clipgnn.coloring.groups import Partition
from clipgnn.coloring.individualized import Individualized
from clipgnn.coloring.orbits import Orbits
from clipgnn.coloring.precomputed import All, Precomputed
from clipgnn.coloring.random import Permutations, Random
from clipgnn.coloring.refined import Refined
from clipgnn.coloring.schemes import scheme_named
from clipgnn.coloring.stream import ColoringStream, InMemoryColorings
from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.assembly import Assembler, Capacity
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import COLORINGS
from clipgnn.training import ModelSpec, Recipe, Split, train

K = 3
SCHEMES: dict[str, type[Scheme]] = {
    "random": Random,
    "permutations": Permutations,
    "all": All,
    "refined": Refined,
    "orbits": Orbits,
    "canonical": Canonical,
    "individualized": Individualized,
    "precomputed": Precomputed,
}
every_scheme = pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            make,
            id=name,
            marks=[pytest.mark.needs("igraph")] if name in ("orbits", "canonical") else [],
        )
        for name, make in SCHEMES.items()
    ],
)


def partition_of(scheme: Scheme, graphs: PackedGraphs) -> Partition:
    return scheme.partition(graphs.to_batch())


def distinct_colors(scheme: Scheme, graphs: PackedGraphs) -> Partition:
    """The nodes that must get distinct colors, whatever the scheme computes first."""
    paper = Permutations() if isinstance(scheme, Permutations) else Random()
    return partition_of(paper, graphs)


def small_graphs() -> PackedGraphs:
    """Graphs of at most four nodes, one of them without nodes, with colorings."""
    graphs = packed([4, 3, 0, 2, 4, 1])
    batch = graphs.to_batch()
    stream = Random().stream(batch, Random().partition(batch), 5, torch.Generator().manual_seed(0))
    return replace(graphs, colorings=stream.all())


def is_coloring(coloring: Tensor, partition: Partition) -> bool:
    """Whether the nodes of each group have the colors from 0 to its size - 1."""
    pairs = set(zip(partition.groups.tolist(), coloring.tolist(), strict=True))
    sizes = partition.sizes[partition.groups]
    return len(pairs) == coloring.numel() and bool((coloring < sizes).all())


def test_names() -> None:
    for name in COLORINGS:
        scheme = scheme_named(name)
        assert scheme.name == name
        assert type(scheme) is SCHEMES[name]
        assert scheme_named(scheme) is scheme


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize(
    ("coloring", "said"),
    [
        ("ramdom", r"one of 'random', 'all', .*. Got 'ramdom'. Did you mean 'random'\?"),
        ("permutations", "Got 'permutations'"),
        (3, "Got 3"),
        (Random, "Got <class"),
    ],
)
def test_unknown_names(coloring: object, said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        scheme_named(coloring)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=said):
        CLIP(2, 2, coloring=coloring)  # type: ignore[arg-type]


@every_scheme
def test_groups_are_counted_inside_each_graph(make: type[Scheme]) -> None:
    graphs = small_graphs()
    scheme = make()
    partition = partition_of(scheme, graphs)
    zero = torch.zeros_like(partition.groups)
    for graph in range(len(graphs)):
        own = graphs.graph_of_node == graph
        if bool(own.any()):
            alone = partition_of(scheme, graphs.subset(torch.tensor([graph])))
            assert torch.equal(partition.local_groups[own], alone.groups)
            found = partition.colors_of_ranks(zero)[own]
            assert torch.equal(found, alone.colors_of_ranks(torch.zeros_like(alone.groups)))


@every_scheme
def test_streams_hold_colorings(make: type[Scheme]) -> None:
    if make is Precomputed:
        return
    graphs = small_graphs()
    partition = partition_of(make(), graphs)
    generator = torch.Generator().manual_seed(0)
    stream = make().stream(graphs.to_batch(), partition, K, generator)
    colorings = stream.all()
    assert colorings.shape == (stream.max_count, graphs.x.shape[0])
    distinct = distinct_colors(make(), graphs)
    assert all(is_coloring(coloring, distinct) for coloring in colorings)
    assert all(is_coloring(coloring, distinct) for coloring in stream.sample(2, generator))
    keep = torch.tensor([False, True, False, True, True, False])
    part = stream.part(keep, 0, stream.max_count)
    assert torch.equal(part, colorings[:, keep[graphs.graph_of_node]])
    prepared = make().prepare(graphs, K)
    assert prepared is None or torch.equal(prepared, colorings)
    assert int(colorings.max()) + 1 == make().num_colors(graphs, partition)


@every_scheme
def test_samplers_color_every_member_by_itself(make: type[Scheme]) -> None:
    """A member's colorings do not depend on the others, on padding or on positions."""
    graphs = small_graphs()
    scheme = make()
    partition = partition_of(scheme, graphs)
    assembler = Assembler(graphs, partition.local_groups)
    sampler = scheme.sampler(graphs, partition)
    chosen = torch.tensor([[4, 0, 2], [1, 5, assembler.padding]])
    seeds, counter = torch.tensor([11, -12]), torch.tensor(3)
    needed = assembler.capacity_for(chosen)
    batch = assembler.batch(chosen, Capacity(needed.nodes + 5, needed.edges + 5))
    colorings = sampler.sample(batch, K, seeds, counter)
    assert colorings.shape == (sampler.num_colorings(K), batch.num_nodes)
    assert batch.node_mask is not None
    padding = colorings[:, ~batch.node_mask.flatten()]
    assert int(padding.max()) < scheme.num_colors(graphs, partition)
    for member in range(2):
        own = chosen[member][chosen[member] != assembler.padding]
        alone = assembler.batch(own[None], assembler.capacity_for(own[None]), padded=False)
        expected = sampler.sample(alone, K, seeds[member : member + 1], counter)
        found = colorings.view(colorings.shape[0], 2, -1)[:, member, : alone.num_nodes]
        assert torch.equal(found, expected)
        distinct = distinct_colors(scheme, graphs.subset(own))
        assert all(is_coloring(coloring, distinct) for coloring in expected)


class Halves(Scheme):
    """A scheme of a user: the nodes of each graph in two groups, by their positions."""

    name = "halves"

    @override
    def groups(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        position = torch.arange(batch.numel()) - torch.searchsorted(batch, batch)
        return position % 2

    @override
    def stream(
        self,
        graphs: ExactBatch,
        partition: Partition,
        k: int,
        generator: torch.Generator | None,
    ) -> ColoringStream:
        drawn = sample_colorings(partition.groups, k, partition.graph_of_node, generator)
        return InMemoryColorings(drawn, partition.graph_of_node, partition.num_graphs)

    @override
    def sampler(self, graphs: PackedGraphs, partition: Partition) -> Sampler:
        return Random().sampler(graphs, partition)


def test_a_scheme_of_a_user(tmp_path: Path) -> None:
    graphs = packed([4, 3, 4])
    model = CLIP.from_graphs(graphs, coloring=Halves(), num_colorings=K, hidden_channels=4)
    assert model.config.num_colors == 2
    assert model.member(0).scheme is model.scheme
    exact = graphs.to_batch()
    outputs = [
        model.double().eval()(
            exact.x,
            exact.edge_index,
            exact.graph_of_node,
            generator=torch.Generator().manual_seed(1),
            **given,
        )
        for given in ({}, {"coloring": Halves()})
    ]
    assert torch.equal(*outputs)
    with pytest.raises(InvalidParameterError, match="Got Halves"):
        save(model, tmp_path / "model")


def test_groups_of_the_assembler_decide_about_hashed_colorings() -> None:
    """The groups of identical attributes have fewer colors than whole graphs have."""
    graphs = packed([6, 6])
    chosen = torch.tensor([[0, 1]])
    largest = []
    for scheme in (Random(), Permutations()):
        assembler = Assembler(graphs, partition_of(scheme, graphs).local_groups)
        batch = assembler.batch(chosen, assembler.capacity_for(chosen))
        sampler = scheme.sampler(graphs, partition_of(scheme, graphs))
        drawn = sampler.sample(batch, 8, torch.tensor([0]), torch.tensor(0))
        largest.append(int(drawn.max()) + 1)
    assert largest == [assembler_of(graphs).groups.largest, 6]
    assert largest[0] < 6


class SparseNumbers(Random):
    """Groups with numbers far above the number of nodes."""

    name = "sparse numbers"

    def groups(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return 1000 * super().groups(x, edge_index, batch)


def test_groups_may_have_any_numbers_in_training() -> None:
    graphs, split = some_graphs(8), [Split(range(6), [6, 7])]
    parameters = {"num_colorings": 2, "hidden_channels": 4, "num_layers": 1}
    recipe = Recipe(epochs=2, batch_size=3)
    curves = []
    for scheme in (Random(), SparseNumbers()):
        spec = ModelSpec("clip", {**parameters, "coloring": scheme})
        [trained] = train(graphs, spec, recipe, split, [0])
        curves.append(trained.history.train_loss)
    assert curves[0] == curves[1]
