"""The lock of the development environment: what is read, which wheels count, what is compared."""

import importlib.util
import io
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`tools/lock.py`, on files in a temporary folder."""
    spec = importlib.util.spec_from_file_location("lock", ROOT / "tools" / "lock.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "CONSTRAINTS", tmp_path / "constraints.txt")
    monkeypatch.setattr(module, "LOCK", tmp_path / "requirements-dev.txt")
    return module


class Index:
    """A package index that has one page for every package."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.asked: list[str] = []

    def __call__(self, request, timeout):
        self.asked.append(request.full_url)
        return io.BytesIO(self.page.encode())


def page_of(*files: str) -> str:
    """A page of an index with these files; the hash of each is its place."""
    return "".join(
        f'<a href="../../files/{file}#sha256={place}">{file}</a>\n'
        for place, file in enumerate(files)
    )


def test_pins_are_read_with_and_without_hashes(lock: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "pins.txt"
    path.write_text(
        "# numpy==0.1 is not a pin\n"
        "numpy==2.1.3 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
        "import-linter==2.0\n"
        "zope.interface==7.0\\\n"
        "torch==2.5.1+cpu\n"
        "-c other.txt\n"
        "ruff>=0.5\n"
    )
    assert lock.pins(path) == {
        "numpy": "2.1.3",
        "import-linter": "2.0",
        "zope.interface": "7.0",
        "torch": "2.5.1+cpu",
    }


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("some_pkg-1.2-py3-none-any.whl", True),
        ("some_pkg-1.2-py2.py3-none-any.whl", True),
        ("some_pkg-1.2-1-cp311-cp311-macosx_11_0_arm64.whl", True),
        ("some_pkg-1.2-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True),
        ("some_pkg-1.2-cp38-abi3-win_amd64.whl", True),
        ("some_pkg-1.2-cp310-cp310-win_amd64.whl", False),
        ("some_pkg-1.2-cp313-cp313-win_amd64.whl", False),
        ("some_pkg-1.2-py2-none-any.whl", False),
        ("some_pkg-1.2.1-py3-none-any.whl", False),
        ("some_pkg-1.2.tar.gz", False),
    ],
)
def test_hashes_are_those_of_the_wheels_that_can_be_installed(
    lock: ModuleType, monkeypatch: pytest.MonkeyPatch, file: str, counts: bool
) -> None:
    index = Index(page_of("some_pkg-1.2-cp312-cp312-win32.whl", file))
    monkeypatch.setattr(lock, "urlopen", index)
    assert lock.hashes("https://index.test/simple/", "some-pkg", "1.2") == (
        ["0", "1"] if counts else ["0"]
    )
    assert index.asked == ["https://index.test/simple/some-pkg/"]


def test_links_are_read_as_they_are_encoded(
    lock: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A local version is encoded in a link; yanked files and other hashes do not count."""
    page = (
        '<a href="a-1%2Bcpu-py3-none-any.whl#sha256=bb">a</a>'
        '<a href="a-1%2Bcpu-cp311-cp311-win32.whl#sha256=aa">a</a>'
        '<a href="a-1%2Bcpu-cp312-cp312-win32.whl#sha256=cc" data-yanked="broken">a</a>'
        '<a href="a-1%2Bcpu-cp312-cp312-win32.whl#sha256=cc" data-yanked>a</a>'
        '<a href="a-1%2Bcpu-cp312-cp312-win32.whl#md5=dd">a</a>'
        '<a href="a-1%2Bcpu-cp312-cp312-win32.whl">a</a>'
        "<a>a</a>"
    )
    monkeypatch.setattr(lock, "urlopen", Index(page))
    assert lock.hashes("https://index.test", "a", "1+cpu") == ["aa", "bb"]


def test_a_release_without_wheels_is_an_error(
    lock: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "urlopen", Index(page_of("a-1.tar.gz", "a-1-cp310-cp310-win32.whl")))
    with pytest.raises(SystemExit, match=r"no wheel of a 1 for Python 3\.11 or 3\.12"):
        lock.hashes("https://index.test", "a", "1")


def test_what_is_written_passes_the_check(
    lock: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock.CONSTRAINTS.write_text("a==1\nb==1\ntorch==2.5.1\n")
    files = [f"{name}-1-{tag}-none-any.whl" for name in "ab" for tag in ("py3", "cp311")]
    monkeypatch.setattr(lock, "urlopen", Index(page_of(*files)))
    lock.write("https://index.test")
    lock.check()
    text = lock.LOCK.read_text()
    assert "a==1 \\\n    --hash=sha256:0 \\\n" in text
    assert "torch==" not in text


@pytest.mark.parametrize(
    ("locked", "said"),
    [
        ("a==1\nb==2\n", None),
        ("a==1\nb==2\ntorch==2.4\n", None),
        ("a==1\nb==3\n", "b: constraints.txt has 2, requirements-dev.txt has 3"),
        ("a==1\n", "b: constraints.txt has 2, requirements-dev.txt has None"),
        ("a==1\nb==2\nc==1\n", "c: constraints.txt has None, requirements-dev.txt has 1"),
    ],
)
def test_a_lock_that_differs_fails_the_check(
    lock: ModuleType, locked: str, said: str | None
) -> None:
    lock.CONSTRAINTS.write_text("a==1\nb==2\ntorch==2.5.1\n")
    lock.LOCK.write_text(locked)
    if said is None:
        lock.check()
        return
    with pytest.raises(SystemExit) as error:
        lock.check()
    assert str(error.value) == f"{said}\nRun `make lock`."
