"""The paired comparison: its statistic, and what networks distinguish."""

import pickle
import sys
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.stats import chi2

from clipgnn import PackedGraphs
from clipgnn.errors import DivergedPairError, InvalidParameterError, TooManyColoringsError
from clipgnn.experiments.reading import find_experiment, read_experiment
from clipgnn.graphs.relabeling import relabeled
from clipgnn.training import ModelSpec
from clipgnn.training.pairs import (
    LIMIT,
    MAX_ROWS,
    PairComparison,
    _Comparison,
    _copies,
    _pairs_at_once,
    compare_pairs,
    hotelling,
)

pytestmark = pytest.mark.needs("igraph")

SMALL = {"hidden_channels": 16, "num_layers": 2}


def regular_pair() -> PackedGraphs:
    """A hexagon and two triangles, and a path and a star, which message passing distinguishes."""
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    graphs = [nx.cycle_graph(6), triangles, nx.path_graph(5), nx.star_graph(4)]
    return PackedGraphs.from_networkx(graphs)


def test_canonical_colorings_distinguish_what_message_passing_does_not() -> None:
    canonical = ModelSpec("clip", {**SMALL, "coloring": "canonical"})
    for own in compare_pairs(regular_pair(), canonical, [0, 1], epochs=5):
        assert own.separated
        assert own.reliable
        assert own.train_loss.shape == (5,)
    first, second = compare_pairs(regular_pair(), ModelSpec("gin", SMALL), [0, 1], epochs=5)
    assert not first.separated
    assert second.separated
    assert first.reliable
    assert second.reliable


def test_given_copies_are_used_as_they_are() -> None:
    pairs = regular_pair()
    given = pairs.subset(torch.tensor([0, 1] * 32 + [2, 3] * 32))
    copies = _copies(given, [5, 6])
    of_both = torch.cat([torch.arange(64), torch.arange(128, 192)])
    assert copies.subset(of_both).fingerprint == given.fingerprint
    of_first = copies.subset(torch.arange(64, 128))
    assert not torch.equal(of_first.edge_index, given.subset(torch.tensor([0] * 64)).edge_index)
    assert all(nx.is_isomorphic(own, nx.cycle_graph(6)) for own in of_first.to_networkx())
    canonical = ModelSpec("clip", {**SMALL, "coloring": "canonical"})
    for own in compare_pairs(given, canonical, [0, 1], epochs=2):
        assert own.separated
        assert own.reliable


def test_isomorphic_graphs_are_not_distinguished() -> None:
    graphs = regular_pair().subset(torch.tensor([0, 0]))
    for parameters in ({"coloring": "canonical"}, {"num_colorings": 2}):
        [own] = compare_pairs(graphs, ModelSpec("clip", {**SMALL, **parameters}), [3], epochs=5)
        assert not own.separated


def test_networks_that_distinguish_copies_are_unreliable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Embeddings of copies of the first graph depend on their place in a batch."""
    embeddings = _Comparison._embeddings

    def biased(self: _Comparison, chosen: torch.Tensor) -> torch.Tensor:
        place = torch.arange(chosen.shape[1]) % 2
        return embeddings(self, chosen) + 10.0 * (place * (chosen % 128 >= 64))[..., None]

    graphs = regular_pair().subset(torch.tensor([0, 0]))
    spec = ModelSpec("clip", {**SMALL, "coloring": "canonical"})
    [sound] = compare_pairs(graphs, spec, [3], epochs=1)
    assert (sound.separated, sound.reliable) == (False, True)
    monkeypatch.setattr(_Comparison, "_embeddings", biased)
    [own] = compare_pairs(graphs, spec, [3], epochs=1)
    assert own.within > 1e6
    assert own.between == pytest.approx(sound.between)
    assert (own.separated, own.reliable) == (False, False)


def test_random_colorings_of_copies_differ() -> None:
    spec = ModelSpec("clip", {**SMALL, "num_colorings": 1})
    for own in compare_pairs(regular_pair(), spec, [0, 1], epochs=1):
        assert 1e-3 < own.within < LIMIT


def test_the_recipe_is_that_of_brec(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adam, 20 epochs of 4 batches, 8 copies of each graph in turn; then all copies once."""
    given, batches = [], []
    adam, embeddings = torch.optim.Adam, _Comparison._embeddings

    def recorded_adam(weights: Any, **options: Any) -> torch.optim.Adam:
        given.append(options)
        return adam(weights, **options)

    def recorded(self: _Comparison, chosen: torch.Tensor) -> torch.Tensor:
        batches.append((self.network.training, chosen.tolist()))
        return embeddings(self, chosen)

    monkeypatch.setattr(torch.optim, "Adam", recorded_adam)
    monkeypatch.setattr(_Comparison, "_embeddings", recorded)
    compare_pairs(regular_pair().subset(torch.tensor([0, 1])), ModelSpec("gin", SMALL), [0])
    assert given == [{"lr": 1e-4, "weight_decay": 1e-4}]
    in_training = [own for training, own in batches if training]
    assert len(in_training) == 20 * 4
    assert in_training[:4] == [[[*range(start, start + 16)]] for start in range(0, 64, 16)]
    evaluated = [number for training, [own] in batches if not training for number in own]
    assert evaluated == [*range(128)]
    for trial in read_experiment(find_experiment("expressivity")).trials():
        recipe = [trial.recipe[own] for own in ("epochs", "batch_size", "learning_rate")]
        assert recipe == [20, 16, 1e-4]


def test_members_do_not_depend_on_the_other_pairs() -> None:
    """As on a GPU, where all pairs are trained together."""
    spec = ModelSpec("clip", {**SMALL, "num_colorings": 2, "num_colors": 6})
    device = torch.device("cpu")
    together = _Comparison(regular_pair(), spec, [5, 6], device, 16).run(2, 1e-3)
    for number, seed in enumerate([5, 6]):
        pair = regular_pair().subset(torch.tensor([2 * number, 2 * number + 1]))
        [alone] = _Comparison(pair, spec, [seed], device, 16).run(2, 1e-3)
        assert together[number].train_loss == pytest.approx(alone.train_loss, abs=1e-5)
        assert together[number].between == pytest.approx(alone.between, rel=1e-2)


def test_pairs_that_train_together_fit_in_memory() -> None:
    """A batch has 16 graphs of 6 nodes; Ring-GNN has a row for each pair of nodes."""
    for spec, rows in (
        (ModelSpec("gin", SMALL), 6),
        (ModelSpec("clip", {**SMALL, "num_colorings": 64}), 6 * 64),
        (ModelSpec("clip", {**SMALL, "coloring": "all"}), 6 * 720),
        (ModelSpec("clip", {**SMALL, "coloring": "canonical"}), 6),
        (ModelSpec("clip", {**SMALL, "num_colorings": 0}), 6),
        (ModelSpec("ring-gnn", {}), 36),
    ):
        assert _pairs_at_once(regular_pair(), spec, 16) == MAX_ROWS // (16 * rows)
    path = PackedGraphs.from_networkx([nx.path_graph(6000)] * 2)
    assert _pairs_at_once(path, ModelSpec("clip", {"num_colorings": 1024}), 16) == 1


def test_hotelling_is_the_textbook_statistic_divided_by_the_number_of_pairs() -> None:
    """For normal differences n T² is close to a χ² variable, if n is large."""
    generator = torch.Generator().manual_seed(0)
    draws = torch.randn(2000, 400, 4, generator=generator, dtype=torch.float64)
    exceeding = (400 * hotelling(draws) > chi2.ppf(0.9, 4)).double().mean()
    assert 0.08 < float(exceeding) < 0.13
    shifted = torch.zeros(1, 8, 2, dtype=torch.float64) + torch.tensor([3e-3, 0.0])
    assert float(hotelling(shifted)) == pytest.approx(9e-6 / 1e-7)
    assert float(hotelling(shifted)) > LIMIT


def test_hotelling_equals_a_direct_computation_of_few_differences() -> None:
    """With the unbiased covariance: with five copies, another divisor changes it by a quarter."""
    generator = torch.Generator().manual_seed(0)
    differences = torch.randn(3, 5, 2, generator=generator, dtype=torch.float64)
    for own, statistic in zip(differences.numpy(), hotelling(differences).tolist(), strict=True):
        mean = own.mean(0)
        expected = mean @ np.linalg.inv(np.cov(own.T) + 1e-7 * np.eye(2)) @ mean
        assert statistic == pytest.approx(expected, rel=1e-9)


def test_the_limit_is_that_of_brec() -> None:
    below, above = (PairComparison(np.zeros(1), own, own) for own in (72.33, 72.35))
    assert (below.separated, below.reliable) == (False, True)
    assert (above.separated, above.reliable) == (True, False)


def comparison(parameters: dict[str, Any]) -> _Comparison:
    spec = ModelSpec("clip", {**SMALL, **parameters})
    return _Comparison(regular_pair(), spec, [0, 1], torch.device("cpu"), 16)


def test_embeddings_have_the_channels_of_brec_and_new_colorings_in_every_step() -> None:
    compared = comparison({"num_colorings": 1})
    compared.network.eval()
    chosen = compared.chosen[:, :4]
    with torch.no_grad():
        first, second = (compared._embeddings(chosen) for _ in range(2))
    assert first.shape == (2, 4, 16)
    assert not torch.allclose(first, second, rtol=1e-3)


def test_training_changes_the_weights_and_lowers_the_loss() -> None:
    compared = comparison({"coloring": "canonical"})
    before = [own.detach().clone() for own in compared.network.parameters()]
    loss = compared._train(3, 1e-2)
    after = compared.network.parameters()
    assert not all(torch.equal(*own) for own in zip(before, after, strict=True))
    assert (loss[:, -1] < loss[:, 0] - 1e-3).all()


def test_the_copies_of_each_pair_have_a_seed_of_their_own() -> None:
    hexagons = regular_pair().subset(torch.tensor([0, 0, 0, 0]))
    for seeds, equal in (([5, 6], False), ([5, 5], True)):
        copies = _copies(hexagons, seeds)
        first, second = copies.edge_index.chunk(2, 1)
        assert torch.equal(first, second) == equal
    edges = {tuple(own.edge_index.flatten().tolist()) for own in map(copies.__getitem__, range(64))}
    assert len(edges) > 32


def test_relabeled_graphs_are_isomorphic() -> None:
    graphs = regular_pair()
    bits = torch.randint(2**62, (graphs.x.shape[0],), generator=torch.Generator().manual_seed(0))
    other = relabeled(graphs, bits)
    assert not torch.equal(other.edge_index, graphs.edge_index)
    for first, second in zip(graphs.to_networkx(), other.to_networkx(), strict=True):
        assert nx.is_isomorphic(first, second)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": [0]}, "must be pairs"),
        ({"batch_size": 3}, "an even number of at least 2"),
        ({"batch_size": 0}, "'batch_size' parameter .* Got 0"),
        ({"epochs": 0}, "'epochs' parameter .* Got 0"),
        ({"learning_rate": -1.0}, "'learning_rate' parameter .* Got -1.0"),
    ],
)
def test_invalid_arguments(options: dict[str, object], message: str) -> None:
    arguments = {"seeds": [0, 1], **options}
    with pytest.raises(InvalidParameterError, match=message):
        compare_pairs(regular_pair(), ModelSpec("clip"), **arguments)  # type: ignore[arg-type]


def test_an_error_names_the_pair() -> None:
    graphs = [nx.cycle_graph(5), nx.path_graph(5), nx.cycle_graph(9), nx.path_graph(9)]
    spec = ModelSpec("clip", {"coloring": "all"})
    with pytest.raises(TooManyColoringsError, match=r"of pair 2: .*at most 1,024.*362,880"):
        compare_pairs(PackedGraphs.from_networkx(graphs), spec, [0, 1], epochs=1)


def test_a_training_that_diverges_names_its_pair() -> None:
    with pytest.raises(DivergedPairError, match=r"pair 1 are not, with learning_rate=1e\+30"):
        compare_pairs(regular_pair(), ModelSpec("gin", SMALL), [0, 1], epochs=2, learning_rate=1e30)
    for scale in (np.nan, 1e200):
        assert not np.isfinite(float(hotelling(torch.full((1, 32, 4), scale, dtype=torch.float64))))
    singular = (1e20 * torch.arange(32.0, dtype=torch.float64))[None, :, None].expand(1, 32, 4)
    assert np.isnan(float(hotelling(singular)))


def test_the_pair_is_that_whose_numbers_are_not_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = [(1.0, 1.0), (1.0, float("inf"))]

    def run(self: _Comparison, *_: object) -> list[PairComparison]:
        return [PairComparison(np.zeros(1), *statistics.pop(0))]

    monkeypatch.setattr(_Comparison, "run", run)
    with pytest.raises(DivergedPairError, match="pair 2") as caught:
        compare_pairs(regular_pair(), ModelSpec("gin", SMALL), [0, 1])
    assert caught.value.pair == 2


def test_rounding_does_not_distinguish_graphs() -> None:
    """Embeddings are sums of thousands, whose rounding in single precision is above the ridge."""
    hub = nx.empty_graph(1)
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    graphs = [nx.full_join(own, hub, rename=("a", "b")) for own in (nx.cycle_graph(6), triangles)]
    pairs = PackedGraphs.from_networkx(graphs).subset(torch.tensor([0, 1] * 3))
    spec = ModelSpec("gin", {"num_layers": 3, "hidden_channels": 32})
    for own in compare_pairs(pairs, spec, [0, 1, 2], epochs=2):
        assert own.between < 1e-6
        assert own.within < 1e-6


@pytest.mark.parametrize("name", ["rp-gin", "ring-gnn", "dgcnn", "dcnn", "patchy-san"])
def test_every_baseline_has_embeddings(name: str) -> None:
    _, own = compare_pairs(regular_pair(), ModelSpec(name, {}), [0, 1], epochs=1)
    assert own.between >= 0
    assert own.within >= 0


def test_networks_without_colors_need_no_labeling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    graphs = PackedGraphs.from_networkx([nx.cycle_graph(6), nx.cycle_graph(7)])
    parameters: dict[str, Any] = {
        "coloring": "canonical",
        "num_colorings": 0,
        "hidden_channels": 4,
    }
    [found] = compare_pairs(graphs, ModelSpec("clip", parameters), [0], epochs=1)
    assert found.separated


def test_a_diverged_pair_can_be_sent_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(DivergedPairError("Pair 3 diverged.", 3)))
    assert (str(error), error.pair) == ("Pair 3 diverged.", 3)
