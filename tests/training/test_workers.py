"""Processes that train together, on real processes that communicate over the loopback device."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.forks import run_module
from tests.training.together import MATCHING, Found

from clipgnn.errors import InvalidParameterError
from clipgnn.training.processes import process_group

SIZES = [(case, 2) for case in MATCHING] + [("plain", 3), ("small last batch", 3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the processes of all cases found."""
    path: Path = tmp_path_factory.mktemp("workers")
    run_module("tests.training.together", str(path), seconds=400)
    return path


def _found(folder: Path, case: str, size: int) -> list[Found]:
    """What each process found."""
    return [torch.load(folder / f"{case}-{size}-{rank}.pt") for rank in range(size)]


def _flat(found: Found) -> dict[str, Any]:
    flat = {name: own for name, own in found.items() if name != "weights"}
    for member, weights in enumerate(found.get("weights", ())):
        flat |= {f"{member}.{name}": own for name, own in weights.items()}
    return flat


def _assert_close(one: Found, other: Found, tolerance: float) -> None:
    first, second = _flat(one), _flat(other)
    assert first.keys() == second.keys()
    for name, own in first.items():
        torch.testing.assert_close(
            own,
            second[name],
            rtol=tolerance,
            atol=tolerance,
            msg=f"{name} differs".format,
        )


@pytest.mark.parametrize(("case", "size"), SIZES)
def test_several_processes_match_one(folder: Path, case: str, size: int) -> None:
    [alone] = _found(folder, case, 1)
    several = _found(folder, case, size)
    for own in several:
        _assert_close(own, alone, 1e-5)
        _assert_close(own, several[0], 0)  # bit for bit
    assert alone["weights"][0]
    assert any(own.dtype == torch.float64 for own in alone["weights"][0].values())


def test_patience_ends_before_the_last_epoch(folder: Path) -> None:
    [alone] = _found(folder, "patience", 1)
    assert len(alone["train"][0]) < 20
    assert alone["best"][0] < len(alone["train"][0])


def test_local_statistics_keep_processes_equal(folder: Path) -> None:
    first, second = _found(folder, "local", 2)
    _assert_close(first, second, 0)
    [synchronized] = _found(folder, "plain", 1)
    assert first["train"][0] != synchronized["train"][0][: len(first["train"][0])]
    assert all(torch.isfinite(own).all() for own in first["weights"][0].values())


def test_masks_of_dropout_differ_between_processes(folder: Path) -> None:
    first, second = _found(folder, "dropout", 2)
    masks, others = first.pop("masks"), second.pop("masks")
    _assert_close(first, second, 0)
    assert masks.shape == others.shape
    assert masks.shape == (8, 2000)
    # Half of the entries of independent masks are equal, and no mask is repeated.
    assert (masks == others).double().mean() == pytest.approx(0.5, abs=0.02)
    both = torch.cat([masks, others])
    assert both.unique(dim=0).shape == both.shape


def test_a_killed_process_and_a_restart_of_all(folder: Path) -> None:
    """The result is that of an undisturbed training by the same number of processes."""
    for own, whole in zip(
        _found(folder, "killed", 2), _found(folder, "undisturbed", 2), strict=True
    ):
        _assert_close(own, whole, 0)


def test_more_processes_than_graphs_in_a_batch(folder: Path) -> None:
    for own in _found(folder, "too many", 3):
        assert "batch_size must be at least the number of processes, 3. Got 2." in own["error"]


def test_checkpoints_that_are_not_shared(folder: Path) -> None:
    for own in _found(folder, "not shared", 2):
        assert "checkpoint must be one folder that all processes read." in own["error"]


def test_the_number_of_a_gpu_with_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with (
        pytest.raises(InvalidParameterError, match=r'device must be "cuda".*Got .cuda:1'),
        process_group("cuda:1"),
    ):
        pass
