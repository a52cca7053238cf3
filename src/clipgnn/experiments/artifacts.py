"""Files of a trial beside its store: the trained model, and the predictions of the test graphs.

The process that owns the store writes them before it records the result, so that a killed process
never leaves a recorded trial without its files.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from clipgnn.errors import InvalidParameterError, OutputError, StoreError
from clipgnn.experiments.predictions import Predictions
from clipgnn.experiments.trial import Trial, TrialResult
from clipgnn.writing import write_file

if TYPE_CHECKING:
    from clipgnn.nn.network import Network


def model_path(store: Path, identity: str) -> Path:
    """Return the model file of a trial."""
    return Path(store).with_name(f"{Path(store).name}.models") / f"{identity}.safetensors"


def predictions_path(store: Path, identity: str) -> Path:
    """Return the file of predictions of a trial."""
    return Path(store).with_name(f"{Path(store).name}.predictions") / f"{identity}.npz"


def write_artifacts(store: Path, result: TrialResult) -> None:
    """Write the model and the predictions of a result beside a store, each file atomically.

    Raises:
        StoreError: if a file cannot be written.
    """
    if result.model is not None:
        _write(model_path(store, result.trial), result.model)
    if result.predictions is not None:
        _write(predictions_path(store, result.trial), result.predictions.to_bytes())


def has_artifacts(store: Path, trial: Trial) -> bool:
    """Return whether all files exist that the trial must keep."""
    return (not trial.keep_model or model_path(store, trial.identity).is_file()) and (
        not trial.keep_predictions or predictions_path(store, trial.identity).is_file()
    )


def load_model(store: Path, trial: Trial) -> "Network":
    """Return the trained model of a trial, in evaluation mode on the CPU.

    Raises:
        StoreError: if there is no such file.
        ModelFileError: if the file is damaged.
    """
    from clipgnn.nn.files import load  # needs torch

    path = model_path(store, trial.identity)
    _read(path, trial, "model", "keep_models")
    return load(path)


def load_predictions(store: Path, trial: Trial) -> Predictions:
    """Return the predictions of a trial.

    Raises:
        StoreError: if there is no such file, or it is damaged.
    """
    path = predictions_path(store, trial.identity)
    content = _read(path, trial, "file of predictions", "keep_predictions")
    try:
        return Predictions.from_bytes(content)
    except InvalidParameterError as error:
        raise StoreError(
            f"{path} cannot be used: {error} If it is damaged, delete it and run the experiment "
            "again."
        ) from error


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        write_file(path, content)
    except (OSError, OutputError) as error:
        raise StoreError(f"{path} cannot be written: {error}") from error


def _read(path: Path, trial: Trial, kind: str, key: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(
            f"There is no {kind} of {trial}: {path} cannot be read ({error.strerror}). Run the "
            f"experiment with {key} = true."
        ) from error
