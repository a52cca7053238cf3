"""The wheel, installed in a new environment and used from a folder outside the checkout."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import clipgnn

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True)
    [found] = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of a new environment that has the wheel.

    Its dependencies are those of the environment of the tests, so that nothing is downloaded. The
    checkout is not visible there: a folder named in a .pth file has no effect through its own.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    options = ["--python", str(folder / "bin" / "python"), "install", "--no-deps", "--no-index"]
    subprocess.run([sys.executable, "-m", "pip", *options, str(wheel)], check=True)
    return folder / "bin"


def run(program: Path, *arguments: str, folder: Path) -> str:
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(program), *arguments]
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_content(wheel: Path) -> None:
    assert wheel.name == f"clipgnn-{clipgnn.__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"clipgnn/py.typed", "clipgnn/__init__.pyi", "clipgnn/tables/table1.toml"} <= names
    assert {name.partition("/")[0] for name in names} == {
        "clipgnn",
        f"clipgnn-{clipgnn.__version__}.dist-info",
    }
    assert not [name for name in names if "test_" in name or "__pycache__" in name]


def test_public_names(environment: Path, tmp_path: Path) -> None:
    code = (
        "import clipgnn; clipgnn.CLIP(1, 2); print(clipgnn.__file__);"
        "assert all(hasattr(clipgnn, name) for name in clipgnn.__all__)"
    )
    output = run(environment / "python", "-c", code, folder=tmp_path)
    assert Path(output.strip()).is_relative_to(environment.parent)


def test_commands(environment: Path, tmp_path: Path) -> None:
    command = environment / "clipgnn"
    assert run(command, "--version", folder=tmp_path).strip() == f"clipgnn {clipgnn.__version__}"
    assert "16-CLIP" in run(command, "demo", "--epochs", "1", folder=tmp_path)
    assert (tmp_path / "clipgnn-demo.png").stat().st_size > 10_000
    options = ["--models", "0-CLIP", "--folds", "1", "--epochs", "1"]
    assert "0-CLIP" in run(command, "experiment", "run", "smoke", *options, folder=tmp_path)
