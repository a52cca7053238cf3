"""Files that cannot be written, or not to the end: an earlier file stays as it was."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clipgnn.errors import ClipGNNError, OutputError
from clipgnn.writing import check_writable, write_file

as_root = os.geteuid() == 0


def refusal(path: str | Path) -> str:
    """The message with which a path is refused, before and while writing."""
    messages = []
    for call in (lambda: check_writable(path), lambda: write_file(path, b"new")):
        with pytest.raises(OutputError) as caught:
            call()
        assert isinstance(caught.value, ClipGNNError)
        assert isinstance(caught.value, OSError)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    return messages[0]


def a_loop(folder: Path) -> Path:
    (folder / "loop").symlink_to("loop")
    return folder / "loop"


def below_a_file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file" / "deeper"


PATHS: dict[str, tuple[Callable[[Path], str | Path], str]] = {
    "a folder": (lambda folder: folder, "Is a directory. Use a file inside it."),
    "a missing folder": (
        lambda folder: folder / "nowhere" / "file",
        "No such file or directory. Create its folder first.",
    ),
    "a folder that is a file": (below_a_file, "Not a directory. Create its folder first."),
    "a name too long": (lambda folder: folder / ("n" * 256), "File name too long"),
    "a loop of links": (a_loop, "Too many levels of symbolic links"),
    "no name": (lambda folder: "", "No such file or directory"),
    "a null byte": (lambda folder: f"{folder}/a\0b", "null"),
    "a closed descriptor": (lambda folder: "/dev/fd/987654", "Bad file descriptor"),
}


@pytest.mark.parametrize(("make", "said"), PATHS.values(), ids=PATHS.keys())
def test_paths_that_cannot_be_written(
    make: Callable[[Path], str | Path], said: str, tmp_path: Path
) -> None:
    path = make(tmp_path)
    before = sorted(os.listdir(tmp_path))
    message = refusal(path)
    assert said in message
    assert repr(str(path)) in message
    assert "must be a file that can be written" in message
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.skipif(as_root, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert "No permission" in refusal(tmp_path / "file")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(as_root, reason="root may write anything")
def test_a_read_only_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch(0o400)
    assert "No permission" in refusal(tmp_path / "file")


def make_device(path: Path, kind: int, major: int, minor: int) -> None:
    try:
        os.mknod(path, kind | 0o666, os.makedev(major, minor))
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        pytest.skip("devices cannot be made here")


def test_a_full_device_stays_a_device(tmp_path: Path) -> None:
    """As root a copy of it: were it replaced, then not the machine's own."""
    full = Path("/dev/full")
    if as_root:
        full = tmp_path / "full"
        make_device(full, stat.S_IFCHR, 1, 7)
    link = tmp_path / "link"
    link.symlink_to(full)
    for path in (full, link):
        with pytest.raises(OutputError, match=r"No space left on device. Free some space"):
            write_file(path, b"new")
        assert stat.S_ISCHR(full.stat().st_mode)
    assert link.is_symlink()


@pytest.mark.skipif(not as_root, reason="only root can make one")
def test_a_disk_is_refused(tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "disk", stat.S_IFBLK | 0o600, os.makedev(7, 200))
    except OSError:
        pytest.skip("devices cannot be made here")
    assert "A block device is never overwritten" in refusal(tmp_path / "disk")


@pytest.mark.parametrize("failing", ["os.fsync", "os.replace", "os.fchmod"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_earlier_file(
    failing: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*_: Any, **__: Any) -> None:
        raise error

    expected = OutputError if isinstance(error, OSError) else KeyboardInterrupt
    with monkeypatch.context() as patch:
        patch.setattr(os, failing.removeprefix("os."), fail)
        with pytest.raises(expected):
            write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"], "a temporary file was left behind"


SLOWLY = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
from clipgnn.writing import write_file
def stop_here(descriptor):
    print("writing", flush=True)
    time.sleep(60)
os.fsync = stop_here
write_file(sys.argv[1], b"new" * 1000)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_kill_in_the_middle_leaves_the_earlier_file(how: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    command = [sys.executable, "-c", SLOWLY, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(how)
        assert process.wait(30) != 0
    assert path.read_bytes() == b"old"
    if how == signal.SIGINT:
        assert os.listdir(tmp_path) == ["file"]
    write_file(path, b"newer")  # what a kill leaves behind is not in the way
    assert path.read_bytes() == b"newer"
