"""A headless browser, told what to do over a pair of pipes (Chrome's DevTools protocol): opens pages, measures them,
takes screenshots. And enough of PNG to look at one without a further library.
"""

import base64
import json
import os
import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BOUND_S = 60
"""A browser that says nothing for so long has failed."""


class Browser:
    """One page of a running browser."""

    def __init__(self, process: "subprocess.Popen[bytes]", commands: int, answers: int) -> None:
        self._process = process
        self._commands = commands
        self._answers = answers
        self._received = b""
        self._number = 0
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Network.enable")
        self.ask("Emulation.setScrollbarsHidden", hidden=True)

    def open(self, page: Path, *, width: int, height: int = 900) -> list[str]:
        """Open a file in a viewport of that size; return the addresses that it asked for, its own left out."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        asked: list[str] = []
        self.ask("Page.navigate", url=page.as_uri())
        while (message := self._receive()).get("method") != "Page.loadEventFired":
            if message.get("method") == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        return [url for url in asked if url != page.as_uri()]

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def show(self, *, scheme: str = "light", media: str = "screen") -> None:
        """Show pages as somebody with that colour scheme sees them, or as they are printed."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=media, features=features)

    def see_without_colour(self) -> None:
        """Show everything in shades of grey from here on."""
        self.ask("Emulation.setEmulatedVisionDeficiency", type="achromatopsia")

    def screenshot(self, path: Path) -> None:
        """Keep a picture of the whole page."""
        answer = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def look(self, left: float, top: float, width: float, height: float) -> "Picture":
        """Return what a rectangle of the page looks like."""
        clip = {"x": left, "y": top, "width": width, "height": height, "scale": 1}
        answer = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return read_png(base64.b64decode(answer["data"]))

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its answer; what happens meanwhile is kept for later."""
        self._number += 1
        number = self._number
        session = {} if self._session is None else {"sessionId": self._session}
        command = {"id": number, "method": method, "params": parameters, **session}
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        kept: list[bytes] = []
        while True:
            data = self._next()
            message = json.loads(data)
            if message.get("id") == number:
                self._received = b"".join(each + b"\0" for each in kept) + self._received
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            kept.append(data)

    def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._next())
        return message

    def _next(self) -> bytes:
        while b"\0" not in self._received:
            data = os.read(self._answers, 1 << 20)
            assert data, "the browser has gone"
            self._received += data
        message, _, self._received = self._received.partition(b"\0")
        return message


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Run a browser while the body lasts; its profile is in the folder. Skips where none is installed, never on CI."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        why = "no headless browser: apt-get install chromium-headless-shell"
        assert not os.environ.get("CI"), why
        pytest.skip(why)
    commands_in, commands_out = os.pipe()
    answers_in, answers_out = os.pipe()
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"]
    # A browser wants to be spoken to through descriptors 3 and 4.
    shell = f'exec "$0" "$@" 3<&{commands_in} 4>&{answers_out}'
    process = subprocess.Popen(
        ["bash", "-c", shell, path, *flags, f"--user-data-dir={folder / 'browser'}"],
        pass_fds=(commands_in, answers_out),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(commands_in)
    os.close(answers_out)
    try:
        yield Browser(process, commands_out, answers_in)
    finally:
        os.close(commands_out)
        os.close(answers_in)
        process.terminate()
        process.wait(BOUND_S)


class Picture(NamedTuple):
    """Pixels, a row after the other; `channels` bytes each."""

    width: int
    height: int
    channels: int
    rows: list[bytes]

    def colours(self) -> set[bytes]:
        """Return the different colours: red, green, blue."""
        size = self.channels
        return {row[at : at + 3] for row in self.rows for at in range(0, len(row), size)}


def read_png(data: bytes) -> Picture:
    """Return the pixels of a PNG of 8 bits without interlacing, which is what browsers write."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, depth, kind, _, _, interlace = struct.unpack(">IIBBBBB", data[16:29])
    assert (depth, interlace) == (8, 0)
    channels = {2: 3, 6: 4}[kind]
    packed, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += length + 12
    raw, stride = zlib.decompress(packed), width * channels
    rows: list[bytes] = []
    before = bytes(stride)
    for top in range(0, height * (stride + 1), stride + 1):
        before = _unfiltered(raw[top], bytearray(raw[top + 1 : top + 1 + stride]), before, channels)
        rows.append(before)
    return Picture(width, height, channels, rows)


def _unfiltered(kind: int, row: bytearray, above: bytes, channels: int) -> bytes:
    for place in range(len(row)) if kind else ():
        left = row[place - channels] if place >= channels else 0
        up, corner = above[place], above[place - channels] if place >= channels else 0
        guess = (0, left, up, (left + up) // 2, _paeth(left, up, corner))[kind]
        row[place] = (row[place] + guess) & 0xFF
    return bytes(row)


def _paeth(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    return min((left, up, corner), key=lambda value: abs(guess - value))
