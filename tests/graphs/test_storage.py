"""Graph sets on disk: round trips, shards, damaged folders."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.graph_sets import ALL_KINDS, graph_set

from clipgnn import PackedGraphs
from clipgnn.errors import (
    DatasetFileError,
    DatasetNotFoundError,
    InvalidGraphError,
    InvalidParameterError,
    OutputError,
)
from clipgnn.graphs.storage import stored as storage
from clipgnn.graphs.storage.schema import TENSORS, Schema
from clipgnn.graphs.storage.shard import Shard, write_shard
from clipgnn.graphs.storage.stored import (
    FILE,
    TargetNames,
    append_graphs,
    is_stored,
    open_graphs,
    save_graphs,
    shard_path,
)

FIELDS = (*TENSORS, "node_pointers", "edge_pointers")


def assert_same(found: PackedGraphs, expected: PackedGraphs) -> None:
    """Check that two data sets are equal in every field, dtypes included."""
    assert (found.name, found.in_channels) == (expected.name, expected.in_channels)
    assert found.encoding == expected.encoding
    for name in FIELDS:
        one, other = getattr(found, name), getattr(expected, name)
        assert (one is None) == (other is None), name
        if one is not None:
            assert one.dtype == other.dtype, name
            torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True, msg=name)


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of at most three graphs."""
    monkeypatch.setattr(storage, "SHARD_GRAPHS", 3)


@pytest.fixture
def folder(tmp_path: Path, small_shards: None) -> Path:
    """A graph set of three shards."""
    save_graphs(graph_set(ALL_KINDS[-1]), tmp_path / "set")
    return tmp_path / "set"


@pytest.mark.parametrize("kinds", ALL_KINDS, ids=lambda own: "+".join(sorted(own)) or "none")
@pytest.mark.parametrize("labels", [False, True])
def test_a_round_trip_keeps_every_field(
    kinds: frozenset[str], labels: bool, tmp_path: Path, small_shards: None
) -> None:
    graphs = graph_set(kinds, labels=labels)
    found = graphs.save(tmp_path / "set")
    assert len(found.records) == 3
    assert_same(PackedGraphs.open(tmp_path / "set").load(), graphs)


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 1.0, 255.0],
        [0.0, 1.0, 256.0],
        [0.0, -1.0, 2.0],
        [0.5, 1.0, 2.0],
        [float("nan"), 1.0, 2.0],
        [1e-300, 1.0, 1e300],
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_floats_are_kept(values: list[float], dtype: torch.dtype, tmp_path: Path) -> None:
    y = torch.tensor(values, dtype=dtype)
    if bool(y.isinf().any()):
        pytest.skip("not finite in this dtype")
    graphs = replace(graph_set(frozenset()), y=None)
    graphs = replace(graphs.subset(torch.arange(3)), y=y)
    assert_same(graphs.save(tmp_path / "set").load(), graphs)


@pytest.mark.parametrize("most", [255, 256, 2**15, 2**31, 2**40])
def test_integers_are_kept(most: int, tmp_path: Path) -> None:
    graphs = graph_set(frozenset(), labels=True)
    colorings = torch.arange(graphs.x.shape[0])[None] + most - 3
    graphs = replace(graphs, colorings=colorings)
    assert_same(graphs.save(tmp_path / "set").load(), graphs)


@pytest.mark.parametrize("least", [-1, -(2**15), -(2**40)])
def test_negative_rows_are_kept(least: int, tmp_path: Path) -> None:
    graphs = graph_set(frozenset())
    rows = torch.arange(len(graphs)) + least
    append_graphs(tmp_path / "set", graphs, rows=rows)
    found = open_graphs(tmp_path / "set").rows(torch.tensor([1, 3]))
    assert found is not None
    assert found.tolist() == [least + 1, least + 3]
    assert open_graphs(tmp_path / "set").rows(torch.arange(len(graphs))) is not None


def test_one_hot_rows_take_a_byte_each(tmp_path: Path) -> None:
    graphs = graph_set(frozenset())
    write_shard(tmp_path / "own", graphs)
    float_bytes = graphs.x.numel() * graphs.x.element_size()
    assert (tmp_path / "own").stat().st_size < float_bytes + 900


def test_missing_targets_and_several_targets(tmp_path: Path) -> None:
    graphs = graph_set(frozenset())
    y = torch.randn(len(graphs), 3)
    y[2, 1] = torch.nan
    graphs = replace(graphs, y=y)
    stored = save_graphs(graphs, tmp_path / "set", TargetNames(("a", "b", "c")))
    assert_same(stored.load(), graphs)
    assert open_graphs(tmp_path / "set").target_names == TargetNames(("a", "b", "c"))
    [found] = stored.targets_by_shard()
    assert torch.equal(found.isnan(), y.isnan())


def test_a_folder_without_shards(tmp_path: Path) -> None:
    path = save_graphs(graph_set(ALL_KINDS[0]), tmp_path).folder / FILE
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "shards": []}))
    with pytest.raises(DatasetFileError, match="it has no shards"):
        PackedGraphs.open(tmp_path)


def test_classes_have_names(tmp_path: Path) -> None:
    names = TargetNames(("kind",), ("chain", "ring"))
    save_graphs(graph_set(frozenset()), tmp_path / "set", names)
    assert open_graphs(tmp_path / "set").target_names == names


@given(st.lists(st.integers(0, 8), min_size=1, max_size=20), st.integers(1, 5))
def test_subsets_are_those_of_memory(
    tmp_path_factory: pytest.TempPathFactory, chosen: list[int], shard: int
) -> None:
    graphs = graph_set(ALL_KINDS[-1])
    folder = tmp_path_factory.mktemp("sets") / "set"
    for start in range(0, len(graphs), shard):
        append_graphs(folder, graphs[start : start + shard])
    stored = open_graphs(folder)
    indices = torch.tensor(chosen)
    assert_same(stored.subset(indices), graphs.subset(indices))
    assert_same(stored[chosen], graphs.subset(indices))


def test_large_graphs_are_shards_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "SHARD_SIZE", 1)
    graphs = graph_set(ALL_KINDS[-1])
    stored = graphs.save(tmp_path / "set")
    assert sum(own.graphs for own in stored.records) == len(graphs)
    assert len(stored.records) >= len(graphs) - 1  # the last one is empty
    assert_same(stored.load(), graphs)
    assert [len(own) for own in stored.parts(4)] == [1] * len(graphs)
    monkeypatch.undo()
    assert [len(own) for own in stored.parts(4)] == [4, 4, 1]


def test_sizes_in_memory(folder: Path) -> None:
    stored = open_graphs(folder)
    graphs = stored.load()
    tensors = [getattr(graphs, name) for name in TENSORS]
    assert stored.loaded_bytes == sum(
        own.numel() * own.element_size() for own in tensors if own is not None
    )


def test_opening_reads_no_shard(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Shard) -> Any:
        raise AssertionError("a shard was read")

    monkeypatch.setattr(Shard, "_tensors", fail)
    stored = open_graphs(folder)
    assert (len(stored), stored.num_nodes, stored.shape) == (9, 32, (9,))
    assert "shards=3" in repr(stored)
    assert len(stored.fingerprint) == 64


def test_a_truncated_shard_is_named(folder: Path) -> None:
    path = shard_path(folder, 1)
    path.write_bytes(path.read_bytes()[:-1])
    stored = open_graphs(folder)
    assert len(stored[0:3]) == 3  # the other shards can be read
    for use in (stored.load, stored.check):
        with pytest.raises(DatasetFileError, match=r"shard-000001.*bytes instead of"):
            use()


def test_a_changed_shard_is_named(folder: Path) -> None:
    path = shard_path(folder, 2)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DatasetFileError, match=r"shard-000002.*does not match its checksum"):
        open_graphs(folder).check()


def test_a_missing_shard_is_named(folder: Path) -> None:
    shard_path(folder, 0).unlink()
    with pytest.raises(DatasetFileError, match=r"shard-000000.*It is damaged: it is missing"):
        open_graphs(folder).load()


def test_a_foreign_shard_is_named(folder: Path) -> None:
    other = graph_set(ALL_KINDS[0])
    record = write_shard(shard_path(folder, 1), other.subset(torch.arange(3)))
    description = json.loads((folder / FILE).read_bytes())
    description["shards"][1] = record.as_json()
    (folder / FILE).write_text(json.dumps(description))
    with pytest.raises(DatasetFileError, match=r"shard-000001.*its tensors are"):
        open_graphs(folder).check()


def test_a_shard_of_invalid_graphs_is_named(folder: Path) -> None:
    part = open_graphs(folder)[0:3]
    wrong = PackedGraphs.unchecked(**{**vars(part), "edge_index": part.edge_index + 1000})
    record = write_shard(shard_path(folder, 0), wrong)
    description = json.loads((folder / FILE).read_bytes())
    description["shards"][0] = record.as_json()
    (folder / FILE).write_text(json.dumps(description))
    with pytest.raises(DatasetFileError, match=r"shard-000000.*Graph 0: edge_index must"):
        open_graphs(folder).check()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"graphs.json must describe a graph set. It is damaged"),
        (b"{", r"graphs.json must describe a graph set. It is damaged"),
        (b"[1]", r"graphs.json must have the format 'clipgnn-graphs/1'. Got \[1\]"),
        (b'{"format": "clipgnn-graphs/2"}', r"must have the format .* Got 'clipgnn-graphs/2'"),
        (b'{"format": "clipgnn-graphs/1"}', r"It is damaged: KeyError"),
    ],
)
def test_a_damaged_description_is_named(content: bytes, message: str, folder: Path) -> None:
    (folder / FILE).write_bytes(content)
    with pytest.raises(DatasetFileError, match=message):
        open_graphs(folder)


@pytest.mark.parametrize("key", ["name", "schema", "shards", "targets"])
@pytest.mark.parametrize("value", [None, 3, "text", {}, [{}]])
def test_a_description_with_another_value(key: str, value: Any, folder: Path) -> None:
    description = json.loads((folder / FILE).read_bytes())
    if (key == "targets" and value is None) or key == "name":
        return
    description[key] = value
    (folder / FILE).write_text(json.dumps(description))
    if key == "shards" and value in ({}, "text"):
        return
    with pytest.raises(DatasetFileError, match=r"graphs\.json must describe"):
        open_graphs(folder)


def test_a_folder_without_graphs(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        assert not is_stored(path)
        with pytest.raises(DatasetNotFoundError, match="must be a folder of graphs"):
            open_graphs(path)


def test_graphs_of_another_kind_are_not_appended(folder: Path) -> None:
    before = (folder / FILE).read_bytes()
    for kinds, name in ((ALL_KINDS[0], "edge_attr"), (ALL_KINDS[1], "edge_attr")):
        with pytest.raises(InvalidGraphError, match=f"the same kind of {name}. Got none"):
            append_graphs(folder, graph_set(kinds))
    other = graph_set(ALL_KINDS[-1]).with_floats(torch.float32)
    with pytest.raises(InvalidGraphError, match=r"the same kind of x. Got float32"):
        append_graphs(folder, other)
    assert (folder / FILE).read_bytes() == before
    same = Schema.of(graph_set(ALL_KINDS[-1]))
    with pytest.raises(InvalidGraphError, match=r"in_channels. Got 4, but .* have 3"):
        same.check_same(replace(same, in_channels=4))


def test_a_folder_with_graphs_is_not_overwritten(folder: Path) -> None:
    with pytest.raises(OutputError, match=r"must be a new folder. It has 9 graphs"):
        graph_set(ALL_KINDS[0]).save(folder)


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    graphs = graph_set(ALL_KINDS[0])
    with pytest.raises(OutputError, match="must be a folder that can be written"):
        save_graphs(graphs, tmp_path / "file")
    with pytest.raises(OutputError, match="must be a folder that can be written"):
        append_graphs(tmp_path / "file", graphs)


def test_no_space_left(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = open_graphs(folder).load()
    monkeypatch.setattr("clipgnn.writing.os.fsync", full)
    with pytest.raises(OutputError, match=r"shard-000003.*No space left.*Free some space"):
        append_graphs(folder, before)
    with pytest.raises(OutputError, match=r"No space left"):
        before.save(tmp_path / "other")
    monkeypatch.undo()
    assert not is_stored(tmp_path / "other")
    assert sorted(own.name for own in folder.iterdir()) == [
        FILE,
        *(shard_path(folder, number).name for number in range(3)),
    ]
    assert_same(open_graphs(folder).load(), before)


def test_an_interrupted_append_is_overwritten(folder: Path) -> None:
    graphs = open_graphs(folder).load()
    shard_path(folder, 3).write_bytes(b"not recorded")
    assert_same(open_graphs(folder).load(), graphs)
    append_graphs(folder, graphs)
    stored = open_graphs(folder)
    stored.check()
    assert len(stored) == 18
    assert_same(stored[9:18], graphs)


def test_an_interrupted_save_is_not_a_graph_set(
    tmp_path: Path, small_shards: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    graphs = graph_set(ALL_KINDS[0])
    monkeypatch.setattr(storage, "record_shards", interrupted)
    with pytest.raises(KeyboardInterrupt):
        graphs.save(tmp_path / "set")
    monkeypatch.undo()
    assert not is_stored(tmp_path / "set")
    assert_same(graphs.save(tmp_path / "set").load(), graphs)


def test_invalid_indices(folder: Path) -> None:
    stored = open_graphs(folder)
    for chosen in (torch.tensor([9]), torch.tensor([-1]), torch.tensor([], dtype=torch.int64)):
        with pytest.raises(InvalidParameterError, match="chosen"):
            stored.subset(chosen)
    with pytest.raises(IndexError):
        stored[9]
    with pytest.raises(InvalidParameterError, match="A mask must have"):
        stored[torch.ones(3, dtype=torch.bool)]
    assert_same(stored[-1], stored.load()[[8]])


def test_graphs_without_targets(tmp_path: Path) -> None:
    stored = replace(graph_set(ALL_KINDS[0]), y=None).save(tmp_path / "set")
    assert not stored.has_targets
    with pytest.raises(InvalidParameterError, match="must have targets"):
        stored.targets_by_shard()
