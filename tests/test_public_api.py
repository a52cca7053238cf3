"""The public API: complete, lazy, and the same for type checkers and at run time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import clipgnn

NAMES = {
    *("CLIP", "GIN", "RPGIN", "RingGNN", "DGCNN", "DCNN", "PatchySAN", "WL", "AWL"),
    *("train", "fit_kernel", "Recipe", "ModelSpec", "Split", "PackedGraphs", "save", "load"),
    *("load_dataset", "load_tu", "stratified_folds", "hold_out", "__version__"),
    *("CLIPClassifier", "CLIPEmbedding", "CLIPRegressor"),
    *("Scheme", "Random", "All", "Precomputed", "TrainedModel", "TrainedModels"),
    *("AddColorings", "Explainer", "Occlusion"),
}


def test_the_public_names() -> None:
    """A name is added or removed here on purpose: removing one breaks users' code."""
    assert set(clipgnn.__all__) == NAMES
    assert len(clipgnn.__all__) == len(NAMES)


@pytest.mark.parametrize("name", sorted(NAMES - {"__version__"}))
def test_a_public_name_is_the_one_of_its_module(name: str) -> None:
    value = getattr(clipgnn, name)
    assert getattr(sys.modules[value.__module__], name) is value
    assert name in dir(clipgnn)


@pytest.mark.parametrize("package", ["coloring", "datasets", "graphs", "nn", "training"])
def test_every_name_of_a_package_can_be_imported(package: str) -> None:
    module = __import__(f"clipgnn.{package}", fromlist=["__all__"])
    assert all(hasattr(module, name) for name in module.__all__)


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'ClIP'"):
        clipgnn.ClIP  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="sample_colorings"):
        from clipgnn import sample_colorings  # type: ignore[attr-defined]  # noqa: F401


def test_importing_the_package_imports_no_torch() -> None:
    code = "import sys, clipgnn; dir(clipgnn); sys.exit('torch' in sys.modules)"
    source = str(Path(clipgnn.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
