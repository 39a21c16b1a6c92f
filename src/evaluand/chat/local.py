"""A model on this machine: llama.cpp in a child process, asked over loopback HTTP."""

import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from evaluand.chat.address import Address
from evaluand.chat.client import Endpoint
from evaluand.chat.local_child import READY
from evaluand.chat.message import Reply, Request
from evaluand.errors import InputError, ModelError

# llama.cpp's own defaults are T 0.8, top_k 40, min_p 0.05 and a random seed
_UNSET: Mapping[str, Any] = {"top_k": 0, "min_p": 0.0, "seed": -1, "cache_prompt": True}

# Holds some 50 states of 450 tokens of a 1.5b model. Going back to one of four system
# prompts of 430 tokens takes 0.4 s with it and 4.8 s without (2 cores); four slots are
# no quicker and need 300 MB more.
_CACHE_MIB = 1024

_STOPPING_S = 5.0
_POLL_S = 0.02


@dataclass(slots=True, kw_only=True)
class LocalModel:
    """Weights that a llama.cpp child serves; it starts with the first request.

    Args:
        name: As the user gave it.
        identity: What can change a reply: weights, template, context, engine.
        weights: A GGUF file.
        template: A chat template instead of the one inside the weights.
        alias: What replies call the model, instead of its path.
        context: Tokens of prompt and reply together.
        ready_s: Seconds that loading the weights may take.
        concurrency: One slot with a warm prefix beats several.
    """

    name: str
    identity: Mapping[str, Any]
    weights: Path
    template: str | None
    alias: str
    context: int = 4096
    ready_s: float = 300.0
    concurrency: int = 1
    _child: "_Child | None" = field(default=None, init=False, repr=False)
    _endpoint: Endpoint | None = field(default=None, init=False, repr=False)

    async def ask(self, request: Request) -> Reply:
        """Return the reply, starting the child when there is none.

        Raises:
            InputError: If llama.cpp can't load the weights or the template.
            ModelError: If no usable reply came.
        """
        endpoint = await self._ready()
        child = self._child
        try:
            return await endpoint.ask(request)
        except ModelError as error:
            code = None if child is None else child.process.poll()
            if code is None:
                raise
            msg = f"{self.name}: llama.cpp ended while it was asked (exit code {code}); is there enough memory?"
            raise ModelError(msg, retryable=True) from error

    async def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.close()
        if child is not None:
            await asyncio.to_thread(child.stop)

    async def _ready(self) -> Endpoint:
        """Return the endpoint of a child that has loaded its weights."""
        if self._child is None or self._child.process.poll() is not None:
            await self.close()
            self._child = _start(self)
        child = self._child
        deadline = time.monotonic() + self.ready_s
        while not child.address.done():
            if time.monotonic() > deadline:
                await self.close()
                msg = f"{self.name}: {self.weights.name} wasn't loaded within {self.ready_s:g} s"
                raise ModelError(msg, retryable=True, reason="timeout")
            await asyncio.sleep(_POLL_S)
        url = child.address.result()
        if url is None:
            await self.close()
            raise _unloadable(self, child)
        if self._endpoint is None:
            self._endpoint = Endpoint(
                name=self.name,
                address=Address(
                    base_urls=(f"{url}/v1",), model=self.alias, fields=_UNSET
                ),
                identity=self.identity,
                concurrency=self.concurrency,
                keep_alive=False,
            )
        return self._endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class _Child:
    """A running child: its address once it listens, None once it ended without."""

    process: subprocess.Popen[str]
    address: "Future[str | None]"
    tail: deque[str]
    reader: threading.Thread

    def stop(self) -> None:
        """End the child and wait for it."""
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()
        try:
            self.process.wait(_STOPPING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()


def open_local(
    name: str,
    *,
    weights: Path,
    template: str | None,
    alias: str,
    context: int = 4096,
    weights_sha256: str | None = None,
) -> LocalModel:
    """Return a model that a llama.cpp child will serve.

    Args:
        name: As the user gave it.
        weights: A GGUF file.
        template: A chat template to start with, None for the one inside the weights.
        alias: What replies call the model.
        context: Tokens of prompt and reply together.
        weights_sha256: The digest of the weights when it was just taken; None takes it.

    Raises:
        InputError: If the weights can't be read or the ``local`` extra is missing.
    """
    identity = {
        "kind": "local",
        "model": alias,
        "weights": weights_sha256 or _digest(weights),
        "template": "embedded" if template is None else _text_digest(template),
        "context": context,
        "engine": f"xllamacpp {_engine_version()}",
    }
    return LocalModel(
        name=name,
        identity=identity,
        weights=weights,
        template=template,
        alias=alias,
        context=context,
    )


def _engine_version() -> str:
    try:
        return version("xllamacpp")
    except PackageNotFoundError as error:
        msg = "local models need llama.cpp, which isn't installed; run: pip install 'evaluand[local]'"
        raise InputError(msg) from error


def _digest(weights: Path) -> str:
    try:
        with weights.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        msg = f"{weights}: the weights can't be read: {error.strerror}; for a model of the catalogue run: evaluand models pull NAME"
        raise InputError(msg) from error


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _start(model: LocalModel) -> _Child:
    settings = {
        "weights": str(model.weights),
        "alias": model.alias,
        "template": model.template or "",
        "context": model.context,
        "threads": _threads(),
        "cache_mib": _CACHE_MIB,
    }
    # -P keeps this folder, whose module openai shadows another, off the child's path
    script = Path(__file__).with_name("local_child.py")
    process = subprocess.Popen(  # noqa: S603 - this interpreter, our own script
        [sys.executable, "-P", str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        # spinning threads that wait for a busy core cost nine tenths of the speed
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
    )
    child = _watch(process)
    if process.stdin is not None:
        with suppress(BrokenPipeError):  # it ended at once; its last words say why
            process.stdin.write(json.dumps(settings) + "\n")
            process.stdin.flush()
    return child


def _watch(process: "subprocess.Popen[str]") -> _Child:
    """Read what a child says, in a thread, so that it never waits for us."""
    address: Future[str | None] = Future()
    tail: deque[str] = deque(maxlen=100)

    def read(stream: IO[str]) -> None:
        with stream:
            for line in stream:
                found = re.search(rf"{READY} (\S+)", line)
                if found:
                    address.set_result(found[1])
                tail.append(line)
        if not address.done():
            address.set_result(None)

    reader = threading.Thread(target=read, args=(process.stdout,), daemon=True)
    reader.start()
    return _Child(process=process, address=address, tail=tail, reader=reader)


def _threads() -> int:
    """Return the number of processors that this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1


def _unloadable(model: LocalModel, child: _Child) -> InputError:
    """Return the error of a child that ended before it listened."""
    said = [line for line in child.tail if " E " in line] or list(child.tail)
    lines = [line.strip().partition(" E ")[2] or line.strip() for line in said[:3]]
    code = child.process.poll()
    quoted = "; ".join(lines).replace(str(model.weights), model.weights.name)
    quoted = quoted or f"it ended with exit code {code} and said nothing"
    advice = (
        f"if the file is damaged, remove it and run: evaluand models pull {model.alias}"
    )
    if any("template" in line for line in lines):
        advice = "correct the chat template"
    msg = (
        f"{model.name}: llama.cpp can't start with {model.weights}: {quoted}; {advice}"
    )
    return InputError(msg)
