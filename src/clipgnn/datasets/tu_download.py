"""Downloading data sets of the TU collection: over https, in bounded size, extracted safely."""

import hashlib
import ipaddress
import stat
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.error import URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from clipgnn.datasets.tu_checksums import SHA256
from clipgnn.errors import DatasetFileError

_URL = "https://www.chrsmrrs.com/graphkerneldatasets"
_CHUNK = 2**16


@dataclass(frozen=True)
class Limits:
    """How much a download may be.

    Attributes:
        archive: bytes of the archive.
        files: bytes of the files in it, together.
        members: entries in it.
        timeout: seconds without any data after which a connection is given up.
    """

    archive: int = 2**30
    files: int = 2**31
    members: int = 1000
    timeout: float = 60.0


def download_tu(
    name: str, root: Path, *, url: str = _URL, limits: Limits | None = None
) -> Path | None:
    """Download the files of a data set into `root/NAME/raw`.

    The folder gets its name when it is complete; what is not complete is deleted.

    Args:
        name: the data set's name in the collection, which is also the name of a folder.
        root: folder of data sets; it is created if necessary.
        url: where the archives are.
        limits: how much a download may be.

    Returns:
        The folder, or None if there was a folder of that name when the download was complete.

    Raises:
        OSError: if the archive cannot be downloaded, or the files cannot be written.
        DatasetFileError: if the archive is too large, damaged, or not one of this data set.
    """
    limits = limits or Limits()
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=root) as temporary:
        archive, complete = Path(temporary, ".archive"), Path(temporary, name)
        _download(f"{url}/{quote(name)}.zip", archive, name, limits)
        try:
            _extract(archive, complete / "raw", name, limits)
        except (BadZipFile, EOFError, zlib.error) as error:
            raise _refusal(name, f"be a sound zip file. It is damaged: {error}") from error
        _check_files(complete / "raw", name)
        try:
            complete.rename(root / name)
        except OSError:
            if (root / name).is_dir():
                return None
            raise
    return root / name / "raw"


def _refusal(name: str, rule: str) -> DatasetFileError:
    return DatasetFileError(
        f"The downloaded archive of {name!r} must {rule}. Nothing of it was kept. Try again later, "
        "or put the files of the data set into place by hand."
    )


class _CheckedRedirects(HTTPRedirectHandler):
    """Redirects to addresses that are allowed, too, and never from https to http."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        _check_address(newurl)
        if urlsplit(newurl).scheme != req.type:
            raise URLError(f"a redirect must keep to {req.type}, not lead to {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_address(url: str) -> None:
    """Only https is allowed, except for servers on this machine."""
    parts = urlsplit(url)
    try:
        local = ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        local = False
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise URLError(f"data are downloaded over https only, not from {url}")


def _download(url: str, target: Path, name: str, limits: Limits) -> None:
    """Write the archive at a URL to a file.

    Raises:
        OSError: if it cannot be downloaded to its end.
        DatasetFileError: if it is too large.
    """
    _check_address(url)
    with (
        build_opener(_CheckedRedirects).open(url, timeout=limits.timeout) as response,
        open(target, "xb") as file,
    ):
        announced = response.headers.get("Content-Length") or ""
        size = 0
        while chunk := response.read(_CHUNK):
            size += len(chunk)
            if size > limits.archive:
                raise _refusal(name, f"have at most {limits.archive} bytes. It has more")
            file.write(chunk)
        if announced.isdecimal() and size != int(announced):
            raise ConnectionError(f"the connection ended after {size} of {announced} bytes")


def _extract(archive: Path, folder: Path, name: str, limits: Limits) -> None:
    """Extract the files of the folder `name` of an archive into a folder."""
    folder.mkdir(parents=True)
    with ZipFile(archive) as opened:
        _check_members(opened.infolist(), name, limits)
        left = limits.files
        for member in opened.infolist():
            parts = PurePosixPath(member.filename).parts
            if member.is_dir() or len(parts) != 2 or parts[0] != name:
                continue
            with opened.open(member) as source, open(folder / parts[1], "xb") as target:
                # The directory of an archive need not say how much an entry really holds.
                while chunk := source.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise _refusal(name, f"hold at most {limits.files} bytes. It holds more")
                    target.write(chunk)


def _check_members(members: list[ZipInfo], name: str, limits: Limits) -> None:
    """The directory of the archive names ordinary files inside of it, and not too many."""
    if len(members) > limits.members:
        raise _refusal(name, f"have at most {limits.members} entries. It has {len(members)}")
    total = sum(member.file_size for member in members)
    if total > limits.files:
        raise _refusal(name, f"hold at most {limits.files} bytes. It holds {total}")
    seen: set[str] = set()
    for member in members:
        path = PurePosixPath(member.filename)
        kind = stat.S_IFMT(member.external_attr >> 16)
        if path.is_absolute() or ".." in path.parts or any(c in member.filename for c in "\\:\0"):
            problem = "stay inside its folder"
        elif kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            problem = "be a file or a folder, no link or device"
        elif member.flag_bits & 1 or member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            problem = "be stored or deflated, and not encrypted"
        elif str(path) in seen:
            problem = "occur once"
        else:
            seen.add(str(path))
            continue
        raise _refusal(
            name, f"be safe to extract: every entry must {problem}. Got {member.filename!r}"
        )


def _check_files(folder: Path, name: str) -> None:
    """The files are those of the data set, as far as this is known."""
    if not (folder / f"{name}_A.txt").is_file():
        raise _refusal(name, f"have a file {name}_A.txt in a folder {name}. It has none")
    for part, expected in SHA256.get(name, {}).items():
        path = folder / f"{name}_{part}.txt"
        if not path.is_file():
            raise _refusal(name, f"have a file {path.name}. It has none")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            raise _refusal(
                name, f"have a file {path.name} with the SHA-256 {expected}. It has {found}"
            )
