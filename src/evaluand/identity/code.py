"""Functions loaded from the very bytes that are hashed."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from evaluand.digest import sha256_hex
from evaluand.errors import InputError
from evaluand.identity.part import Code


def load_function(code: Code) -> Callable[..., Any]:
    """Return the function, compiled from the blob and never from a file.

    The blob's folder isn't importable: a second file would run without being hashed.

    Raises:
        InputError: If the source doesn't compile, imports what isn't installed, or
            defines no such function.
    """
    name = code.source.name
    try:
        compiled = compile(code.source.content, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        msg = f"{name}: doesn't compile: {error}"
        raise InputError(msg) from error
    module = ModuleType(f"evaluand_code_{sha256_hex(code.source.content)[:16]}")
    sys.modules[module.__name__] = module  # dataclasses look their module up there
    try:
        exec(compiled, module.__dict__)  # noqa: S102 - the stack's own code, run on request
    except ImportError as error:
        msg = f"{name}: {error}; only installed packages can be imported, not files beside it, since these would not be hashed"
        raise InputError(msg) from error
    except (Exception, SystemExit) as error:
        msg = f"{name}: raised {type(error).__name__} while it was loaded: {error}"
        raise InputError(msg) from error
    function = module.__dict__.get(code.function)
    if not callable(function):
        msg = f"{name}: expected a function {code.function!r}, it defines {_defined(module)}"
        raise InputError(msg)
    return function  # type: ignore[no-any-return] # callable() proves no signature


def _defined(module: ModuleType) -> str:
    names = [
        name
        for name, value in module.__dict__.items()
        if callable(value) and not name.startswith("_")
    ]
    return ", ".join(names) or "none"
