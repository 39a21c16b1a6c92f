"""The reference agent: a stack and a task make a request, a reply makes an output.

Retrieval over a small corpus, a prompt from system prompt, tool list and retrieved text,
a router that reads the tool choice, the postprocessor (paper A, section 4.1). Every part
is read from the very bytes that the manifest hashes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluand.bench.retrieve import Retriever, retriever
from evaluand.chat.message import Message, Request, Sampling
from evaluand.document import decode, parse_yaml
from evaluand.errors import InputError
from evaluand.identity.stack import Blob, Stack, Tools, load_function
from evaluand.identity.tool_list import Tool, read_tools

VERSION = "2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A stack made ready to answer tasks.

    Args:
        system: The system message: system prompt and tool list.
        sampling: What every request is decoded with.
        retrieve: From a task's prompt to the documents put before it.
        route: From a reply to the reply after the router.
        postprocess: From the routed reply and the task's prompt to the output.
    """

    system: str
    sampling: Sampling
    retrieve: Retriever
    route: Callable[[str], str]
    postprocess: Callable[[str, str], str]

    def request(self, prompt: str) -> Request:
        """Return what the model is asked for a task's prompt."""
        documents = self.retrieve(prompt)
        reference = "".join(f"{text.strip()}\n" for text in documents)
        user = f"Reference text:\n{reference}\n" if documents else ""
        messages = [Message(role="user", content=f"{user}Request:\n{prompt}")]
        if self.system:
            messages.insert(0, Message(role="system", content=self.system))
        return Request(messages=tuple(messages), sampling=self.sampling)

    def output(self, prompt: str, reply: str) -> str:
        """Return what leaves the stack when the model replied so.

        The postprocessor is the stack's own code: it may raise anything, and return
        something else than text.
        """
        return self.postprocess(self.route(reply), prompt)


def agent(stack: Stack) -> Agent:
    """Return the agent that a stack describes.

    Raises:
        InputError: If an artefact can't be read as what it is.
    """
    prompt = _text(stack.system_prompt).strip() if stack.system_prompt else ""
    listing = tool_listing(stack.tools) if stack.tools else ""
    return Agent(
        system="\n\n".join(part for part in (prompt, listing) if part),
        sampling=Sampling(**dict(stack.sampling or {})),
        retrieve=retriever(stack.retrieval) if stack.retrieval else _nothing,
        route=_router(stack.tools),
        postprocess=(
            load_function(stack.postprocessor) if stack.postprocessor else _as_is
        ),
    )


def tool_listing(tools: Tools) -> str:
    """Return the tools as the system message lists them."""
    lines = [f"- {tool.name}: {described(tool)}" for tool in read_tools(tools.spec)]
    return "\n".join(["Tools:", *lines])


def described(tool: Tool) -> str:
    """Return what a tool says of itself."""
    return str(tool.function.get("description") or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Router:
    """What a router file says.

    Args:
        marker: What stands before the name of the chosen tool.
        allowed: The tools that are routed, at least one.
        restricted: The tools that are not, whatever `allowed` says.
    """

    marker: str
    allowed: tuple[str, ...]
    restricted: tuple[str, ...]


def read_router(blob: Blob) -> Router:
    """Return the router's settings.

    Raises:
        InputError: If a key is missing, unknown or of the wrong kind.
    """
    value = parse_yaml(_text(blob), source=blob.name)
    keys = {"marker": str, "allowed": list, "restricted": list}
    check_keys(value, keys, source=blob.name)
    if not value["allowed"]:
        msg = f"{blob.name}: allowed: expected at least one tool, got none"
        raise InputError(msg)
    return Router(
        marker=value["marker"],
        allowed=tuple(map(str, value["allowed"])),
        restricted=tuple(map(str, value["restricted"])),
    )


def check_keys(value: Any, keys: Mapping[str, type], *, source: str) -> None:
    """Refuse a mapping whose keys or kinds of value differ from those stated.

    Raises:
        InputError: Naming what is missing, unknown or of another kind.
    """
    if not isinstance(value, dict) or set(value) != set(keys):
        got = ", ".join(value) if isinstance(value, dict) else type(value).__name__
        msg = f"{source}: expected the keys {', '.join(keys)}, got {got}"
        raise InputError(msg)
    for key, kind in keys.items():
        if not isinstance(value[key], kind):
            msg = f"{source}: {key}: expected {kind.__name__}, got {value[key]!r:.40}"
            raise InputError(msg)


def _router(tools: Tools | None) -> Callable[[str], str]:
    if tools is None or tools.router is None:
        return str
    router = read_router(tools.router)
    routed = frozenset(router.allowed) - frozenset(router.restricted)
    choice = re.compile(
        rf"^\s*{re.escape(router.marker)}[ \t]*([A-Za-z_][\w.-]*)", re.M
    )

    def route(text: str) -> str:
        """Return the reply, a choice that isn't allowed replaced by a refusal to route it."""
        match = choice.search(text)
        if match is None or match[1] in routed:
            return text
        why = "is restricted" if match[1] in router.restricted else "is not allowed"
        return f"{router.marker} none ({match[1]} {why})"

    return route


def _text(blob: Blob) -> str:
    return decode(blob.content, source=blob.name)


def _nothing(prompt: str) -> Sequence[str]:  # noqa: ARG001 - a retriever's signature
    return ()


def _as_is(text: str, prompt: str) -> str:  # noqa: ARG001 - a postprocessor's signature
    return text
