"""Kernels with a support vector machine: histories, what is kept, errors."""

import dataclasses

import numpy as np
import pytest
import torch
from tests.training.examples import rings, some_graphs

from clipgnn.baselines.wl import WL
from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.training import ModelSpec, Split, fit_kernel

NUMBERS = torch.arange(40)
pytestmark = pytest.mark.needs("grakel")
SPLITS = [
    Split(NUMBERS[NUMBERS % 4 > 1], NUMBERS[NUMBERS % 4 == 0]),
    Split(NUMBERS[8:], NUMBERS[:4], NUMBERS[4:8]),
]


def test_a_history_has_one_epoch() -> None:
    first, second = fit_kernel(some_graphs(40), ModelSpec("wl", {"height": 2}), SPLITS)
    assert len(first.train_loss) == len(first.test_score) == 1
    assert first.validation_score == []
    assert len(second.validation_score) == 1
    assert all(0 <= score <= 1 for history in (first, second) for score in history.test_score)
    assert first.seconds > 0
    assert first.compile_seconds == 0


def test_walks_learn_what_refinement_cannot() -> None:
    graphs = rings(40)
    [walks] = fit_kernel(graphs, ModelSpec("awl", {"length": 3, "C": 100.0}), SPLITS[1:])
    assert (walks.train_loss, walks.test_score, walks.validation_score) == ([0.0], [1.0], [1.0])
    [refined] = fit_kernel(graphs, ModelSpec("wl"), SPLITS[1:])
    assert refined.test_score == [0.5]


def test_a_large_c_fits_more() -> None:
    graphs = some_graphs(40)
    errors = [
        fit_kernel(graphs, ModelSpec("wl", {"height": 1, "C": C}), SPLITS[1:])[0].train_loss[0]
        for C in (1.0, 1e3)
    ]
    assert errors[1] < errors[0]


def test_the_kernel_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []
    gram = WL.gram

    def counted(self: WL, graphs: object) -> np.ndarray:
        computed.append(self.height)
        return gram(self, graphs)  # type: ignore[arg-type]

    monkeypatch.setattr(WL, "gram", counted)
    graphs = some_graphs(40)
    for parameters in ({"height": 1}, {"height": 1, "C": 10.0}, {"height": 2, "C": 10.0}):
        fit_kernel(graphs, ModelSpec("wl", parameters), SPLITS)
    assert computed == [1, 2]
    fit_kernel(some_graphs(40, seed=1), ModelSpec("wl", {"height": 1}), SPLITS)
    assert computed == [1, 2, 1]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (ModelSpec("wll"), "kernel must be one of wl, awl, walks. Got 'wll'. Did you mean 'wl'"),
        (ModelSpec("gin"), "kernel must be one of wl, awl, walks. Got 'gin'. Use train for it"),
        (ModelSpec("wl", {"heigth": 1}), "no parameter 'heigth'.* Did you mean 'height'"),
        (ModelSpec("wl", {"length": 1}), "no parameter 'length'. .* are height, normalize, C"),
        (ModelSpec("wl", {"height": -1}), "'height' parameter of WL"),
        (ModelSpec("wl", {"C": -1.0}), "'C' parameter"),
    ],
)
def test_kernels_that_cannot_be_fitted(spec: ModelSpec, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        fit_kernel(some_graphs(40), spec, SPLITS)


def test_graphs_that_cannot_be_fitted() -> None:
    graphs = some_graphs(40)
    with pytest.raises(InvalidParameterError, match="floats to regress"):
        fit_kernel(dataclasses.replace(graphs, y=graphs.targets.float()), ModelSpec("wl"), SPLITS)
    attributes = torch.ones(graphs.edge_index.shape[1], 1)
    with pytest.raises(InvalidGraphError, match="do not support edge_attr"):
        fit_kernel(dataclasses.replace(graphs, edge_attr=attributes), ModelSpec("wl"), SPLITS)
    one_way = dataclasses.replace(graphs, edge_index=graphs.edge_index.sort(0).values)
    with pytest.raises(InvalidGraphError, match="must be undirected"):
        fit_kernel(one_way, ModelSpec("awl"), SPLITS)
    even = NUMBERS[NUMBERS % 2 == 0]
    with pytest.raises(InvalidParameterError, match="at least two classes"):
        fit_kernel(graphs, ModelSpec("wl"), [Split(even, even + 1)])
