"""A headless Chromium, driven through its DevTools protocol.

Each browser has a profile of its own that goes with it, resolves no name, and so reaches nothing
but files and this machine.
"""

import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from extras import how_to_get

try:
    import websocket
except ModuleNotFoundError:
    websocket = None

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
CHROMIUM = next((found for name in NAMES if (found := shutil.which(name))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None or websocket is None,
    reason="needs chromium" if CHROMIUM is None else how_to_get("websocket"),
)

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--disable-extensions", "--hide-scrollbars", "--mute-audio",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--remote-debugging-port=0",
)  # fmt: skip
SECONDS = 60.0


class Browser:
    """One running browser; `page` opens a page in it."""

    def __init__(self, address: str) -> None:
        self._socket = websocket.create_connection(address, timeout=SECONDS, suppress_origin=True)
        self._numbers = itertools.count(1)
        self._pages: dict[str, Page] = {}

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """The answer to a command; what is reported before it goes to the pages."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        self._socket.send(
            json.dumps(message if session is None else message | {"sessionId": session})
        )
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            if answer.get("sessionId") in self._pages:
                self._pages[answer["sessionId"]].report(answer["method"], answer["params"])

    def page(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> "Page":
        """A loaded page in a window of this size."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(self, attached["sessionId"], target)
        self._pages[attached["sessionId"]] = page
        page.open(url, width, height, dark)
        return page

    def close(self) -> None:
        self._socket.close()


class Page:
    """A page that is open.

    Attributes:
        errors: Errors and warnings of its console, exceptions, and what its policy refused.
        requests: The address of each request it made.
        dialogs: The text of each dialog it opened.
        width: Of its window, in pixels.
    """

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.width = 0

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a command to this page."""
        return self._browser.call(method, self._session, **params)

    def report(self, method: str, params: dict[str, Any]) -> None:
        """Note what the browser says of this page."""
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(params["url"])
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.errors.append(" ".join(str(a.get("value", a)) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])

    def open(self, url: str, width: int, height: int, dark: bool) -> None:
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=url)
        self.wait_until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def resize(self, width: int, height: int) -> None:
        self.width = width
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, a promise awaited."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def choose(self, **chosen: str) -> None:
        """Give elements with these ids other values, as a user does."""
        for part, value in chosen.items():
            self.evaluate(
                f"((e) => {{ e.value = {value!r}; for (const kind of ['input', 'change'])"
                f" e.dispatchEvent(new Event(kind)); }})(document.getElementById({part!r}))"
            )

    def wait_until(self, expression: str, seconds: float = SECONDS) -> None:
        """Wait until a JavaScript expression is true.

        While a page makes way for another, an expression may fail. It is tried again.
        """
        end = time.monotonic() + seconds
        while True:
            problem: object = self.errors
            try:
                if self.evaluate(f"Boolean({expression})"):
                    return
            except AssertionError as error:
                problem = error
            assert time.monotonic() < end, f"not within {seconds} s: {expression}; {problem}"
            time.sleep(0.05)

    def text(self) -> str:
        """What a reader sees."""
        return self.evaluate("document.body.innerText")

    def too_wide(self) -> float:
        """By how many pixels the page is wider than its window."""
        return self.evaluate("document.documentElement.scrollWidth") - self.width

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Write a picture of the window, or of the whole page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path: Path) -> None:
        """Print the page."""
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF")["data"]))

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser that ends with the block, and its profile with it."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | {"HOME": profile},
        )
        try:
            browser = Browser(_address(Path(profile) / "DevToolsActivePort", process))
            try:
                yield browser
            finally:
                browser.close()
        finally:
            # A new session is a group of its own: this ends what the browser started too.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _address(file: Path, process: subprocess.Popen[bytes]) -> str:
    """Where the browser listens, which it writes down once it does."""
    end = time.monotonic() + SECONDS
    while True:
        lines = file.read_text("utf-8").splitlines() if file.is_file() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        assert process.poll() is None, f"{CHROMIUM} ended with {process.returncode}"
        assert time.monotonic() < end, f"{CHROMIUM} does not listen"
        time.sleep(0.05)
