"""Splits in every form, and members with different splits, together and one by one."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.examples import curves, engine_for, regressed, some_graphs

from clipgnn.errors import InvalidParameterError
from clipgnn.training import ModelSpec, Recipe, Split, fit_kernel, train
from clipgnn.training.members import Training

SMALL = ModelSpec("clip", {"num_colorings": 2, "hidden_channels": 4, "num_layers": 1})
CHOSEN, NUM_GRAPHS = [5, 0, 3], 7
MASK = [graph in CHOSEN for graph in range(NUM_GRAPHS)]
NUMBERS: dict[str, Any] = {
    "list": CHOSEN,
    "tuple": tuple(CHOSEN),
    "int64 tensor": torch.tensor(CHOSEN),
    "int32 tensor": torch.tensor(CHOSEN).int(),
    "uint8 tensor": torch.tensor(CHOSEN).byte(),
    "NumPy int64": np.array(CHOSEN),
    "NumPy int32": np.array(CHOSEN, dtype=np.int32),
    "NumPy uint64": np.array(CHOSEN, dtype=np.uint64),
    "NumPy strided": np.array([5, 9, 0, 9, 3])[::2],
    "list of NumPy integers": [np.int64(number) for number in CHOSEN],
}
MASKS: dict[str, Any] = {
    "list": MASK,
    "tuple": tuple(MASK),
    "tensor": torch.tensor(MASK),
    "NumPy": np.array(MASK),
}


@pytest.mark.parametrize("numbers", NUMBERS.values(), ids=NUMBERS.keys())
def test_numbers_of_graphs(numbers: Any) -> None:
    split = Split(train=numbers, test=numbers, validation=numbers)
    for part in (split.train, split.test, split.validation):
        assert part.dtype == torch.int64
        assert part.tolist() == CHOSEN


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
def test_masks(mask: Any) -> None:
    split = Split(mask, mask, mask)
    for part in (split.train, split.test, split.validation):
        assert part.dtype == torch.int64
        assert part.tolist() == sorted(CHOSEN)


@pytest.mark.parametrize("nothing", [(), [], np.array([]), torch.tensor([]), torch.zeros(0).long()])
def test_an_empty_validation_part(nothing: Any) -> None:
    split = Split([0], [1], nothing)
    assert split.validation.dtype == torch.int64
    assert split.validation.tolist() == Split([0], [1]).validation.tolist() == []


@pytest.mark.parametrize("patience", [None, 2])
def test_training_without_test_graphs(patience: int | None) -> None:
    """Weights, losses and validation scores are those of a training with test graphs."""
    graphs = some_graphs()
    recipe = Recipe(epochs=4, batch_size=4, patience=patience)
    seen: list[Any] = []
    with_test = [Split([0, 1, 2, 3], [6, 7], [4, 5]), Split([0, 1, 2, 6], [4, 5], [3, 7])]
    without = [Split(own.train, validation=own.validation) for own in with_test]
    tested = train(graphs, SMALL, recipe, with_test, [0, 1])
    untested = train(graphs, SMALL, recipe, without, [0, 1], callback=seen.append)
    for one, other in zip(tested, untested, strict=True):
        assert other.history.train_loss == one.history.train_loss
        assert other.history.validation_score == one.history.validation_score
        assert other.history.best_epoch == one.history.best_epoch
        assert other.history.test_score == []
        assert np.isnan(other.score)
        assert len(other.test_outputs) == 0
        assert other.best_test_outputs is None
        assert torch.equal(other.predict_proba(graphs), one.predict_proba(graphs))
    assert all(epoch.test_score.isnan().all() for epoch in seen)


def test_training_on_all_graphs() -> None:
    graphs = some_graphs()
    [trained] = train(graphs, SMALL, Recipe(epochs=2, batch_size=4), [Split(range(8))], [0])
    assert len(trained.history.train_loss) == 2
    assert trained.predict(graphs).shape == (len(graphs),)


def test_a_split_is_a_copy() -> None:
    """Otherwise a mask could change after it was checked."""
    mask, numbers = torch.tensor(MASK), np.array(CHOSEN)
    split = Split(mask, numbers)
    mask[:], numbers[:] = True, 6
    assert (split.train.tolist(), split.test.tolist()) == (sorted(CHOSEN), CHOSEN)


@pytest.mark.needs("grakel")
def test_histories_do_not_depend_on_the_form_of_a_split() -> None:
    graphs, recipe = some_graphs(12), Recipe(epochs=2, batch_size=4)
    inside = torch.arange(12) < 8
    forms = [
        Split(inside, ~inside),
        Split(list(range(8)), np.arange(8, 12)),
        Split(inside.tolist(), (8, 9, 10, 11)),
    ]
    first, *others = (train(graphs, SMALL, recipe, [split], [3])[0].history for split in forms)
    for other in others:
        assert curves(other) == curves(first)
    wl = fit_kernel(graphs, ModelSpec("wl"), forms)
    assert len({(*history.train_loss, *history.test_score) for history in wl}) == 1


@pytest.mark.needs("grakel")
def test_overlap_may_be_allowed() -> None:
    graphs, everything = some_graphs(12), list(range(12))
    split = Split(everything, everything, everything)
    recipe = Recipe(epochs=2, batch_size=4)
    [history] = train(graphs, SMALL, recipe, [split], [3], allow_overlap=True).histories
    assert history.test_score == pytest.approx(history.validation_score)
    [fitted] = fit_kernel(graphs, ModelSpec("wl"), [split], allow_overlap=True)
    assert fitted.test_score[0] == pytest.approx(1 - fitted.train_loss[0])


SIZES = [(16, 5, 0), (16, 9, 3), (15, 3, 8), (14, 4, 0), (13, 1, 11)]
"""Graphs to train on, test on and validate on, all with the same number of steps."""


def _different() -> list[Split]:
    splits = []
    for seed, sizes in enumerate(SIZES):
        order = torch.randperm(30, generator=torch.Generator().manual_seed(seed)).split(
            [*sizes, 30 - sum(sizes)]
        )
        splits.append(Split(*order[:3]))
    return splits


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(
    ("patience", "loss", "parts"),
    [(None, "cross-entropy", True), (1, "cross-entropy", False), (1, "squared-error", True)],
)
def test_members_with_different_splits_train_as_they_do_alone(
    patience: int | None, loss: Any, parts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if parts:  # evaluate a few graphs at a time, so that some members have no graphs in a part
        monkeypatch.setattr("clipgnn.training.engine.MAX_EVALUATED_ROWS", 50)
    graphs = regressed(some_graphs(30)) if loss == "squared-error" else some_graphs(30)
    recipe = Recipe(epochs=6, batch_size=8, learning_rate=0.01, loss=loss, patience=patience)
    splits, seeds = _different(), [5, 6, 7, 8, 9]
    alone = [
        train(graphs, SMALL, recipe, [split], [seed])[0]
        for split, seed in zip(splits, seeds, strict=True)
    ]
    together = train(graphs, SMALL, recipe, splits, seeds, together=True)
    for one, other, split in zip(alone, together, splits, strict=True):
        for curve, same in zip(curves(one.history), curves(other.history), strict=True):
            assert curve == pytest.approx(same, abs=1e-5)
        assert bool(one.history.validation_score) == bool(split.validation.numel())
        assert one.history.best_epoch == other.history.best_epoch
        assert one.test_outputs.shape == (split.test.numel(), other.test_outputs.shape[1])
        torch.testing.assert_close(one.test_outputs, other.test_outputs, rtol=1e-3, atol=1e-3)
        assert (one.best_test_outputs is None) == (split.validation.numel() == 0)
        if one.best_test_outputs is not None:
            torch.testing.assert_close(
                one.best_test_outputs, other.best_test_outputs, rtol=1e-3, atol=1e-3
            )
    lengths = [len(trained.history.train_loss) for trained in alone]
    assert (len(set(lengths)) > 1) == (patience is not None)


@pytest.mark.usefixtures("double")
def test_one_engine_has_all_of_these_members() -> None:
    """The splits above are one group; otherwise the test above would compare nothing."""
    graphs, recipe = some_graphs(30), Recipe(epochs=2, batch_size=8)
    engine = engine_for(graphs, SMALL, recipe, _different(), [5, 6, 7, 8, 9])
    assert engine.steps == 2
    scores = engine.evaluate("validation").scores
    validated = [sizes[2] > 0 for sizes in SIZES]
    assert scores.isfinite().tolist() == validated
    models = Training(engine, range(5)).run()
    assert [bool(trained.history.validation_score) for trained in models] == validated


@pytest.mark.usefixtures("double")
def test_every_pair_of_neighbors_trains_as_alone() -> None:
    """With GIN, which trains folds together on the CPU too."""
    graphs, recipe = some_graphs(30), Recipe(epochs=3, batch_size=8, patience=2)
    spec = ModelSpec("gin", {"num_layers": 2})
    splits = _different()
    alone = [train(graphs, spec, recipe, [split], [4])[0].history for split in splits]
    for first, second in itertools.pairwise(range(len(splits))):
        pair = [splits[first], splits[second]]
        both = train(graphs, spec, recipe, pair, [4, 4], together=True).histories
        for member, history in zip((first, second), both, strict=True):
            for curve, same in zip(curves(alone[member]), curves(history), strict=True):
                assert curve == pytest.approx(same, abs=1e-9)


@pytest.mark.parametrize("spec", [SMALL, ModelSpec("gin", {"num_layers": 1})])
@pytest.mark.parametrize("together", [False, True])
def test_fresh_graphs_are_scored_and_change_nothing(spec: ModelSpec, together: bool) -> None:
    graphs, recipe = some_graphs(30), Recipe(epochs=4, batch_size=8)
    splits = [Split(range(12), range(12, 16), range(16, 20)), Split(range(8, 20), range(4))]
    fresh = [
        Split(split.train, split.test, split.validation, range(20, 20 + count))
        for split, count in zip(splits, (10, 6), strict=True)
    ]
    seen: list[Any] = []
    without = train(graphs, spec, recipe, splits, [1, 2], together=together)
    found = train(graphs, spec, recipe, fresh, [1, 2], together=together, callback=seen.append)
    for plain, own in zip(without, found, strict=True):
        assert (plain.history.fresh_score, len(own.history.fresh_score)) == ([], 4)
        for name in ("train_loss", "test_score", "validation_score", "best_epoch"):
            assert getattr(own.history, name) == getattr(plain.history, name)
        assert torch.equal(own.test_outputs, plain.test_outputs)
    assert [float(epoch.fresh_score[0]) for epoch in seen if 0 in epoch.members] == (
        found[0].history.fresh_score
    )


def test_scores_of_fresh_graphs_are_those_of_test_graphs() -> None:
    """0-CLIP draws no colorings, so that equal graphs have equal scores."""
    graphs, recipe = some_graphs(30), Recipe(epochs=3, batch_size=8)
    spec = ModelSpec("clip", {"num_colorings": 0, "hidden_channels": 4, "num_layers": 1})
    split = Split(range(12), range(12, 30), fresh=range(12, 30))
    [own] = train(graphs, spec, recipe, [split], [3], allow_overlap=True)
    assert own.history.fresh_score == own.history.test_score
    for score in own.history.test_score:
        assert 0 < score < 1


def test_fresh_graphs_must_not_be_training_graphs() -> None:
    with pytest.raises(InvalidParameterError, match="train and fresh must not have graphs in comm"):
        train(
            some_graphs(8), SMALL, Recipe(), [Split(range(4), range(4, 6), fresh=range(3, 8))], [0]
        )


@pytest.mark.needs("grakel")
def test_kernels_score_fresh_graphs() -> None:
    split = Split(range(12), range(12, 20), fresh=range(12, 20))
    spec = ModelSpec("wl", {"height": 1})
    [history] = fit_kernel(some_graphs(20), spec, [split], allow_overlap=True)
    assert history.fresh_score == history.test_score
    assert history.validation_score == []
