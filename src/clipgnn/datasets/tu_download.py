"""Download of data sets of the TU collection: https only, limited sizes, safe extraction."""

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
    """Limits of a download.

    Attributes:
        archive: largest size of the archive in bytes.
        files: largest total size of the extracted files in bytes.
        entries: largest number of entries in the archive.
        timeout: seconds without data after which a connection is closed.
    """

    archive: int = 2**30
    files: int = 2**31
    entries: int = 1000
    timeout: float = 60.0


def download_tu(
    name: str, root: Path, *, url: str = _URL, limits: Limits | None = None
) -> Path | None:
    """Download the files of a data set into `root/NAME/raw`.

    A temporary folder is renamed when it is complete, and deleted otherwise.

    Args:
        name: name of the data set in the collection, and of its folder.
        root: folder of data sets; it is created if necessary.
        url: address of the archives.
        limits: limits of the download.

    Returns:
        The folder, or None if another process has created the folder of that name meanwhile.

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
            raise _refusal(name, f"be a valid zip file. Got: {error}") from error
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
        f"The downloaded archive of {name!r} must {rule}. No file of it was kept. Try again later, "
        "or copy the files of the data set to its folder."
    )


class _CheckedRedirects(HTTPRedirectHandler):
    """Follow redirects to allowed addresses of the same scheme only."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        _check_address(newurl)
        if urlsplit(newurl).scheme != req.type:
            raise URLError(f"a redirect must use {req.type}. Got {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_address(url: str) -> None:
    """Check that an address uses https, or http on this machine."""
    parts = urlsplit(url)
    try:
        local = ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        local = False
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise URLError(f"the address must use https. Got {url}")


def _download(url: str, target: Path, name: str, limits: Limits) -> None:
    """Write the archive at a URL to a file.

    Raises:
        OSError: if the download is not complete.
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
                raise _refusal(name, f"have at most {limits.archive} bytes. Got more")
            file.write(chunk)
        if announced.isdecimal() and size != int(announced):
            raise ConnectionError(f"the connection was closed after {size} of {announced} bytes")


def _extract(archive: Path, folder: Path, name: str, limits: Limits) -> None:
    """Extract the files of the folder `name` of an archive into a folder."""
    folder.mkdir(parents=True)
    with ZipFile(archive) as opened:
        _check_entries(opened.infolist(), name, limits)
        left = limits.files
        for entry in opened.infolist():
            parts = PurePosixPath(entry.filename).parts
            if entry.is_dir() or len(parts) != 2 or parts[0] != name:
                continue
            with opened.open(entry) as source, open(folder / parts[1], "xb") as target:
                # The size of an entry in the archive's directory may be wrong.
                while chunk := source.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise _refusal(name, f"extract to at most {limits.files} bytes. Got more")
                    target.write(chunk)


def _check_entries(entries: list[ZipInfo], name: str, limits: Limits) -> None:
    """Check that all entries are regular files inside the archive, within the limits."""
    if len(entries) > limits.entries:
        raise _refusal(name, f"have at most {limits.entries} entries. Got {len(entries)}")
    total = sum(entry.file_size for entry in entries)
    if total > limits.files:
        raise _refusal(name, f"extract to at most {limits.files} bytes. Got {total}")
    seen: set[str] = set()
    for entry in entries:
        path = PurePosixPath(entry.filename)
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if path.is_absolute() or ".." in path.parts or any(c in entry.filename for c in "\\:\0"):
            problem = "stay inside its folder"
        elif kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            problem = "be a file or a folder, no link or device"
        elif entry.flag_bits & 1 or entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            problem = "be stored or deflated, and not encrypted"
        elif str(path) in seen:
            problem = "occur once"
        else:
            seen.add(str(path))
            continue
        raise _refusal(
            name, f"be safe to extract: every entry must {problem}. Got {entry.filename!r}"
        )


def _check_files(folder: Path, name: str) -> None:
    """Check that required files exist and that known checksums match."""
    if not (folder / f"{name}_A.txt").is_file():
        raise _refusal(name, f"have a file {name}_A.txt in a folder {name}. Got none")
    for part, expected in SHA256.get(name, {}).items():
        path = folder / f"{name}_{part}.txt"
        if not path.is_file():
            raise _refusal(name, f"have a file {path.name}. Got none")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            raise _refusal(
                name, f"have a file {path.name} with the SHA-256 {expected}. Got {found}"
            )
