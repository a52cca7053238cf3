"""Saving and loading: the loaded network equals the saved one; a failure changes no file."""

import json
import os
import warnings
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from tests.nn.examples import example_batch, random_model

from clipgnn import CLIP, load, save
from clipgnn.errors import InvalidParameterError, OutputError
from clipgnn.nn import files
from clipgnn.nn.network import Network

MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({"num_colorings": 3}, {}),
    "all colorings": ({"coloring": "all", "colorings_at_once": 4}, {}),
    "no colors, no norm": ({"num_colorings": 0, "norm": None}, {}),
    "three members": ({"num_colorings": 2, "num_members": 3}, {}),
    "everything": (
        {
            "num_colorings": 2,
            "color_code": "binary",
            "activation": "gelu",
            "dropout": 0.25,
            "directed": True,
            "edge_channels": 2,
            "graph_channels": 2,
        },
        {"weights": True, "edge_channels": 2, "graph_channels": 2},
    ),
}
every_model = pytest.mark.parametrize(("parameters", "carried"), MODELS.values(), ids=MODELS.keys())
dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def output_of(model: Network, arguments: dict[str, Any]) -> torch.Tensor:
    result: torch.Tensor = model.eval()(**arguments, generator=torch.Generator().manual_seed(0))
    return result


@every_model
@dtypes
def test_round_trip(
    parameters: dict[str, Any], carried: dict[str, Any], dtype: torch.dtype, tmp_path: Path
) -> None:
    model = random_model(dtype=dtype, **parameters)
    save(model, tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert loaded.config == model.config
    assert loaded.state_dict().keys() == model.state_dict().keys()
    for name, value in model.state_dict().items():
        assert loaded.state_dict()[name].dtype == dtype
        assert torch.equal(loaded.state_dict()[name], value), name
    arguments = example_batch(dtype=dtype, **carried)
    assert torch.equal(output_of(loaded, arguments), output_of(model, arguments))


def test_a_loaded_model_is_ready_for_evaluation_and_for_training(tmp_path: Path) -> None:
    save(random_model(num_colorings=2).train().requires_grad_(False), tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert not loaded.training
    assert all(parameter.requires_grad for parameter in loaded.parameters())
    loaded.train()(**example_batch()).sum().backward()


@pytest.mark.parametrize("kind", [str, Path])
def test_paths_are_strings_or_paths(kind: type, tmp_path: Path) -> None:
    path = kind(tmp_path / "model.safetensors")
    save(random_model(num_colorings=2), path)
    assert load(path).config == random_model(num_colorings=2).config


def test_a_file_that_is_there_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save(random_model(num_colorings=2), path)
    save(random_model(num_colorings=5), path)
    assert load(path).config == random_model(num_colorings=5).config
    assert os.listdir(tmp_path) == ["model"]


def test_the_file_is_plain_safetensors_with_a_json_configuration(tmp_path: Path) -> None:
    model = random_model(coloring="all")
    save(model, tmp_path / "model")
    with safe_open(tmp_path / "model", framework="pt") as file:
        assert set(file.keys()) == set(model.state_dict())
        config = json.loads(file.metadata()["config"])
    assert config["coloring"] == "all"
    assert config["hidden_channels"] == 5


def test_a_save_that_fails_leaves_the_earlier_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    save(random_model(num_colorings=2), path)

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OutputError, match="No space left"):
            save(random_model(num_colorings=5), path)
    assert load(path).config == random_model(num_colorings=2).config
    assert os.listdir(tmp_path) == ["model"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="nowhere"):
        save(random_model(num_colorings=2), tmp_path / "nowhere" / "model")
    assert os.listdir(tmp_path) == []


def test_a_compiled_model_is_saved_as_the_model_it_is(tmp_path: Path) -> None:
    model = random_model(num_colorings=2)
    compiled: Any = torch.compile(model)
    save(compiled, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert all(torch.equal(loaded.state_dict()[name], v) for name, v in model.state_dict().items())


@pytest.mark.usefixtures("without_shape_checks")
def test_other_modules_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidParameterError,
        match=r"Only CLIP and the baselines .* Got a Linear",
    ):
        save(torch.nn.Linear(1, 1), tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_loading_does_not_change_the_global_generator(tmp_path: Path) -> None:
    save(CLIP(1, 2), tmp_path / "model")
    before = torch.get_rng_state()
    load(tmp_path / "model")
    assert torch.equal(torch.get_rng_state(), before)


def test_a_network_of_the_user_is_not_saved(tmp_path: Path) -> None:
    class Mine(CLIP):
        name = "mine"

    with pytest.raises(InvalidParameterError, match="Only CLIP and the baselines"):
        save(Mine(1, 2), tmp_path / "model")


@pytest.mark.parametrize("coloring", ["canonical", "random"])
def test_another_release_of_igraph_is_a_warning(
    coloring: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Canonical colorings of another release can be others."""
    path = tmp_path / "model"
    monkeypatch.setattr(files, "version", lambda package: "0.11.8")
    save(random_model(num_colorings=1, coloring=coloring), path)
    load(path)
    for release in ("1.0.0", None):
        monkeypatch.setattr(files, "version", lambda package, own=release: release_of(own))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            load(path)
        messages = [str(own.message) for own in found]
        if coloring == "random" or release is None:  # without igraph, calls of the model fail
            assert not messages
        else:
            [message] = messages
            assert "was saved with igraph 0.11.8" in message
            assert "Got igraph 1.0.0" in message


def release_of(release: str | None) -> str:
    if release is None:
        raise PackageNotFoundError
    return release
