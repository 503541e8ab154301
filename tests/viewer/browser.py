"""Drives a headless Chromium through its DevTools pipe. Standard library only.

The browser reads commands from file descriptor 3 and answers on 4: JSON texts, each followed by a zero byte.
"""
import base64
import fcntl
import json
import os
import selectors
import shutil
import subprocess
import tempfile
import time


def find_chromium():
    """Path of a Chromium or Chrome, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Failed(Exception):
    pass


class Browser:
    """One page. Console messages and exceptions are collected in `complaints`."""

    def __init__(self, program, size=(1440, 900), scale=1):
        self.profile = tempfile.mkdtemp(prefix="tmemsim-chromium-")
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()

        def use_descriptors():
            read, write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to_read, to_write))  # out of the way
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
             f"--force-device-scale-factor={scale}", f"--user-data-dir={self.profile}", "--window-size=%d,%d" % size, "about:blank"],
            close_fds=False, preexec_fn=use_descriptors, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        os.set_blocking(self.from_browser, False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.from_browser, selectors.EVENT_READ)
        self.buffer, self.number, self.session, self.loaded = bytearray(), 0, None, False
        self.complaints, self.requests = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=scale, mobile=False)

    def close(self):
        try:
            self.session = None
            self.call("Browser.close", limit=10)
        except (Failed, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.selector.close()
        os.close(self.to_browser)
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- the protocol ----
    def call(self, method, limit=120, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        pending = memoryview(json.dumps(message).encode() + b"\0")
        while pending:
            pending = pending[os.write(self.to_browser, pending):]
        until = time.monotonic() + limit
        while True:
            answer = self.receive(until, method)
            if answer.get("id") != message["id"]:
                self.note(answer)
                continue
            if "error" in answer:
                raise Failed(f"{method}: {answer['error'].get('message')}")
            return answer["result"]

    def receive(self, until, what):
        while b"\0" not in self.buffer:
            if not self.selector.select(max(0, until - time.monotonic())):
                raise Failed(f"the browser does not answer: {what}")
            piece = os.read(self.from_browser, 1 << 20)
            if not piece:
                raise Failed("the browser has ended")
            self.buffer += piece
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details.get("text"))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append("log: " + parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append("dialog: " + parameters.get("message", ""))

    # ---- the page ----
    def open(self, url, limit=120):
        self.loaded = False
        self.call("Page.navigate", url=url)
        until = time.monotonic() + limit
        while not self.loaded:
            self.note(self.receive(until, "load"))

    def run(self, script):
        """The value of a JavaScript expression (promises are waited for)."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failed(answer["exceptionDetails"].get("exception", {}).get("description") or script)
        return answer["result"].get("value")

    def click(self, x, y, count=1):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def wheel(self, x, y, dy):
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=dy)

    def press(self, key, code=None, text=None, modifiers=0):
        """One key: "ArrowRight", "f", " "."""
        text = text if text is not None else (key if len(key) == 1 else None)
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code or key, modifiers=modifiers, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code or key, modifiers=modifiers)

    def theme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
