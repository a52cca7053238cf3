"""A headless Chromium, driven through its DevTools protocol over a pair of pipes."""

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from select import select
from types import TracebackType
from typing import Any

PHONE = (360, 740)
DESKTOP = (1280, 900)

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Names of the program."""

SECONDS = 60.0
"""How long to wait for an answer of the browser."""

CONTRAST = """
(() => {
  const parts = color => color.match(/[0-9.]+/g).slice(0, 3).map(Number);
  const light = color => parts(color).map(value => value / 255)
    .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = own => {
    for (; own; own = own.parentElement) {
      const color = getComputedStyle(own).backgroundColor;
      if (!color.startsWith("rgba(0, 0, 0, 0")) return color;
    }
  };
  return Array.from(document.querySelectorAll("p, li, td, th, figcaption, summary, a, svg text"),
    own => {
      const style = getComputedStyle(own);
      const [a, b] = [light(own.closest("svg") ? style.fill : style.color), light(behind(own))];
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), own.textContent.slice(0, 40)];
    });
})()
"""
"""Contrast between each text and its background, with the text."""

# Chromium reads commands from descriptor 3 and writes answers to descriptor 4.
_BEGIN = """
import os, sys
read, write = os.dup(int(sys.argv[1])), os.dup(int(sys.argv[2]))
read, write = os.dup2(read, 20), os.dup2(write, 21)
os.dup2(read, 3), os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """The path of Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One tab of a headless browser, without network access.

    Attributes:
        problems: messages of the console, exceptions and failed or blocked requests.
        requests: addresses that pages have asked for.
    """

    def __init__(self, program: str, folder: Path) -> None:
        flags = (
            "--headless",
            "--no-sandbox",  # tests may run as root
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder}",
            "--remote-debugging-pipe",
        )
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BEGIN, str(commands), str(answers), program, *flags],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._number = 0
        self._buffer = b""
        self._session: str | None = None
        self._loaded = False
        self.problems: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait(10)
        os.close(self._to)
        os.close(self._from)

    def open(self, path: Path, size: tuple[int, int] = DESKTOP, *, dark: bool = False) -> None:
        """Load a file in a window of this size, on a phone if it is narrow."""
        width, height = size
        self.problems.clear()
        self.requests.clear()
        self._loaded = False
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.media(dark=dark)
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not self._loaded:
            self._receive()

    def media(self, *, dark: bool = False, kind: str = "") -> None:
        """Choose light or dark mode, and the medium, such as "print"."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=kind, features=[scheme])

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key, such as "Tab" or "Enter"."""
        code = {"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowRight": 39}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        about = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **about, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write a PNG of the window, or of the whole page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])

    def call(self, method: str, **parameters: Any) -> Mapping[str, Any]:
        """Send a command and return its answer; events before it are recorded."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: Mapping[str, Any] = answer["result"]
                return result

    def _receive(self) -> Mapping[str, Any]:
        """The next message; what an event says is recorded."""
        while b"\0" not in self._buffer:
            ready, _, _ = select([self._from], [], [], SECONDS)
            received = os.read(self._from, 1 << 20) if ready else b""
            if not received:
                raise RuntimeError("The browser does not answer.")
            self._buffer += received
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        about = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Network.requestWillBeSent":
                self.requests.append(about["request"]["url"])
            case "Network.loadingFailed":
                self.problems.append(f"request: {about['errorText']}")
            case "Runtime.exceptionThrown":
                self.problems.append(f"exception: {about['exceptionDetails']['text']}")
            case "Runtime.consoleAPICalled":
                self.problems.append(f"console: {about['type']} {about['args']}")
            case "Log.entryAdded":
                self.problems.append(f"log: {about['entry']['level']} {about['entry']['text']}")
        return message
