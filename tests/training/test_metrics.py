"""Metrics of many members against scikit-learn, one member at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn import metrics as sk
from torch import Tensor

from clipgnn.errors import InvalidParameterError
from clipgnn.parameters import METRICS as MAXIMIZED
from clipgnn.training.metrics import METRIC_FUNCTIONS, check_defined

MEMBERS, GRAPHS = 4, 40
COUNTS = torch.tensor([40, 25, 12, 6])
pytestmark = pytest.mark.usefixtures("double")

Score = Callable[[np.ndarray, np.ndarray], float]
"""A metric of scikit-learn: targets, then outputs."""


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _outputs(channels: int, seed: int, *, ties: bool) -> Tensor:
    outputs = torch.randn(MEMBERS, GRAPHS, channels, generator=_generator(seed))
    return (outputs * 1.5).round() if ties else outputs


def _mask() -> Tensor:
    return torch.arange(GRAPHS) < COUNTS[:, None]


def _classes(number: int, seed: int) -> Tensor:
    """Random classes; every class is among the first graphs of each member."""
    drawn = torch.randint(number, (MEMBERS, GRAPHS), generator=_generator(seed))
    drawn[:, :number] = torch.arange(number)
    return drawn


def _compare(name: str, outputs: Tensor, targets: Tensor, score: Score) -> None:
    """A metric on all members against scikit-learn on the graphs of each that count."""
    mask = _mask()
    found = METRIC_FUNCTIONS[name](outputs, targets, mask)
    assert found.shape == (MEMBERS,)
    for member, own in enumerate(mask):
        expected = score(targets[member, own].numpy(), outputs[member, own].numpy())
        assert float(found[member]) == pytest.approx(expected, abs=1e-12)


def _softmax(outputs: np.ndarray) -> np.ndarray:
    return torch.from_numpy(outputs).softmax(1).numpy()


def _one_hot(classes: np.ndarray, number: int) -> np.ndarray:
    return np.eye(number)[classes]


ties = pytest.mark.parametrize("ties", [False, True], ids=["distinct", "ties"])
seeds = pytest.mark.parametrize("seed", range(5))


@ties
@seeds
def test_two_classes(seed: int, ties: bool) -> None:
    outputs, targets = _outputs(2, seed, ties=ties), _classes(2, seed)
    _compare("accuracy", outputs, targets, lambda y, o: sk.accuracy_score(y, o.argmax(1)))
    _compare("roc-auc", outputs, targets, lambda y, o: sk.roc_auc_score(y, o[:, 1] - o[:, 0]))
    _compare(
        "average-precision",
        outputs,
        targets,
        lambda y, o: sk.average_precision_score(y, o[:, 1] - o[:, 0]),
    )


@seeds
def test_several_classes(seed: int) -> None:
    outputs, targets = _outputs(4, seed, ties=False), _classes(4, seed)
    _compare("accuracy", outputs, targets, lambda y, o: sk.accuracy_score(y, o.argmax(1)))
    _compare(
        "roc-auc",
        outputs,
        targets,
        lambda y, o: sk.roc_auc_score(y, _softmax(o), multi_class="ovr", average="macro"),
    )
    _compare(
        "average-precision",
        outputs,
        targets,
        lambda y, o: sk.average_precision_score(_one_hot(y, 4), _softmax(o), average="macro"),
    )


def _binary(targets: int, seed: int) -> Tensor:
    y = torch.randint(2, (MEMBERS, GRAPHS, targets), generator=_generator(seed)).double()
    y[:, 0], y[:, 1] = 0, 1  # both kinds are known to each member
    missing = torch.rand(y.shape, generator=_generator(seed + 1)) < 0.3
    missing[:, :2] = False
    return y.masked_fill(missing, torch.nan)


def _over_targets(score: Score) -> Score:
    """The mean over targets, of a score on the known values of each."""

    def mean(y: np.ndarray, outputs: np.ndarray) -> float:
        known = ~np.isnan(y)
        return float(
            np.mean(
                [
                    score(y[known[:, target], target], outputs[known[:, target], target])
                    for target in range(y.shape[1])
                ]
            )
        )

    return mean


@ties
@seeds
@pytest.mark.parametrize("targets", [1, 3])
def test_binary_targets_of_which_some_are_missing(targets: int, seed: int, ties: bool) -> None:
    outputs, y = _outputs(targets, seed, ties=ties), _binary(targets, seed)
    _compare("roc-auc", outputs, y, _over_targets(sk.roc_auc_score))
    _compare("average-precision", outputs, y, _over_targets(sk.average_precision_score))

    def accuracy(y: np.ndarray, outputs: np.ndarray) -> float:
        known = ~np.isnan(y)
        return float(sk.accuracy_score(y[known] > 0, outputs[known] > 0))

    _compare("accuracy", outputs, y, accuracy)


@seeds
@pytest.mark.parametrize("targets", [1, 3])
def test_numbers_of_which_some_are_missing(targets: int, seed: int) -> None:
    outputs = _outputs(targets, seed, ties=False)
    y = torch.randn(MEMBERS, GRAPHS, targets, generator=_generator(seed + 7))
    missing = torch.rand(y.shape, generator=_generator(seed)) < 0.3
    missing[:, 0] = False
    y = y.masked_fill(missing, torch.nan)

    def known(score: Score) -> Score:
        return lambda y, outputs: score(y[~np.isnan(y)], outputs[~np.isnan(y)])

    _compare("mae", outputs, y, known(sk.mean_absolute_error))
    _compare("rmse", outputs, y, known(sk.root_mean_squared_error))


def test_targets_and_classes_of_one_kind_do_not_count() -> None:
    """The mean is over those that have a score; scikit-learn has none for all of them."""
    outputs = _outputs(3, 0, ties=False)
    y = _binary(3, 0)
    y[:, :, 1] = 1
    y[:, :, 2] = torch.nan
    for name, score in (
        ("roc-auc", sk.roc_auc_score),
        ("average-precision", sk.average_precision_score),
    ):
        found, mask = METRIC_FUNCTIONS[name](outputs, y, _mask()), _mask()
        for member, own in enumerate(mask):
            columns = [0] if name == "roc-auc" else [0, 1]
            known = {c: own & ~y[member, :, c].isnan() for c in columns}
            expected = [
                score(y[member, known[c], c].numpy(), outputs[member, known[c], c].numpy())
                for c in columns
            ]
            assert float(found[member]) == pytest.approx(np.mean(expected))
    classes = _classes(2, 0)  # of three: no graph has class 2
    found = METRIC_FUNCTIONS["roc-auc"](outputs, classes, _mask())
    scores = outputs[0].softmax(1).numpy()
    expected = [sk.roc_auc_score(classes[0].numpy() == c, scores[:, c]) for c in (0, 1)]
    assert float(found[0]) == pytest.approx(np.mean(expected))


CASES: dict[str, tuple[int, Callable[[], Tensor]]] = {
    "accuracy": (3, lambda: _classes(3, 0)),
    "roc-auc": (2, lambda: _classes(2, 0)),
    "average-precision": (3, lambda: _binary(3, 0)),
    "mae": (3, lambda: _binary(3, 0)),
    "rmse": (1, lambda: _binary(1, 0)),
}


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("name", METRIC_FUNCTIONS)
def test_outputs_that_are_not_finite(name: str, value: float) -> None:
    """They make a score NaN, unless they are those of padding, which has no influence."""
    channels, make = CASES[name]
    outputs, targets, mask = _outputs(channels, 0, ties=False), make(), _mask()
    expected = METRIC_FUNCTIONS[name](outputs, targets, mask)
    padded = outputs.masked_fill(~mask[:, :, None], value)
    assert torch.equal(METRIC_FUNCTIONS[name](padded, targets, mask), expected)
    broken = outputs.clone()
    broken[1, 3, -1] = value
    found = METRIC_FUNCTIONS[name](broken, targets, mask)
    assert found.isnan().tolist() == [False, True, False, False]
    torch.testing.assert_close(found[[0, 2, 3]], expected[[0, 2, 3]])


@pytest.mark.parametrize("name", METRIC_FUNCTIONS)
def test_a_member_without_graphs_has_no_score(name: str) -> None:
    channels, make = CASES[name]
    mask = _mask()
    mask[2] = False
    found = METRIC_FUNCTIONS[name](_outputs(channels, 0, ties=False), make(), mask)
    assert found.isnan().tolist() == [False, False, True, False]


def test_one_class_is_always_predicted() -> None:
    outputs = _outputs(1, 0, ties=False)
    targets = torch.zeros(MEMBERS, GRAPHS, dtype=torch.int64)
    found = METRIC_FUNCTIONS["accuracy"](outputs, targets, _mask())
    assert found.tolist() == [1.0] * MEMBERS


@pytest.mark.parametrize("name", METRIC_FUNCTIONS)
def test_scores_have_the_dtype_of_the_outputs(name: str) -> None:
    channels, make = CASES[name]
    outputs, targets = _outputs(channels, 0, ties=False).float(), make()
    targets = targets.float() if targets.is_floating_point() else targets
    assert METRIC_FUNCTIONS[name](outputs, targets, _mask()).dtype == torch.float32


def test_parameters_and_implementations_have_the_same_names() -> None:
    assert METRIC_FUNCTIONS.keys() == MAXIMIZED.keys() == CASES.keys()


@pytest.mark.parametrize(
    ("metric", "targets", "words"),
    [
        ("roc-auc", torch.tensor([1, 1]), "two classes for the metric 'roc-auc'"),
        ("average-precision", torch.tensor([0.0, 0.0]), "two classes"),
        ("roc-auc", torch.tensor([[0.0, torch.nan], [torch.nan, 1.0]]), "two classes"),
        ("mae", torch.tensor([torch.nan, torch.nan]), "known target"),
        ("accuracy", torch.tensor([[torch.nan], [torch.nan]]), "known target"),
    ],
)
def test_targets_on_which_a_metric_is_not_defined(metric: str, targets: Any, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"^Here must have.*{words}"):
        check_defined(metric, targets, "Here")


@pytest.mark.parametrize(
    ("metric", "targets"),
    [
        ("roc-auc", torch.tensor([1, 0])),
        ("roc-auc", torch.tensor([[0.0, 1.0], [torch.nan, 0.0]])),
        ("average-precision", torch.zeros(0)),
        ("accuracy", torch.tensor([1, 1])),
        ("rmse", torch.tensor([torch.nan, 1.0])),
    ],
)
def test_targets_on_which_a_metric_is_defined(metric: str, targets: Any) -> None:
    check_defined(metric, targets, "Here")
