"""Writing files: what is replaced, what is written to, and which permissions result."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from clipgnn.errors import OutputError
from clipgnn.writing import check_writable, write_file


def mode_of(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


@pytest.mark.parametrize("content", [b"", b"text\n", bytes(range(256)) * 1000])
def test_content(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    for _ in range(2):
        write_file(path, content)
        assert path.read_bytes() == content
        assert os.listdir(tmp_path) == ["file"]


def test_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_file("file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "file") == "0o640"


def test_an_existing_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o604)
    write_file(path, b"new")
    assert mode_of(path) == "0o604"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_an_existing_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 12345, 54321)
    write_file(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_target_is_written(exists: bool, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "target"
    target.parent.mkdir()
    if exists:
        target.write_bytes(b"old")
    first, second = tmp_path / "first", tmp_path / "second"
    second.symlink_to("elsewhere/target")
    first.symlink_to(second)
    write_file(first, b"new")
    assert target.read_bytes() == b"new"
    assert os.readlink(first) == str(second)
    assert os.readlink(second) == "elsewhere/target"
    assert os.listdir(target.parent) == ["target"]


def test_files_with_similar_names_are_left_alone(tmp_path: Path) -> None:
    others = ["file.partial", f"file.{os.getpid()}.partial", ".file", ".file.tmp", "file.tmp"]
    for name in others:
        (tmp_path / name).write_bytes(name.encode())
    write_file(tmp_path / "file", b"new")
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "file"])
    for name in others:
        assert (tmp_path / name).read_bytes() == name.encode()


@pytest.mark.parametrize("character", ["n", "ñ", "𝄞"])
def test_the_longest_names(character: str, tmp_path: Path) -> None:
    """A file system allows 255 bytes, also where the temporary name is longer."""
    path = tmp_path / (character * (255 // len(character.encode())))
    write_file(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    check_writable(pipe)
    write_file(pipe, b"through")
    reader.join(10)
    assert read == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_null_device_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(os.devnull)
    write_file(tmp_path / "link", b"text")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert os.readlink(tmp_path / "link") == os.devnull


WRITE = """
import os, sys
from clipgnn.errors import OutputError
from clipgnn.writing import write_file
os.write(1, b"before\\n")
write_file(sys.argv[1], b"content\\n")
os.write(1, b"after\\n")
"""


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
@pytest.mark.parametrize("redirected", [False, True])
def test_standard_output(name: str, redirected: bool, tmp_path: Path) -> None:
    """In order with what else is printed, whether it is a pipe or a file."""
    (tmp_path / "link").symlink_to("/dev/stdout")
    command = [sys.executable, "-c", WRITE, name]
    if redirected:
        with open(tmp_path / "printed", "wb") as file:
            subprocess.run(command, stdout=file, cwd=tmp_path, check=True)
        printed = (tmp_path / "printed").read_bytes()
    else:
        printed = subprocess.run(command, capture_output=True, cwd=tmp_path, check=True).stdout
    assert printed == b"before\ncontent\nafter\n"


@pytest.mark.skipif(not os.access("/proc", os.W_OK), reason="only root may try to write there")
def test_a_folder_that_exists_but_allows_no_files(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/page.html")
    for path in ("/proc/page.html", tmp_path / "link"):
        with pytest.raises(OutputError, match="created in the folder '/proc', which exists") as own:
            write_file(path, b"")
        assert "Create its folder" not in str(own.value)


@pytest.mark.parametrize("name", ["", "no/file", "link"])
def test_a_folder_that_does_not_exist(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("no/file")
    with pytest.raises(OutputError, match=r"No such file or directory\. Create its folder first"):
        write_file(name, b"")
