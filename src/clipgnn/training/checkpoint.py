"""Checkpoints of a training, from which it continues after an interruption.

A checkpoint is a safetensors file: the tensors of the training, and as JSON what it is a checkpoint
of and how far it is. It is replaced atomically, so that there is always a complete one.
"""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from clipgnn.errors import InvalidParameterError, ModelFileError, OutputError, shown
from clipgnn.writing import write_file

_FORMAT = "clipgnn-checkpoint/1"


@dataclass(frozen=True)
class Progress:
    """How far a training is.

    Attributes:
        epoch: number of finished epochs.
        portion: number of finished portions of the next epoch.
        finished: whether the training has ended.
        seconds: duration so far.
    """

    epoch: int
    portion: int
    finished: bool
    seconds: float


class Checkpoint:
    """The checkpoint file of a training.

    Args:
        path: the file.
        identity: hash of everything that determines the result of the training.
        every: smallest number of seconds between two checkpoints; the last one is always written.
        written: whether this process writes; others only read.
    """

    def __init__(self, path: Path, identity: str, every: float, *, written: bool = True) -> None:
        self._path, self._identity, self._every = path, identity, every
        self._written = written
        self._last = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether it is time to write the next checkpoint."""
        return self._written and time.monotonic() - self._last >= self._every

    def write(self, tensors: Mapping[str, Tensor], progress: Progress) -> None:
        """Replace the checkpoint.

        Raises:
            OutputError: if it cannot be written. The one before is then unchanged.
        """
        if not self._written:
            return
        described = {"identity": self._identity, "progress": vars(progress)}
        text = json.dumps(described)
        copied = {name: own.detach().cpu().contiguous().clone() for name, own in tensors.items()}
        hashed = identity_of(text, copied)
        write_file(
            self._path, to_bytes(copied, {"format": _FORMAT, "content": text, "sha256": hashed})
        )
        self._last = time.monotonic()

    def read(self) -> tuple[dict[str, Tensor], Progress] | None:
        """Read the checkpoint; None if there is none.

        Raises:
            ModelFileError: if it is damaged.
            InvalidParameterError: if it is that of another training.
        """
        if not self._path.is_file():
            return None
        try:
            with safe_open(self._path, framework="pt") as file:
                metadata = file.metadata() or {}
                # A copy, because the file is replaced while its tensors are in use.
                tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            if metadata.get("format") != _FORMAT:
                raise ValueError(f"its format is {metadata.get('format')!r}, not {_FORMAT!r}")
            if metadata["sha256"] != identity_of(metadata["content"], tensors):
                raise ValueError("its content does not match its checksum")
            described = json.loads(metadata["content"])
            progress = Progress(**described["progress"])
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise self._damaged(str(error)) from error
        if described["identity"] != self._identity:
            raise InvalidParameterError(
                f"{self._path} must be a checkpoint of this training. It is that of another one: "
                "data, model, recipe, seed or number of processes differ. Use another folder for "
                "checkpoints, or delete this one.",
                parameter="checkpoint",
            )
        return tensors, progress

    def _damaged(self, reason: str) -> ModelFileError:
        return ModelFileError(
            f"{self._path} must be a checkpoint. It is damaged: {reason}. Delete it to begin the "
            "training again."
        )


def check_seconds(seconds: object) -> None:
    """Check the number of seconds between two checkpoints.

    Raises:
        InvalidParameterError: if it is not a number of at least 0.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise InvalidParameterError(
            f"checkpoint_seconds must be a number of at least 0. Got {shown(seconds)}.",
            parameter="checkpoint_seconds",
        )


def checkpoint_folder(path: str | os.PathLike[str]) -> Path:
    """Create the folder of checkpoints.

    Raises:
        OutputError: if it cannot be created.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder} must be a folder that can be written. {error.strerror}. Use another folder."
        ) from error
    return folder


def identity_of(text: str, tensors: Mapping[str, Tensor]) -> str:
    """Hash of a text and of tensors with their names."""
    digest = hashlib.sha256(text.encode())
    digest.update(to_bytes({name: own.cpu().clone() for name, own in sorted(tensors.items())}))
    return digest.hexdigest()
