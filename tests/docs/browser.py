"""Browser: a headless Chromium that shows pages, over the pipe of its DevTools protocol.

One browser shows all pages of a test; each page is asked for what it has in its DOM, and painted as WebP.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
from types import TracebackType
from typing import Any, Self

from tests.support.bounds import bound

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATH = next((found for found in map(shutil.which, NAMES) if found is not None), None)
WHY_NOT = f"no browser: none of {', '.join(NAMES)} is installed"
BOUND_S = bound(60)
"""For one answer, on a machine that does other things."""
READ_BYTES = 1 << 16
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio",
    "--hide-scrollbars", "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
"""No sandbox: it does not work for root, and the pages are those of this checkout. No name but loopback resolves."""


class Browser:
    """A browser with one page; a context."""

    def __enter__(self) -> Self:
        assert PATH is not None, WHY_NOT
        self._folder = tempfile.TemporaryDirectory()
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        # The browser reads from descriptor 3 and writes to 4.
        line = f'exec "$@" 3<&{commands} 4>&{answers}'
        self._process = subprocess.Popen(
            ["bash", "-c", line, "bash", PATH, *OPTIONS, f"--user-data-dir={self._folder.name}", "about:blank"],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._pending = b""
        self._number = 0
        self._session = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._to)  # the browser ends with its pipe
        try:
            self._process.wait(BOUND_S)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._from)
            self._folder.cleanup()

    def show(self, url: str, width: int, height: int, *, dark: bool) -> None:
        """Open a page in a window of that size, as on a first visit."""
        self._navigate("about:blank")  # the former page would store its colours again
        self._call("Storage.clearDataForOrigin", origin=url, storageTypes="all")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self._navigate(url)

    def _navigate(self, url: str) -> None:
        self._call("Page.navigate", url=url)
        self.wait(f"document.readyState === 'complete' && location.href.startsWith({json.dumps(url)})")

    def wait(self, condition: str) -> None:
        """Return once a condition in JavaScript is true. Raises: AssertionError: it was not."""
        polls = f"""new Promise((resolve) => {{
            const end = Date.now() + {BOUND_S * 500};
            const look = () => ({condition}) || Date.now() > end ? resolve(!!({condition})) : setTimeout(look, 50);
            look();
        }})"""
        assert self.value(polls) is True, condition

    def value(self, expression: str) -> Any:
        """Return what an expression of JavaScript is, as Python has it; of a promise what it comes to."""
        done = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def picture(self) -> bytes:
        """Return the window as WebP."""
        done = self._call("Page.captureScreenshot", format="webp", quality=60)
        return base64.b64decode(done["data"])

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        request = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            request["sessionId"] = self._session
        os.write(self._to, json.dumps(request).encode() + b"\0")
        while True:
            answer = self._answer()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _answer(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._from], [], [], BOUND_S)
            data = os.read(self._from, READ_BYTES) if ready else b""
            assert data, f"{PATH} does not respond, exit code {self._process.poll()}"
            self._pending += data
        one, _, self._pending = self._pending.partition(b"\0")
        answer: dict[str, Any] = json.loads(one)
        return answer
