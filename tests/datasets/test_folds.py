import numpy as np
import pytest
import torch
from sklearn.model_selection import StratifiedKFold

from clipgnn.datasets.folds import hold_out, stratified_folds
from clipgnn.errors import InvalidParameterError


def classes() -> torch.Tensor:
    return torch.tensor([0] * 60 + [1] * 30 + [2] * 10)[torch.randperm(100)]


def test_folds_are_those_of_the_gin_protocol() -> None:
    y = classes()
    expected = StratifiedKFold(10, shuffle=True, random_state=0).split(y, y)
    for (train, test), (their_train, their_test) in zip(stratified_folds(y), expected, strict=True):
        assert train.tolist() == their_train.tolist()
        assert test.tolist() == their_test.tolist()
        assert train.dtype == test.dtype == torch.int64


@pytest.mark.parametrize("num_folds", [2, 5, 10])
def test_folds_partition_and_are_stratified(num_folds: int) -> None:
    y = classes()
    folds = stratified_folds(y, num_folds, seed=3)
    assert torch.cat([test for _, test in folds]).sort().values.tolist() == list(range(100))
    for train, test in folds:
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(100))
        assert y[test].bincount().tolist() == [60 // num_folds, 30 // num_folds, 10 // num_folds]


def test_pairs_of_a_property_task_are_stratified_too() -> None:
    y = torch.tensor([1, 0]).repeat(500)
    assert all(y[test].bincount().tolist() == [50, 50] for _, test in stratified_folds(y))


def test_folds_depend_on_the_seed_alone() -> None:
    y = classes()
    first, again, other = (stratified_folds(y, seed=seed)[0][1].tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_targets_to_regress_get_plain_folds() -> None:
    folds = stratified_folds(torch.rand(25), 5)
    assert torch.cat([test for _, test in folds]).sort().values.tolist() == list(range(25))
    train, validation = hold_out(folds[0][0], torch.rand(25), 0.25, seed=0)
    assert (len(train), len(validation)) == (15, 5)


@pytest.mark.parametrize("num_folds", [0, 1, 101])
def test_a_number_of_folds_that_cannot_be(num_folds: int) -> None:
    with pytest.raises(InvalidParameterError, match=f"from 2 to .* 100. Got {num_folds}"):
        stratified_folds(classes(), num_folds)


def test_some_classes_smaller_than_the_folds() -> None:
    """The warning of scikit-learn, which would be an error here, is not shown."""
    y = torch.tensor([0] * 20 + [1] * 9)
    for groups in (None, torch.arange(29)):
        tests = [test for _, test in stratified_folds(y, 10, groups=groups)]
        assert sorted(int(y[test].sum()) for test in tests) == [0, *[1] * 9]
    with pytest.raises(InvalidParameterError, match="at most 4 graphs of a class"):
        stratified_folds(torch.arange(5).repeat(4), 10, groups=torch.arange(20))


def test_classes_smaller_than_the_folds() -> None:
    with pytest.raises(InvalidParameterError, match=r"at most 4 graphs .* Use num_folds=4"):
        stratified_folds(torch.arange(5).repeat(4), 10)


def test_hold_out_is_stratified_and_inside_the_training_part() -> None:
    y = classes()
    whole, test = stratified_folds(y, 5)[0]
    train, validation = hold_out(whole, y, 0.25, seed=7)
    assert sorted([*train.tolist(), *validation.tolist()]) == whole.tolist()
    assert not set(validation.tolist()) & set(test.tolist())
    assert y[validation].bincount().tolist() == [12, 6, 2]
    assert train.tolist() == sorted(train.tolist())
    again = hold_out(whole, y, 0.25, seed=7)[1]
    assert validation.tolist() == again.tolist()
    assert validation.tolist() != hold_out(whole, y, 0.25, seed=8)[1].tolist()


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5, 2.0])
def test_a_share_that_is_none(fraction: float) -> None:
    with pytest.raises(InvalidParameterError, match="between 0 and 1"):
        hold_out(torch.arange(100), classes(), fraction, seed=0)


def test_too_few_graphs_to_hold_out() -> None:
    with pytest.raises(InvalidParameterError, match="Every class must have at least two graphs"):
        hold_out(torch.arange(3), torch.tensor([0, 0, 1]), 0.3, seed=0)
    both = r"each of the 2 classes. Got fraction=0.1 of 4 graphs, which are parts of 3 and 1"
    with pytest.raises(InvalidParameterError, match=both):
        hold_out(torch.arange(4), torch.tensor([0, 0, 1, 1]), 0.1, seed=0)
    with pytest.raises(InvalidParameterError, match=r"must have a graph\. .* parts of 0 and 1"):
        hold_out([0], torch.rand(3), 0.5, seed=0)


@pytest.mark.usefixtures("without_shape_checks")
def test_groups_to_hold_out() -> None:
    y = torch.tensor([0, 1, 0, 1])
    with pytest.raises(InvalidParameterError, match=r"each of the 4 graphs. Got \[3\]"):
        hold_out(torch.arange(4), y, 0.5, 0, torch.arange(3))
    with pytest.raises(InvalidParameterError, match="Got list"):
        hold_out(torch.arange(4), y, 0.5, 0, [0, 1, 2, 3])  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=r"at least 10 groups, .* Got 4"):
        hold_out(torch.arange(4), y, 0.1, 0, torch.arange(4))


def test_a_fraction_of_numpy() -> None:
    parts = hold_out(torch.arange(100), classes(), np.float32(0.25), seed=0)
    assert [len(part) for part in parts] == [75, 25]


@pytest.mark.parametrize("regression", [False, True])
def test_groups_stay_together(regression: bool) -> None:
    y = torch.tensor([1, 0]).repeat(50)
    groups = torch.arange(50).repeat_interleave(2)[torch.arange(100)]
    folds = stratified_folds(y.double() if regression else y, 10, seed=3, groups=groups)
    assert torch.cat([test for _, test in folds]).sort().values.tolist() == list(range(100))
    for train, test in folds:
        assert not set(groups[train].tolist()) & set(groups[test].tolist())
        assert y[test].bincount().tolist() == [5, 5]
    plain = stratified_folds(y, 10, seed=3)
    assert any(set(groups[train].tolist()) & set(groups[test].tolist()) for train, test in plain)


def test_held_out_groups_stay_together() -> None:
    y, groups = torch.tensor([1, 0]).repeat(50), torch.arange(100) // 4
    train = torch.arange(80)
    kept, held_out = hold_out(train, y, 0.1, seed=1, groups=groups)
    assert torch.cat([kept, held_out]).sort().values.tolist() == train.tolist()
    assert held_out.numel() == 8
    assert not set(groups[kept].tolist()) & set(groups[held_out].tolist())


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (torch.zeros(99), r"for each of the 100 graphs. Got \[99\]"),
        ([0] * 100, "Got list"),
        (torch.arange(100) % 9, "at least 10 groups, one for each fold. Got 9"),
    ],
)
@pytest.mark.usefixtures("without_shape_checks")
def test_groups_that_cannot_be(groups, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        stratified_folds(classes(), 10, groups=groups)
