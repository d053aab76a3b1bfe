"""A real Chromium that a pointer and keys are put to, since no script can hover: driven through its debugging pipe."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from browser import NAMES

KEYS = {"Tab": 9, "Enter": 13, "Escape": 27}


class Page:
    """A page that is open in the browser."""

    def __init__(self, read: int, write: int) -> None:
        self._in, self._out = os.fdopen(read, "rb"), os.fdopen(write, "wb")
        self._number = 0
        self._rest = b""
        self._session: str | None = None

    def open(self, file: Path, width: int, *, dark: bool = False) -> None:
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        size = {"width": width, "height": 1_000, "deviceScaleFactor": 1, "mobile": False}
        self._send("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])
        self._send("Page.navigate", url=file.as_uri())
        while self.ask("return document.readyState + location.protocol") != "completefile:":
            pass

    def ask(self, script: str) -> Any:
        """What the body of an async function returns."""
        code = f"(async () => {{ {script} }})()"
        found = self._send("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def hover(self, selector: str) -> None:
        self._mouse("mouseMoved", *self._middle(selector))

    def click(self, selector: str) -> None:
        at = self._middle(selector)
        self._mouse("mouseMoved", *at)
        self._mouse("mousePressed", *at, button="left", clickCount=1)
        self._mouse("mouseReleased", *at, button="left", clickCount=1)
        self.ask("await new Promise(done => setTimeout(done, 100))")

    def press(self, key: str) -> None:
        code = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self._send("Input.dispatchKeyEvent", type="keyDown", **code, **text)
        self._send("Input.dispatchKeyEvent", type="keyUp", **code)
        self.ask("await new Promise(done => setTimeout(done, 50))")

    def picture(self, file: Path, height: int = 1_000) -> None:
        """Write what is to be seen as a PNG."""
        clip = {"x": 0, "y": 0, "width": self.ask("return innerWidth"), "height": height, "scale": 1}
        found = self._send("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(found["data"]))

    def _middle(self, selector: str) -> tuple[float, float]:
        script = f"""
        const found = document.querySelector({json.dumps(selector)});
        found.scrollIntoView({{block: "nearest"}});
        const box = found.getClientRects()[0];
        return [box.x + box.width / 2, box.y + box.height / 2]
        """
        x, y = self.ask(script)
        return x, y

    def _mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self._send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.ask("await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def _send(self, method: str, **params: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while True:
            answer = json.loads(self._received())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _received(self) -> bytes:
        while b"\0" not in self._rest:
            got = os.read(self._in.fileno(), 1 << 20)
            assert got, "the browser has ended"
            self._rest += got
        message, _, self._rest = self._rest.partition(b"\0")
        return message


@contextmanager
def page(html: str, width: int = 1_200, *, dark: bool = False) -> Iterator[Page]:
    """A page of `width` pixels with `html`, in a browser of its own."""
    program = next((found for found in map(shutil.which, NAMES) if found), None)
    assert program, f"none of {', '.join(NAMES)} is installed"
    (ours_in, theirs_out), (theirs_in, ours_out) = os.pipe(), os.pipe()
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (theirs_in, theirs_out)]

    def place() -> None:  # the browser reads from 3 and writes to 4
        os.dup2(high[0], 3)
        os.dup2(high[1], 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        file = Path(folder, "page.html")
        file.write_text(html, "utf-8")
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars")
        command = [program, *options, f"--user-data-dir={folder}/profile"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        browser = subprocess.Popen(command, preexec_fn=place, pass_fds=(3, 4), **quiet)  # noqa: PLW1509 - no threads
        for fd in (theirs_in, theirs_out, *high):
            os.close(fd)
        try:
            found = Page(ours_in, ours_out)
            found.open(file, width, dark=dark)
            yield found
        finally:
            browser.terminate()
            browser.wait(30)
            found._in.close()
            found._out.close()
