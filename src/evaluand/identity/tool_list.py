"""The tools of a stack: an OpenAI tool list, or what MCP's ``tools/list`` returns."""

from dataclasses import dataclass
from typing import Any

from evaluand.canonical import parse_json
from evaluand.digest import name_fault
from evaluand.errors import InputError
from evaluand.identity.part import Blob


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One entry of the list.

    Args:
        name: Distinct in its list.
        entry: The entry as it stands there.
        function: The part of it that describes the function.
    """

    name: str
    entry: dict[str, Any]
    function: dict[str, Any]


def read_tools(spec: Blob) -> list[Tool]:
    """Return the tools of a list, in order.

    Raises:
        InputError: If it is no such list, or a name is missing, refused or there twice.
    """
    entries = tool_entries(parse_json(spec.content, source=spec.name), spec.name)
    tools: dict[str, Tool] = {}
    for index, entry in enumerate(entries):
        inner = entry.get("function", entry) if isinstance(entry, dict) else None
        name = inner.get("name") if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or not isinstance(name, str):
            msg = (
                f"{spec.name}[{index}]: expected a tool with a name, got {entry!r:.80}"
            )
            raise InputError(msg)
        fault = name_fault(f"tool/{name}") or (
            "stands there twice" if name in tools else ""
        )
        if fault:
            msg = f"{spec.name}: tool {index}: the name {name!r} {fault}"
            raise InputError(msg)
        tools[name] = Tool(name=name, entry=entry, function=inner)
    return list(tools.values())


def tool_entries(value: Any, source: str) -> list[Any]:
    """Return the entries of a tool list that was parsed.

    Raises:
        InputError: If it is neither a list nor an object with one under ``tools``.
    """
    entries = value.get("tools") if isinstance(value, dict) else value
    if not isinstance(entries, list):
        msg = f"{source}: expected a list of tools, or an object with a list 'tools'"
        raise InputError(msg)
    return entries
