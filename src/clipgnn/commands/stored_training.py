"""Training on graphs on disk, in this process, in those of torchrun or on a Ray cluster."""

import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clipgnn.commands.learning import CheckpointOptions, LearningOptions
from clipgnn.errors import DatasetNotFoundError, InvalidParameterError
from clipgnn.parameters.targets import Task

if TYPE_CHECKING:
    from clipgnn import CLIPClassifier, CLIPRegressor

_CHECKPOINT = re.compile(r"models-\d+\.safetensors|\.models-\d+\.safetensors\.[0-9a-f]{16}")
"""Names of checkpoints, and of files that a kill leaves while one is written."""


@dataclass(frozen=True)
class StoredTraining:
    """What is trained on which graphs, as plain values that other machines can receive.

    Attributes:
        folder: folder of the graphs, on every machine.
        learning: options of the estimator.
        device: device of the training.
        seed: seed of all randomness.
        checkpoints: options of checkpoints; their folder is the same on every machine.
        shown: whether to show the progress.
    """

    folder: str
    learning: dict[str, Any]
    device: str
    seed: int
    checkpoints: dict[str, Any]
    shown: bool

    @classmethod
    def of(
        cls,
        folder: Path,
        learning: LearningOptions,
        *,
        device: str,
        seed: int,
        checkpoints: CheckpointOptions,
        shown: bool,
    ) -> "StoredTraining":
        """Return the training that options describe, with absolute paths."""
        kept = checkpoints.parameters()
        return cls(str(folder.absolute()), asdict(learning), device, seed, kept, shown)

    @property
    def checkpoint(self) -> Path | None:
        """The folder of checkpoints; None for no checkpoints."""
        folder = self.checkpoints["checkpoint"]
        return None if folder is None else Path(folder)

    def fit(self) -> "CLIPClassifier | CLIPRegressor":
        """Train an estimator.

        Raises:
            DatasetNotFoundError: if the folder does not exist on this machine.
            ClipGNNError: if the graphs cannot be trained on.
        """
        from clipgnn import PackedGraphs

        graphs = PackedGraphs.open(self.folder)
        task = Task.classification if graphs.has_classes else Task.regression
        model = LearningOptions(**self.learning).estimator(
            task,
            device=self.device,
            seed=self.seed,
            verbose=self.shown,
            checkpoint=CheckpointOptions(self.checkpoint, self.checkpoints["checkpoint_seconds"]),
        )
        model.fit(graphs)
        return model


def check_stored_options(given: dict[str, object]) -> None:
    """Check that options which decide how files are read are not given for graphs on disk.

    Raises:
        InvalidParameterError: if one is.
    """
    for name, value in given.items():
        if value not in (None, False, Task.auto):
            raise InvalidParameterError(
                f"{name} must not be given for graphs on disk, which were read when they were "
                "converted. Leave it out, or convert them again.",
                parameter=name,
            )


def check_folder(folder: Path) -> None:
    """Check that there are graphs on disk.

    Raises:
        DatasetNotFoundError: if there are not.
    """
    from clipgnn.graphs.storage.stored import is_stored

    if not is_stored(folder):
        raise DatasetNotFoundError(
            f"DATA must be a folder of graphs that clipgnn convert has written. {folder} is not."
        )


def delete_checkpoints(folder: Path | None, output: Path) -> None:
    """Delete the checkpoints of a training that has ended, and their folder if it is then empty.

    Args:
        folder: the folder of checkpoints, or None.
        output: file of the model, which is kept.
    """
    if folder is None:
        return
    folder = folder.expanduser()
    for file in folder.iterdir():
        if _CHECKPOINT.fullmatch(file.name) and file.resolve() != output.resolve():
            file.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()
