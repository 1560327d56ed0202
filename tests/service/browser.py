"""A browser without a window, driven through two pipes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 240.0  # seconds


def installed() -> str:
    """The path of a browser; to have none is a failure where this is asked."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found, f"one of {', '.join(NAMES)} is needed"
    return found


class Browser:
    """One tab of a browser that listens on a pipe and answers on another."""

    def __init__(self, requests: Any, answers: Any) -> None:
        self._requests, self._answers, self._id = requests, answers, 0
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]

    def call(self, method: str, **parameters: Any) -> Any:
        """What a method of the DevTools protocol gives."""
        self._id += 1
        message = {"id": self._id, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._requests.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = json.loads(self._read())
            if answer.get("id") == self._id:
                assert "error" not in answer, answer
                return answer["result"]

    def _read(self) -> bytes:
        pieces = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "the browser has gone"
            pieces += byte
        return bytes(pieces)

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, script: str) -> Any:
        """The value of an expression, once it is true."""
        end = time.monotonic() + PATIENCE
        while not (value := self.run(script)):
            assert time.monotonic() < end, (script, self.run("document.body.innerText"))
            time.sleep(0.05)
        return value


@contextmanager
def browser(profile: Path, width: int = 1000, height: int = 1100) -> Iterator[Browser]:
    """A browser with a profile of its own, ended afterwards."""
    to_read, write = os.pipe()
    read, to_write = os.pipe()
    flags = [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
        "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={profile}",
        f"--window-size={width},{height}",
    ]  # fmt: skip
    script = f'exec "$@" 3<&{to_read} 4>&{to_write}'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", installed(), *flags],
        pass_fds=(to_read, to_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(to_write)
    try:
        with os.fdopen(write, "wb", 0) as requests, os.fdopen(read, "rb") as answers:
            yield Browser(requests, answers)
    finally:
        process.kill()
        process.wait()
