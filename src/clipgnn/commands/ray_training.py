"""Training on a Ray cluster with Ray Train, in several processes that share every batch."""

import shutil
import socket
import warnings
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import Any

from clipgnn.commands.stored_training import StoredTraining, delete_checkpoints
from clipgnn.errors import ClipGNNError, InvalidParameterError, MissingDependencyError
from clipgnn.experiments.executors.ray_connection import RayConnection, is_own_error, reason_of
from clipgnn.writing import write_file

MODEL = "clipgnn-ray-model.safetensors"
"""File of the model in the folder of checkpoints."""

RAY_FOLDER = "clipgnn-ray"
"""Folder in the folder of checkpoints for files of Ray Train, and for `TOKEN`."""

TOKEN = "token"
"""File with a random text, which processes on all machines must see."""

MAX_FAILURES = 5
"""Number of times that all processes begin again from the last checkpoint."""


def train_with_ray(
    training: StoredTraining, address: str | None, num_workers: int, output: Path
) -> None:
    """Train on a cluster, and write the model to a file here.

    If a process or a node is lost, all processes begin again from the last checkpoint, with a
    warning. An error of the data or of a parameter ends the training.

    Args:
        training: the training; its folders must be the same on every machine of the cluster, and
            those of checkpoints writable.
        address: address of the cluster; by default Ray runs on this machine.
        num_workers: number of processes.
        output: file of the model.

    Raises:
        InvalidParameterError: if there is no folder of checkpoints.
        ClipGNNError: if the cluster does not respond or is too small, the folder of checkpoints is
            not shared, or the training fails.
    """
    if training.checkpoint is None:
        raise InvalidParameterError(
            "checkpoint must be given with --executor ray: a folder that all machines of the "
            "cluster share. It has the checkpoints, and the model until it is complete.",
            parameter="checkpoint",
        )
    from clipgnn.training.checkpoint import checkpoint_folder  # imports torch

    kept = checkpoint_folder(training.checkpoint)
    (kept / MODEL).unlink(missing_ok=True)  # of an earlier training that was interrupted
    shutil.rmtree(kept / RAY_FOLDER, ignore_errors=True)
    with RayConnection(address) as connection:
        on_gpu = training.device != "cpu" and _has(connection.ray, "GPU", num_workers)
        if not on_gpu and not _has(connection.ray, "CPU", num_workers):
            found = int(connection.ray.cluster_resources().get("CPU", 0))
            raise ClipGNNError(
                f"The Ray cluster must have a CPU for each of the {num_workers} processes. Got "
                f"{found}. Use a smaller --num-workers, or add nodes."
            )
        device = "cuda" if on_gpu else "cpu"
        try:
            _run(replace(training, device=device, shown=False), num_workers, kept, on_gpu=on_gpu)
        finally:
            shutil.rmtree(kept / RAY_FOLDER, ignore_errors=True)
    model = kept / MODEL
    write_file(output, model.read_bytes())
    model.unlink()
    delete_checkpoints(kept, output)


def _run(training: StoredTraining, num_workers: int, kept: Path, *, on_gpu: bool) -> None:
    try:
        train: Any = import_module("ray.train")
        torch: Any = import_module("ray.train.torch")
    except ImportError as error:
        raise MissingDependencyError(
            "Training with Ray requires Ray Train, which is not complete here. "
            f"Use pip install 'clipgnn[ray]'. {error}"
        ) from error
    token = token_hex(16)
    files = kept / RAY_FOLDER
    files.mkdir()
    write_file(files / TOKEN, token.encode())
    for failures in range(MAX_FAILURES + 1):
        trainer = torch.TorchTrainer(
            _train_in_worker,
            train_loop_config={"training": asdict(training), "token": token},
            torch_config=torch.TorchConfig(backend="nccl" if on_gpu else "gloo"),
            scaling_config=train.ScalingConfig(num_workers=num_workers, use_gpu=on_gpu),
            # Ray would also repeat a training whose data or parameters are wrong.
            run_config=train.RunConfig(
                name=f"attempt-{failures}",
                storage_path=str(files),
                failure_config=train.FailureConfig(max_failures=0),
            ),
        )
        try:
            trainer.fit()
        except Exception as error:
            reason = reason_of(error)
            if is_own_error(error) or failures == MAX_FAILURES:
                raise ClipGNNError(f"The training on the Ray cluster failed. {reason}") from error
            warnings.warn(
                f"A process of the training was lost: {reason} All processes begin again from the "
                f"last checkpoint ({failures + 1} of at most {MAX_FAILURES} times).",
                stacklevel=2,
            )
        else:
            return


def _train_in_worker(config: dict[str, Any]) -> None:
    """Train as one of the processes of a cluster; the first one writes the model."""
    import torch

    from clipgnn.training.workers import current_workers

    torch.set_num_threads(1)
    training = StoredTraining(**config["training"])
    assert training.checkpoint is not None
    _check_shared(training.checkpoint, config["token"])
    model = training.fit()
    if current_workers().rank == 0:
        model.checkpoint = None
        model.save(training.checkpoint / MODEL)


def _check_shared(kept: Path, token: str) -> None:
    """Check that this machine sees the folder of checkpoints of the machine of the command."""
    try:
        found = (kept / RAY_FOLDER / TOKEN).read_text()
    except OSError:
        found = ""
    if found != token:
        raise InvalidParameterError(
            "checkpoint must be a folder that all machines of the cluster share. "
            f"{kept} on {socket.gethostname()} is another one.",
            parameter="checkpoint",
        )


def _has(ray: Any, resource: str, count: int) -> bool:
    return bool(ray.cluster_resources().get(resource, 0) >= count)
