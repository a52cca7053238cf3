"""Arguments that `train` and `fit_kernel` must refuse: splits, seeds and wrong types."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from tests.faults.refusals import INFINITY, NAN, assert_refused
from tests.training.examples import some_graphs
from torch import Tensor

from clipgnn import (
    CLIP,
    CLIPClassifier,
    ModelSpec,
    PackedGraphs,
    Recipe,
    Split,
    fit_kernel,
    hold_out,
    load_dataset,
    stratified_folds,
    train,
)
from clipgnn.datasets import bipartiteness, circular_skip_links, connectivity, triangle_freeness
from clipgnn.demo import compare_pair, learn_circular_skip_links
from clipgnn.errors import ClipGNNError, InvalidGraphError, InvalidParameterError
from clipgnn.testing import assert_permutation_invariant

pytestmark = pytest.mark.usefixtures("without_shape_checks")

SMALL = ModelSpec("clip", {"num_colorings": 2, "hidden_channels": 4, "num_layers": 1})
TEN = some_graphs(10)
GOOD = Split([0, 1, 2, 3], [4, 5, 6], [7, 8])
ONE_EPOCH = Recipe(epochs=1, batch_size=4)


def mask(length: int, *chosen: int) -> Tensor:
    return torch.zeros(length, dtype=torch.bool).index_fill_(0, torch.tensor(chosen).long(), True)


SPLITS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "negative": (
        lambda: Split([0, 1, -1], [4]),
        ("Split 1: train", "graphs from 0 to 9", "Got graph -1"),
    ),
    "too large": (lambda: Split([0, 1], [4, 10]), ("Split 1: test", "from 0 to 9", "Got graph 10")),
    "far too large": (
        lambda: Split([0, 1], [4], np.array([2**62])),
        ("Split 1: validation", f"Got graph {2**62}"),
    ),
    "twice": (
        lambda: Split([0, 1, 3, 1], [4]),
        ("Split 1: train", "must not have duplicates", "Got graph 1 2"),
    ),
    "tested twice": (lambda: Split([0, 1], [4, 4, 4]), ("Split 1: test", "Got graph 4 3 times")),
    "train and test": (
        lambda: Split([0, 1, 2, 3], [3, 2, 5]),
        ("Split 1: train and test", "Got graph 2 in both (2 in all)", "allow_overlap=True"),
    ),
    "train and validation": (
        lambda: Split([0, 1, 2], [3], [0, 4]),
        ("Split 1: train and validation", "Got graph 0"),
    ),
    "test and validation": (
        lambda: Split([0, 1, 2], [3, 4], [4]),
        ("Split 1: test and validation", "Got graph 4"),
    ),
    "masks that overlap": (
        lambda: Split(mask(10, 0, 1, 2), mask(10, 2, 3)),
        ("Split 1: train and test", "Got graph 2"),
    ),
    "nothing to train on": (lambda: Split([], [3]), ("Split 1: train", "at least one graph")),
    "nothing to test on": (lambda: Split([0, 1], []), ("split 1 without test", "split 0 with")),
    "an empty mask": (lambda: Split([0, 1], mask(10)), ("split 1 without test", "split 0 with")),
    "a short mask": (
        lambda: Split(mask(9, 0, 1), [3]),
        ("Split 1: train", "each of the 10 graphs", "Got 9 entries"),
    ),
    "a long mask": (lambda: Split([0, 1], mask(11, 3)), ("Split 1: test", "Got 11 entries")),
    "a pair": (lambda: ([0, 1], [2]), ("list of Split", "Got tuple as split 1", "Split(*pair)")),
    "a tensor": (lambda: torch.arange(3), ("list of Split", "Got Tensor as split 1")),
    "None": (lambda: None, ("list of Split", "Got NoneType as split 1")),
}
PARTS: dict[str, tuple[Any, str]] = {
    "floats": ([0.0, 1.0], "Got float64 of shape [2]"),
    "a float tensor": (torch.tensor([0.0, 1.0]), "Got float32 of shape [2]"),
    "complex": (torch.tensor([1j]), "Got complex64"),
    "text": ("0, 1", "Got str"),
    "texts": (["0", "1"], "of shape [2]"),
    "a number": (3, "Got int"),
    "None": (None, "Got NoneType"),
    "a set": ({0, 1}, "Got set"),
    "a slice": (slice(3), "Got slice"),
    "rows": ([[0, 1], [2, 3]], "of shape [2, 2]"),
    "unlike rows": ([[0, 1], [2]], "Got list"),
    "a tensor without axis": (torch.tensor(3), "of shape []"),
    "rows of a tensor": (torch.zeros(2, 2).long(), "of shape [2, 2]"),
    "booleans among integers": ([0, True, 2], "integers and booleans"),
    "beyond int64": ([2**63], f"Got graph {2**63}"),
    "far beyond int64": ([2**70], "Got object"),
    "objects": (np.array([None, 1]), "Got object"),
    "beyond int64 in a tensor": (
        torch.tensor([2**63], dtype=torch.uint64),
        f"Got graph {2**63}",
    ),
    "beyond int64 in NumPy": (np.array([1, 2**64 - 1], np.uint64), f"Got graph {2**64 - 1}"),
    "a masked array": (np.ma.array([1, 2], mask=[False, True]), "masked array. Use .compressed()"),
    "a masked array without masks": (np.ma.array([1, 2]), "masked array"),
    "boolean tensors among integers": ([torch.tensor(True), torch.tensor(2)], "and booleans"),
    "boolean arrays among integers": ([np.array(True), np.array(2)], "integers and booleans"),
}


@pytest.mark.parametrize(("make", "said"), SPLITS.values(), ids=SPLITS.keys())
@pytest.mark.parametrize("trained", [True, False], ids=["train", "fit_kernel"])
def test_splits(make: Callable[[], Any], said: tuple[str, ...], trained: bool) -> None:
    splits = [GOOD, make()]
    if trained:
        assert_refused(
            InvalidParameterError, lambda: train(TEN, SMALL, ONE_EPOCH, splits, [0, 1]), said
        )
    else:
        assert_refused(
            InvalidParameterError, lambda: fit_kernel(TEN, ModelSpec("wl"), splits), said
        )


def replaced(split: Split, **parts: Any) -> Split:
    return dataclasses.replace(split, **parts)


def test_a_replaced_part_leaves_the_masks_of_the_others() -> None:
    split = replaced(replaced(Split([True, False], [1]), test=[4]), validation=[5])
    said = ("Split 0: train", "each of the 10 graphs", "Got 2 entries")
    for splits in ([split], copy.deepcopy([split]), pickle.loads(pickle.dumps([split]))):
        with pytest.raises(InvalidParameterError) as caught:
            fit_kernel(TEN, ModelSpec("wl"), splits)
        assert all(fragment in str(caught.value) for fragment in said)


def test_a_replaced_mask_is_no_longer_checked() -> None:
    short = Split([True, False], [True, True], [False, True])
    split = replaced(short, train=[0, 1, 2], test=mask(10, 3, 4), validation=())
    assert fit_kernel(TEN, ModelSpec("awl", {"length": 2}), [split])
    assert split.test.tolist() == [3, 4]


@pytest.mark.parametrize(
    "part",
    [
        [1, 3],
        np.array([1, 3], np.uint64),
        np.array([1, 3], ">i4"),
        torch.tensor([1, 3], dtype=torch.uint64),
        [torch.tensor(1), torch.tensor(3)],
        [np.int64(1), 3],
        [False, True, False, True],
        np.array([False, True, False, True]),
        [torch.tensor(False), torch.tensor(True), torch.tensor(False), torch.tensor(True)],
    ],
    ids=str,
)
def test_forms_of_numbers_and_masks(part: Any) -> None:
    split = Split(part, [0])
    assert split.train.dtype == torch.int64
    assert split.train.tolist() == [1, 3]


def test_seeds_and_numbers_of_folds_from_numpy() -> None:
    """As they are accepted elsewhere."""
    given = train(**{**GOOD_CALL, "seeds": np.array([3])})
    expected = train(**{**GOOD_CALL, "seeds": [3]})
    assert given[0].history.train_loss == expected[0].history.train_loss
    for ours, theirs in zip(
        stratified_folds(TEN.targets, np.int64(5)),
        stratified_folds(TEN.targets, 5),
        strict=True,
    ):
        assert torch.equal(ours[1], theirs[1])


@pytest.mark.parametrize("name", ["train", "test", "validation"])
@pytest.mark.parametrize(("part", "said"), PARTS.values(), ids=PARTS.keys())
def test_parts_of_a_split(part: Any, said: str, name: str) -> None:
    parts = {"train": [0], "test": [1], name: part}
    assert_refused(InvalidParameterError, lambda: Split(**parts), (f"{name!r} part", said))


def test_one_graph_to_train_on() -> None:
    said = ("Split 0: train", "at least two graphs", "Got 1")
    split = Split([3], [4])
    assert_refused(InvalidParameterError, lambda: train(TEN, SMALL, ONE_EPOCH, [split], [0]), said)


GOOD_CALL: dict[str, Any] = {
    "graphs": TEN,
    "model": SMALL,
    "recipe": ONE_EPOCH,
    "splits": [GOOD],
    "seeds": [0],
}
KINDS: dict[str, tuple[dict[str, Any], type[ClipGNNError], tuple[str, ...]]] = {
    "a list of graphs": (
        {"graphs": TEN.to_data_list()},
        InvalidGraphError,
        ("graphs must be a PackedGraphs", "list", "from_data_list"),
    ),
    "a networkx graph": (
        {"graphs": nx.path_graph(3)},
        InvalidGraphError,
        ("PackedGraphs", "Graph"),
    ),
    "no graphs": ({"graphs": None}, InvalidGraphError, ("PackedGraphs", "NoneType")),
    "graphs without targets": (
        {"graphs": dataclasses.replace(TEN, y=None)},
        InvalidParameterError,
        ("must have targets", "without y"),
    ),
    "graphs without values": ({"graphs": TEN.to("meta")}, InvalidGraphError, ("meta device",)),
    "a model's name": (
        {"model": "clip"},
        InvalidParameterError,
        ("model must be a ModelSpec or a network", "str", "ModelSpec('clip')"),
    ),
    "a model": ({"model": torch.nn.Linear(1, 1)}, InvalidParameterError, ("ModelSpec", "Linear")),
    "a class": ({"model": CLIP}, InvalidParameterError, ("the class CLIP", "ModelSpec('clip')")),
    "a trained model": (
        {"model": train(TEN, SMALL, ONE_EPOCH, [GOOD], [0])[0]},
        InvalidParameterError,
        ("Got TrainedModel", "Use its attribute model"),
    ),
    "an estimator": ({"model": CLIPClassifier()}, InvalidParameterError, ("CLIPClassifier",)),
    "a dict as recipe": ({"recipe": {"epochs": 1}}, InvalidParameterError, ("recipe must", "dict")),
    "no recipe": ({"recipe": None}, InvalidParameterError, ("recipe must", "NoneType")),
    "one split": ({"splits": GOOD}, InvalidParameterError, ("splits must be a list", "Split")),
    "no splits": ({"splits": [], "seeds": []}, InvalidParameterError, ("at least one Split",)),
    "text as splits": ({"splits": "10"}, InvalidParameterError, ("splits must be a list", "str")),
    "one seed": ({"seeds": 0}, InvalidParameterError, ("seeds must be a list", "int")),
    "text as seeds": ({"seeds": "0"}, InvalidParameterError, ("seeds must be a list", "str")),
    "rows of seeds": ({"seeds": np.zeros((1, 1))}, InvalidParameterError, ("seeds must be",)),
    "float seeds": ({"seeds": np.zeros(1)}, InvalidParameterError, ("Seed 0", "Got 0.0")),
    "two seeds": ({"seeds": [0, 1]}, InvalidParameterError, ("2 seeds for 1 splits",)),
    "another device": ({"device": "tpu"}, InvalidParameterError, ("device must be", "'tpu'")),
    "meta device": ({"device": "meta"}, InvalidParameterError, ("device must be", "'meta'")),
}


@pytest.mark.parametrize(("wrong", "error", "said"), KINDS.values(), ids=KINDS.keys())
def test_things_of_another_kind(
    wrong: dict[str, Any], error: type[ClipGNNError], said: tuple[str, ...]
) -> None:
    assert_refused(error, lambda: train(**{**GOOD_CALL, **wrong}), said)
    if set(wrong) <= {"graphs", "splits"}:
        call = {"graphs": TEN, "splits": [GOOD], **wrong}
        assert_refused(error, lambda: fit_kernel(spec=ModelSpec("wl"), **call), said)


def test_a_kernels_name() -> None:
    said = ("model must be a ModelSpec", "ModelSpec('wl')")
    assert_refused(InvalidParameterError, lambda: fit_kernel(TEN, "wl", [GOOD]), said)  # type: ignore[arg-type]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
def test_a_gpu_that_is_not_there() -> None:
    said = ("device must be", "'cuda'", 'device="cpu"')
    assert_refused(InvalidParameterError, lambda: train(**GOOD_CALL, device="cuda"), said)


def with_attributes(x: Tensor, y: Tensor | None = None) -> PackedGraphs:
    return PackedGraphs(
        name="attributes",
        x=x,
        in_channels=x.shape[1],
        edge_index=TEN.edge_index,
        node_pointers=TEN.node_pointers,
        edge_pointers=TEN.edge_pointers,
        y=TEN.targets if y is None else y,
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_attributes_and_targets_are_converted_to_the_default_dtype(dtype: torch.dtype) -> None:
    x = (torch.rand(TEN.x.shape[0], 3, generator=torch.Generator().manual_seed(0))).to(dtype)
    y = torch.linspace(0, 1, 10, dtype=dtype)
    recipe = Recipe(epochs=2, batch_size=4, loss="squared-error")
    given, expected = (
        train(with_attributes(*tensors), SMALL, recipe, [GOOD], [0])[0]
        for tensors in ((x, y), (x.float(), y.float()))
    )
    assert given.history.train_loss == expected.history.train_loss
    assert given.history.test_score == expected.history.test_score


def test_attributes_too_large_for_the_default_dtype() -> None:
    x = torch.zeros(TEN.x.shape[0], 1, dtype=torch.float64)
    x[int(TEN.node_pointers[4])] = 1e300
    said = ("Graph 4: x must be finite", "infinite")
    graphs = with_attributes(x)
    assert_refused(InvalidGraphError, lambda: train(graphs, SMALL, ONE_EPOCH, [GOOD], [0]), said)


def test_several_targets_of_classes() -> None:
    graphs = with_attributes(torch.ones(TEN.x.shape[0], 1), torch.rand(10, 2))
    said = ('"cross-entropy" needs classes', "are floats", "another loss")
    assert_refused(
        InvalidParameterError, lambda: train(graphs, SMALL, ONE_EPOCH, [GOOD], [0]), said
    )


SEEDS: dict[str, tuple[Any, str]] = {
    "negative": (-1, "Got -1"),
    "64 bits": (2**64, f"Got {2**64}"),
    "very long": (10**6000, "Got an integer of 19932 bits"),
    "float": (1.0, "Got 1.0"),
    "NaN": (NAN, "Got nan"),
    "boolean": (True, "Got True"),
    "text": ("1", "Got '1'"),
    "None": (None, "Got None"),
    "list": ([1], "Got [1]"),
    "tensor": (torch.tensor(1), "Got tensor(1)"),
}
NO_EDGES = torch.zeros(2, 0, dtype=torch.int64)
SEEDED: dict[str, Callable[[Any], object]] = {
    "train": lambda seed: train(**{**GOOD_CALL, "seeds": [seed]}),
    "connectivity": lambda seed: connectivity(seed, num_pairs=1),
    "bipartiteness": lambda seed: bipartiteness(seed, num_pairs=1),
    "triangle_freeness": lambda seed: triangle_freeness(seed, num_pairs=1),
    "circular_skip_links": lambda seed: circular_skip_links(seed, copies=1),
    "load_dataset": lambda seed: load_dataset("csl", seed=seed),
    "stratified_folds": lambda seed: stratified_folds(TEN.targets, 2, seed),
    "hold_out": lambda seed: hold_out(torch.arange(10), TEN.targets, 0.5, seed),
    "compare_pair": compare_pair,
    "learn_circular_skip_links": lambda seed: next(
        learn_circular_skip_links(0, epochs=1, seed=seed)
    ),
    "assert_permutation_invariant": lambda seed: assert_permutation_invariant(
        lambda x, edge_index, batch=None: x.sum(0), torch.ones(3, 1), NO_EDGES, seed=seed
    ),
}


@pytest.mark.parametrize(("seed", "said"), SEEDS.values(), ids=SEEDS.keys())
@pytest.mark.parametrize("call", SEEDED.values(), ids=SEEDED.keys())
def test_seeds(call: Callable[[Any], object], seed: Any, said: str) -> None:
    assert_refused(InvalidParameterError, lambda: call(seed), ("must be an integer from 0", said))


@pytest.mark.parametrize("name", ["train", "connectivity", "circular_skip_links"])
@pytest.mark.parametrize("seed", [0, 2**63, 2**64 - 1, np.int64(7)])
def test_the_largest_seeds(name: str, seed: Any) -> None:
    SEEDED[name](seed)


@pytest.mark.parametrize("name", ["stratified_folds", "hold_out"])
def test_seeds_of_folds_have_32_bits(name: str) -> None:
    SEEDED[name](2**32 - 1)
    said = (r"2^32 - 1", f"Got {2**32}")
    assert_refused(InvalidParameterError, lambda: SEEDED[name](2**32), said)


TARGETS: dict[str, tuple[Any, str]] = {
    "negative": (torch.tensor([0, 1, -2, 0]), "Graph 2: y"),
    "infinite": (torch.tensor([0.0, INFINITY, 1.0, 2.0]), "Graph 1: y must be finite"),
    "list": ([0, 1, 0, 1], "Got list"),
    "NumPy": (np.array([0, 1, 0, 1]), "Got ndarray"),
    "text": ("0101", "Got str"),
    "a number": (torch.tensor(1), "of shape []"),
    "rows of classes": (torch.ones(4, 2).long(), "of shape [4, 2]"),
    "beyond int64": (torch.tensor([0, 1, 2**63 + 7], dtype=torch.uint64), f"Got {2**63 + 7}"),
    "rows of no targets": (torch.ones(4, 0), "of shape [4, 0]"),
    "huge": (torch.tensor([0, 1, 0, 2**50]), f"Got {2**50}"),
}


@pytest.mark.parametrize(("y", "said"), TARGETS.values(), ids=TARGETS.keys())
def test_targets_of_folds(y: Any, said: str) -> None:
    assert_refused(InvalidGraphError, lambda: stratified_folds(y, 2), (said,))
    assert_refused(InvalidGraphError, lambda: hold_out(torch.arange(4), y, 0.5, 0), (said,))


def test_missing_targets_have_folds() -> None:
    [(train_part, test), *_] = stratified_folds(torch.tensor([0.0, NAN, 1.0, 2.0]), 2)
    assert sorted([*train_part.tolist(), *test.tolist()]) == [0, 1, 2, 3]


@pytest.mark.parametrize("num_folds", [2.0, "2", None, True])
def test_numbers_of_folds(num_folds: Any) -> None:
    said = ("num_folds must be an integer from 2", f"Got {num_folds!r}")
    assert_refused(InvalidParameterError, lambda: stratified_folds(TEN.targets, num_folds), said)


@pytest.mark.parametrize("fraction", [NAN, "0.5", None, True])
def test_shares(fraction: Any) -> None:
    said = ("fraction must be between 0 and 1", f"Got {fraction!r}")
    numbers = torch.arange(10)
    assert_refused(InvalidParameterError, lambda: hold_out(numbers, TEN.targets, fraction, 0), said)


CHOSEN: dict[str, tuple[Any, str]] = {
    "negative": ([0, 1, -1, 3], "Got graph -1"),
    "too large": ([0, 1, 10, 3], "Got graph 10"),
    "twice": ([0, 1, 3, 3], "Got graph 3 2 times"),
    "a short mask": (torch.ones(9, dtype=torch.bool), "Got 9 entries"),
    "floats": (torch.rand(4), "Got float32"),
    "none": ([], "of 0 graphs"),
}


@pytest.mark.parametrize(("chosen", "said"), CHOSEN.values(), ids=CHOSEN.keys())
def test_graphs_to_hold_out_from(chosen: Any, said: str) -> None:
    assert_refused(InvalidParameterError, lambda: hold_out(chosen, TEN.targets, 0.5, 0), (said,))


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (connectivity, {"num_pairs": 2.5}),
        (connectivity, {"component_size": "3"}),
        (connectivity, {"probability": "half"}),
        (connectivity, {"probability": NAN}),
        (bipartiteness, {"part_size": None}),
        (triangle_freeness, {"num_nodes": True}),
        (circular_skip_links, {"num_nodes": 41.0}),
        (circular_skip_links, {"copies": 1.5}),
        (circular_skip_links, {"skip_lengths": 3}),
        (circular_skip_links, {"skip_lengths": []}),
        (circular_skip_links, {"skip_lengths": ["2"]}),
    ],
)
def test_sizes_of_property_tasks(make: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=r"must be|4-regular"):
        make(**wrong)
