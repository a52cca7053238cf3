"""Splits in every form, and members with unlike splits that train together as they do alone."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.examples import some_graphs

from clipgnn.training import History, ModelSpec, Recipe, Split, fit, train
from clipgnn.training.engine import Engine
from clipgnn.training.loop import train_together

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


def test_a_split_is_a_copy() -> None:
    """Or a change of a mask after it was checked would change what is trained on."""
    mask, numbers = torch.tensor(MASK), np.array(CHOSEN)
    split = Split(mask, numbers)
    mask[:], numbers[:] = True, 6
    assert (split.train.tolist(), split.test.tolist()) == (sorted(CHOSEN), CHOSEN)


def test_histories_do_not_depend_on_the_form_of_a_split() -> None:
    graphs, recipe = some_graphs(12), Recipe(epochs=2, batch_size=4)
    inside = torch.arange(12) < 8
    forms = [
        Split(inside, ~inside),
        Split(list(range(8)), np.arange(8, 12)),
        Split(inside.tolist(), (8, 9, 10, 11)),
    ]
    first, *others = (train(graphs, SMALL, recipe, [split], [3])[0] for split in forms)
    for other in others:
        assert _curves(other) == _curves(first)
    wl = fit(graphs, ModelSpec("wl"), forms)
    assert len({(*history.train_loss, *history.test_score) for history in wl}) == 1


def test_overlap_may_be_allowed() -> None:
    graphs, everything = some_graphs(12), list(range(12))
    split = Split(everything, everything, everything)
    recipe = Recipe(epochs=2, batch_size=4)
    [history] = train(graphs, SMALL, recipe, [split], [3], allow_overlap=True)
    assert history.test_score == pytest.approx(history.validation_score)
    [fitted] = fit(graphs, ModelSpec("wl"), [split], allow_overlap=True)
    assert fitted.test_score[0] == pytest.approx(1 - fitted.train_loss[0])


def _curves(history: History) -> tuple[list[float], list[float], list[float]]:
    return history.train_loss, history.test_score, history.validation_score


SIZES = [(16, 5, 0), (16, 9, 3), (15, 3, 8), (14, 4, 0), (13, 1, 11)]
"""Graphs to train on, test on and validate on, all with as many steps an epoch."""


def _unlike() -> list[Split]:
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
def test_members_with_unlike_splits_train_as_they_do_alone(
    patience: int | None, loss: Any, parts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if parts:  # evaluate a few graphs at a time, so that some members have no graphs in a part
        monkeypatch.setattr("clipgnn.training.engine.EVALUATED_ROWS", 50)
    graphs = some_graphs(30)
    recipe = Recipe(epochs=6, batch_size=8, learning_rate=0.01, loss=loss, patience=patience)
    splits, seeds = _unlike(), [5, 6, 7, 8, 9]
    alone = [
        train(graphs, SMALL, recipe, [split], [seed])[0]
        for split, seed in zip(splits, seeds, strict=True)
    ]
    together = train(graphs, SMALL, recipe, splits, seeds, together=True)
    for one, other, split in zip(alone, together, splits, strict=True):
        for curve, same in zip(_curves(one), _curves(other), strict=True):
            assert curve == pytest.approx(same, abs=1e-6)
        assert bool(one.validation_score) == bool(split.validation.numel())
    lengths = [len(history.train_loss) for history in alone]
    assert (len(set(lengths)) > 1) == (patience is not None)


@pytest.mark.usefixtures("double")
def test_one_engine_holds_all_of_them() -> None:
    """The members above are one group; otherwise together would be alone, and show nothing."""
    graphs, recipe = some_graphs(30), Recipe(epochs=2, batch_size=8)
    engine = Engine(graphs, SMALL, recipe, _unlike(), [5, 6, 7, 8, 9], torch.device("cpu"))
    assert engine.steps == 2
    scores = engine.score(engine.validation_parts)
    assert bool(scores.isfinite().all())
    assert [bool(h.validation_score) for h in train_together(engine)] == [
        sizes[2] > 0 for sizes in SIZES
    ]


@pytest.mark.usefixtures("double")
def test_every_pair_of_neighbors_trains_as_alone() -> None:
    """With GIN, which trains folds together on the CPU too."""
    graphs, recipe = some_graphs(30), Recipe(epochs=3, batch_size=8, patience=2)
    spec = ModelSpec("gin", {"num_layers": 2})
    splits = _unlike()
    alone = [train(graphs, spec, recipe, [split], [4])[0] for split in splits]
    for first, second in itertools.pairwise(range(len(splits))):
        pair = [splits[first], splits[second]]
        both = train(graphs, spec, recipe, pair, [4, 4], together=True)
        for member, history in zip((first, second), both, strict=True):
            for curve, same in zip(_curves(alone[member]), _curves(history), strict=True):
                assert curve == pytest.approx(same, abs=1e-9)
