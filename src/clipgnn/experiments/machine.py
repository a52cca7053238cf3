"""Versions and hardware that are recorded with results; no host names."""

import os
import platform
import sys
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path, PurePosixPath

from clipgnn import __version__


@cache
def installed_versions() -> Mapping[str, str]:
    """Return the versions of Python and all packages, and a hash of this package's source."""
    versions = {
        name.lower().replace("_", "-"): distribution.version
        for distribution in distributions()
        if (name := distribution.metadata["Name"])
    }
    versions.setdefault("clipgnn", __version__)  # not installed, but run from its source
    versions["python"] = platform.python_version()
    versions["clipgnn-source"] = source_hash()
    torch = sys.modules.get("torch")
    if torch is not None:  # its own version names the CUDA build
        versions["torch"] = str(torch.__version__)
        if torch.version.cuda:
            versions["cuda"] = str(torch.version.cuda)
    return dict(sorted(versions.items()))


@cache
def this_machine(device: str = "cpu") -> Mapping[str, str]:
    """Return processor, cores, memory, system, and the accelerator if it is the device."""
    machine = {
        "processor": _processor(),
        "cores": str(available_cores()),
        "memory": f"{_memory_bytes() / 2**30:.0f} GiB" if _memory_bytes() else "unknown",
        "system": f"{platform.system()} {platform.machine()}",
    }
    torch = sys.modules.get("torch")
    if device.startswith("cuda") and torch is not None and torch.cuda.is_available():
        machine["accelerator"] = str(torch.cuda.get_device_name(device))
    return machine


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def source_hash() -> str:
    """Return a hash of the package's Python files, which identifies uncommitted code too."""
    root = Path(__file__).parents[1]
    return hash_of_files(
        {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.py")}
    )


def hash_of_files(contents: Mapping[str, bytes]) -> str:
    """Return a hash of the names and contents of files."""
    digest = sha256()
    for path in sorted(contents, key=lambda own: PurePosixPath(own).parts):
        digest.update(path.encode() + b"\0" + contents[path])
    return digest.hexdigest()[:12]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0
