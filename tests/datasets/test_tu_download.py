"""Downloads from a server of this test, and archives that must not be extracted."""

import io
import os
import stat
import struct
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request

import pytest
from tests.datasets.test_tu import FILES, REAL, write

from clipgnn.datasets.tu import load_tu
from clipgnn.datasets.tu_checksums import SHA256
from clipgnn.datasets.tu_download import Limits, _CheckedRedirects, download_tu
from clipgnn.errors import ClipGNNError, DatasetFileError

Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """A web server on this machine, whose answers a test can choose."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                answer = server.answers.get(self.path)
                if answer is None:
                    self.send_error(404)
                else:
                    answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/sets"

    def offers(self, content: bytes, name: str = "TINY", length: int | None = None) -> None:
        def answer(request: BaseHTTPRequestHandler) -> None:
            request.send_response(200)
            if length != -1:
                request.send_header("Content-Length", str(length or len(content)))
            request.end_headers()
            request.wfile.write(content)

        self.answers[f"/sets/{name}.zip"] = answer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    running = Server()
    thread = threading.Thread(target=lambda: running.http.serve_forever(0.01))
    thread.start()
    yield running
    running.http.shutdown()
    thread.join()
    running.http.server_close()


def zipped(
    entries: dict[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(name, data, method)
    return content.getvalue()


def tiny(name: str = "TINY", **files: str | None) -> dict[str | zipfile.ZipInfo, bytes]:
    """The entries of an archive as the collection has them, with a folder and a text about it."""
    parts = {part: text for part, text in (FILES | files).items() if text is not None}
    entries: dict[str | zipfile.ZipInfo, bytes] = {f"{name}/": b"", f"{name}/README.txt": b"?"}
    return entries | {f"{name}/{name}_{part}.txt": text.encode() for part, text in parts.items()}


def refusal(server: Server, root: Path, limits: Limits | None = None, name: str = "TINY") -> str:
    """The message with which an archive is refused, after which nothing of it is there."""
    with pytest.raises(DatasetFileError) as caught:
        download_tu(name, root, url=server.url, limits=limits)
    assert isinstance(caught.value, ClipGNNError)
    assert list(root.iterdir()) == []
    message = str(caught.value)
    assert message.startswith(f"The downloaded archive of {name!r} must ")
    assert "copy the files of the data set to its folder" in message
    return message


def test_a_download_is_kept(server: Server, tmp_path: Path) -> None:
    root = tmp_path / "cache" / "deeper"
    server.offers(zipped(tiny()))
    folder = download_tu("TINY", root, url=server.url)
    assert folder == root / "TINY" / "raw"
    assert [path.name for path in root.iterdir()] == ["TINY"]
    assert [path.name for path in (root / "TINY").iterdir()] == ["raw"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["README.txt", *(f"TINY_{part}.txt" for part in FILES)]
    )
    own = tmp_path / "own"
    write(own)
    found, expected = load_tu("TINY", root, download=False), load_tu("TINY", own)
    assert found.edge_index.equal(expected.edge_index)


def test_a_folder_that_is_there_is_not_touched(server: Server, tmp_path: Path) -> None:
    """Also if another process has made it during the download."""
    server.offers(zipped(tiny()))
    write(tmp_path, A="1, 2\n")
    assert download_tu("TINY", tmp_path, url=server.url) is None
    assert (tmp_path / "TINY" / "raw" / "TINY_A.txt").read_text() == "1, 2\n"
    assert [path.name for path in tmp_path.iterdir()] == ["TINY"]


def test_names_are_quoted(server: Server, tmp_path: Path) -> None:
    with pytest.raises(HTTPError, match="404"):
        download_tu("two words+", tmp_path, url=server.url)
    assert server.asked == ["/sets/two%20words%2B.zip"]


def outside(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"root"}


@pytest.mark.parametrize(
    "name",
    [
        "../escaped.txt",
        "TINY/../../escaped.txt",
        "TINY/../TINY_A.txt",
        "/escaped.txt",
        "//escaped.txt",
        "TINY/..",
        "TINY\\..\\..\\escaped.txt",
        "C:escaped.txt",
        "TINY/C:\\escaped.txt",
    ],
)
def test_entries_outside_the_folder(name: str, server: Server, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    server.offers(zipped({**tiny(), name: b"escaped"}))
    message = refusal(server, tmp_path / "root")
    assert "must stay inside its folder" in message
    assert repr(name) in message
    assert outside(tmp_path) == set()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO])
def test_links_and_devices(kind: int, server: Server, tmp_path: Path) -> None:
    entry = zipfile.ZipInfo("TINY/TINY_A.txt")
    entry.create_system = 3  # Unix
    entry.external_attr = (kind | 0o777) << 16
    server.offers(zipped({**tiny(A=None), entry: b"/etc/passwd"}))
    assert "no link or device. Got 'TINY/TINY_A.txt'" in refusal(server, tmp_path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_entries_twice(server: Server, tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for _ in range(2):
            archive.writestr("TINY/TINY_A.txt", b"1, 2\n")
    server.offers(content.getvalue())
    assert "must occur once" in refusal(server, tmp_path)


def test_entries_of_other_folders_are_left_out(server: Server, tmp_path: Path) -> None:
    server.offers(zipped({**tiny(), "other/file": b"?", "file": b"?", "TINY/deeper/file": b"?"}))
    folder = download_tu("TINY", tmp_path, url=server.url)
    assert folder is not None
    assert not {"other", "file", "deeper"} & {path.name for path in tmp_path.rglob("*")}


def test_other_compression_and_encryption(server: Server, tmp_path: Path) -> None:
    server.offers(zipped(tiny(), zipfile.ZIP_LZMA))
    assert "must be stored or deflated" in refusal(server, tmp_path)
    content = bytearray(zipped(tiny()))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    server.offers(bytes(content))
    assert "not encrypted" in refusal(server, tmp_path)


def test_too_large_by_the_directory(server: Server, tmp_path: Path) -> None:
    server.offers(zipped({**tiny(), "TINY/zeros": b"\0" * 10**6}))
    message = refusal(server, tmp_path, Limits(files=10**5))
    assert "extract to at most 100000 bytes. Got 100" in message


def test_larger_than_the_directory_says(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit holds while extracting, too."""
    server.offers(zipped({**tiny(), "TINY/zeros": b"\0" * 10**6}))
    monkeypatch.setattr("clipgnn.datasets.tu_download._check_entries", lambda *_: None)
    assert "bytes. Got more" in refusal(server, tmp_path, Limits(files=10**5))


def test_sizes_that_are_wrong_in_the_directory(server: Server, tmp_path: Path) -> None:
    content = bytearray(zipped({"TINY/TINY_A.txt": b"\0" * 10**6}))
    place = content.index(b"PK\x01\x02") + 24
    content[place : place + 4] = struct.pack("<I", 10)
    server.offers(bytes(content))
    assert "be a valid zip file" in refusal(server, tmp_path)


def test_too_many_entries(server: Server, tmp_path: Path) -> None:
    server.offers(zipped({**tiny(), **{f"TINY/{n}": b"" for n in range(20)}}))
    assert "at most 20 entries. Got 28" in refusal(server, tmp_path, Limits(entries=20))


@pytest.mark.parametrize("length", [None, -1])
def test_too_large_an_archive(length: int | None, server: Server, tmp_path: Path) -> None:
    """Whether its length is announced or not."""
    server.offers(b"\0" * 10**6, length=length)
    assert "at most 100000 bytes" in refusal(server, tmp_path, Limits(archive=10**5))


@pytest.mark.parametrize("damage", ["cut", "flipped", "text", "empty"])
def test_damaged_archives(damage: str, server: Server, tmp_path: Path) -> None:
    content = zipped(tiny(), zipfile.ZIP_STORED)
    place = content.index(FILES["A"].encode())
    damaged = {
        "cut": content[: len(content) // 2],
        "flipped": content[:place] + b"9" + content[place + 1 :],
        "text": b"<html>not found</html>",
        "empty": b"",
    }
    server.offers(damaged[damage], length=-1)
    assert "be a valid zip file. Got" in refusal(server, tmp_path)


def test_an_archive_of_something_else(server: Server, tmp_path: Path) -> None:
    server.offers(zipped(tiny(A=None)))
    assert "have a file TINY_A.txt" in refusal(server, tmp_path)
    server.offers(zipped(tiny("OTHER")))
    assert "have a file TINY_A.txt" in refusal(server, tmp_path)


def test_known_files_are_compared_with_their_checksums(server: Server, tmp_path: Path) -> None:
    server.offers(zipped(tiny("MUTAG")), "MUTAG")
    message = refusal(server, tmp_path, name="MUTAG")
    assert f"MUTAG_A.txt with the SHA-256 {SHA256['MUTAG']['A']}" in message


@pytest.mark.parametrize("name", SHA256)
def test_the_checksums(name: str, server: Server, tmp_path: Path) -> None:
    """Of the collection's own files, where they are; one missing file is noticed."""
    folder = REAL / name / "raw"
    if not (folder / f"{name}_A.txt").is_file():
        pytest.skip(f"{name} is not there")
    entries: dict[str | zipfile.ZipInfo, bytes] = {
        f"{name}/{path.name}": path.read_bytes() for path in folder.glob("*.txt")
    }
    server.offers(zipped(entries), name)
    assert download_tu(name, tmp_path, url=server.url) == tmp_path / name / "raw"
    entries.pop(f"{name}/{name}_node_labels.txt")
    server.offers(zipped(entries), name)
    (tmp_path / "other").mkdir()
    message = refusal(server, tmp_path / "other", name=name)
    assert f"have a file {name}_node_labels.txt. Got none" in message


def test_a_connection_that_ends_early(server: Server, tmp_path: Path) -> None:
    content = zipped(tiny())
    server.offers(content, length=len(content) + 1)
    with pytest.raises(ConnectionError, match=f"closed after {len(content)} of"):
        download_tu("TINY", tmp_path, url=server.url)
    assert list(tmp_path.iterdir()) == []


def test_a_connection_without_data(server: Server, tmp_path: Path) -> None:
    server.answers["/sets/TINY.zip"] = lambda request: time.sleep(1)
    start = time.perf_counter()
    with pytest.raises(OSError, match="timed out"):
        download_tu("TINY", tmp_path, url=server.url, limits=Limits(timeout=0.1))
    assert time.perf_counter() - start < 0.9
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["TINY", "SOMETHING"])
def test_an_interrupted_download(
    name: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    server.offers(zipped(tiny(name)), name)
    monkeypatch.setattr("clipgnn.datasets.tu_download._check_files", interrupt)
    with pytest.raises(KeyboardInterrupt):
        download_tu(name, tmp_path, url=server.url)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "url",
    [
        "http://example.invalid/sets",
        "ftp://example.invalid/sets",
        "file:///tmp",
        "http://127.0.0.1.example.invalid/sets",
    ],
)
def test_https_only(url: str, server: Server, tmp_path: Path) -> None:
    """Where a download begins, and where it is redirected to."""
    with pytest.raises(URLError, match="must use https"):
        download_tu("TINY", tmp_path, url=url)

    def redirect(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", f"{url}/TINY.zip")
        request.end_headers()

    server.answers["/sets/TINY.zip"] = redirect
    with pytest.raises(URLError):
        download_tu("TINY", tmp_path, url=server.url)
    assert list(tmp_path.iterdir()) == []


def test_a_redirect_from_https_to_this_machine() -> None:
    request = Request("https://example.invalid/TINY.zip")
    with pytest.raises(URLError, match="a redirect must use https"):
        _CheckedRedirects().redirect_request(
            request, None, 302, "Found", None, "http://127.0.0.1/TINY.zip"
        )


def test_a_redirect(server: Server, tmp_path: Path) -> None:
    def redirect(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", "/moved/TINY.zip")
        request.end_headers()

    server.offers(zipped(tiny()))
    server.answers["/moved/TINY.zip"] = server.answers.pop("/sets/TINY.zip")
    server.answers["/sets/TINY.zip"] = redirect
    assert download_tu("TINY", tmp_path, url=server.url) == tmp_path / "TINY" / "raw"
