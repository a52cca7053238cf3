"""Files of trained models and estimators that are damaged, incomplete, or of another kind."""

import json
import struct
from collections.abc import Callable
from operator import methodcaller
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch
from safetensors.torch import save_file

import clipgnn
from clipgnn import (
    CLIPClassifier,
    CLIPEmbedding,
    CLIPRegressor,
    ModelSpec,
    PackedGraphs,
    Recipe,
    Split,
    TrainedModel,
    train,
)
from clipgnn.errors import ClipGNNError, ModelFileError, ModelNotFoundError
from clipgnn.nn.files import load_described, model_bytes

GRAPHS: list[Any] = [nx.path_graph(size) for size in range(2, 8)]
SMALL: dict[str, Any] = {"num_colorings": 2, "hidden_channels": 4, "num_layers": 1}
FIT: dict[str, Any] = {**SMALL, "epochs": 1, "random_state": 0}


def trained() -> TrainedModel:
    graphs = PackedGraphs.from_networkx(GRAPHS, y=[0, 1] * 3)
    return train(graphs, ModelSpec("clip", SMALL), Recipe(epochs=1), [Split(range(6))], [0])[0]


KINDS: dict[str, Callable[[], Any]] = {
    "TrainedModel": trained,
    "CLIPClassifier": lambda: CLIPClassifier(**FIT).fit(GRAPHS, ["a", "b"] * 3),
    "CLIPRegressor": lambda: CLIPRegressor(**FIT).fit(GRAPHS, [1.0, 2.0, 3.0] * 2),
    "CLIPEmbedding": lambda: CLIPEmbedding(**FIT).fit(GRAPHS, [1.5, 2.5, 3.5] * 2),
}
CLASSES: dict[str, Any] = {name: getattr(clipgnn, name) for name in KINDS}
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The content of a file of each kind."""
    path = tmp_path_factory.mktemp("files") / "model.safetensors"
    content = {}
    for name, make in KINDS.items():
        make().save(path)
        content[name] = path.read_bytes()
    return content


def refusal(kind: str, path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        CLASSES[kind].load(path)
    assert isinstance(caught.value, ClipGNNError)
    assert str(path) in str(caught.value)
    return str(caught.value)


def changed(path: Path, content: bytes, change: Callable[[dict[str, Any]], Any]) -> None:
    """Write a file whose description is changed, with the right checksum."""
    path.write_bytes(content)
    network, description = load_described(path)
    assert description is not None
    change(description)
    path.write_bytes(model_bytes(network, description))


@every_kind
@pytest.mark.parametrize("keep", [0.0, 0.01, 0.3, 0.99])
def test_truncated(kind: str, keep: float, files: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(files[kind][: int(len(files[kind]) * keep)])
    assert "damaged" in refusal(kind, path)


@every_kind
def test_flipped_bits(kind: str, files: dict[str, bytes], tmp_path: Path) -> None:
    """Every change is noticed, in the weights and in the texts."""
    path, content = tmp_path / "model", files[kind]
    (length,) = struct.unpack("<Q", content[:8])
    begin = content.index(b'\\"kind\\"')
    places = [begin + 2, begin + 40, 8 + length, len(content) - 1, (8 + length + len(content)) // 2]
    for place in places:
        flipped = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        path.write_bytes(flipped)
        refusal(kind, path)


@every_kind
def test_every_key_of_the_description_is_needed(
    kind: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "model"
    path.write_bytes(files[kind])
    _, description = load_described(path)
    optional = {"target_names"}  # files of the first versions do not have it
    for key in (description or {}).keys() - optional:
        changed(path, files[kind], methodcaller("pop", key))
        message = refusal(kind, path)
        assert "Got None" in message if key == "kind" else f"KeyError('{key}')" in message
        clipgnn.load(path)  # the network can still be read


@every_kind
@pytest.mark.parametrize("history", [None, 3, {}, {"train_loss": [1.0]}], ids=str)
def test_histories_that_cannot_be_read(
    kind: str, history: Any, files: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "model"
    given = history if kind == "TrainedModel" or history in (None, 3) else [history]
    changed(path, files[kind], lambda own: own.update(history=given))
    assert "A newer clipgnn may have written it" in refusal(kind, path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("task", "colors"),
        ("task", None),
        ("task", []),
        ("recipe", None),
        ("recipe", {"loss": "squared-error", "momentum": 0.9}),
        ("recipe", {"loss": "cross-entropy", "epochs": -1}),
        ("recipe", {"loss": "cross-entropy", "metric": "rmse"}),
        ("encoding", {"nodes": [{"name": "a"}]}),
        ("encoding", "letters"),
    ],
)
def test_trained_models_of_other_versions(
    key: str, value: Any, files: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "model"
    changed(path, files["TrainedModel"], lambda own: own.update({key: value}))
    assert "A newer clipgnn may have written it" in refusal("TrainedModel", path)


@every_kind
def test_files_of_another_kind(kind: str, files: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "model"
    for other in files.keys() - {kind}:
        path.write_bytes(files[other])
        message = refusal(kind, path)
        assert f"must be the file of a {kind}. Got {other!r}. Use the class" in message
    path.write_bytes(files[kind])
    clipgnn.save(clipgnn.load(path), path)
    assert "Got a network. Use" in refusal(kind, path)


@every_kind
@pytest.mark.parametrize("found", [None, "clipgnn.CLIP/2", "clipgnn/2", "clipgnn/4"])
def test_other_formats(kind: str, found: str | None, tmp_path: Path) -> None:
    path = tmp_path / "model"
    save_file({"weight": torch.ones(3)}, path, None if found is None else {"format": found})
    assert f"Got {found!r}" in refusal(kind, path)


@every_kind
@pytest.mark.usefixtures("without_shape_checks")
def test_paths(kind: str, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="no model file"):
        CLASSES[kind].load(tmp_path / "absent")
    with pytest.raises(ClipGNNError, match=r"path must be a str.* Got None"):
        CLASSES[kind].load(None)


@every_kind
def test_the_description_is_json_in_the_header(kind: str, files: dict[str, bytes]) -> None:
    (length,) = struct.unpack("<Q", files[kind][:8])
    metadata = json.loads(files[kind][8 : 8 + length])["__metadata__"]
    assert json.loads(metadata["description"])["kind"] == kind
    assert b"pickle" not in files[kind]
