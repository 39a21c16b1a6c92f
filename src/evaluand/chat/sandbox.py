"""The sandbox that chat templates run in: nothing to reach for, and a meter on each step.

The template is rewritten before it is compiled: every loop body begins with a step, and
every list, slice and ``~`` is handed to the meter. What can't be written in
a template passes through the hooks that jinja2 offers: calls, attributes, arithmetic,
filters, printing. The text that comes out is the one that jinja2 makes without all this.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from string import Formatter
from types import BuiltinMethodType, MethodType
from typing import Any, cast

from jinja2 import TemplateSyntaxError, nodes, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import (
    ImmutableSandboxedEnvironment,
    SandboxedEscapeFormatter,
    SandboxedFormatter,
)
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer
from markupsafe import Markup

from evaluand.chat.limit import (
    FILTERS,
    METHODS,
    Limit,
    limited_join,
    limited_sum,
    limited_tojson,
)
from evaluand.chat.meter import Meter

# ways to bytes, whose codecs can take quadratic time, and to types that can't be weighed
_NEEDLESS = frozenset(
    (
        "encode",
        "from_bytes",
        "fromhex",
        "fromkeys",
        "hex",
        "maketrans",
        "mapping",
        "to_bytes",
        "translate",
    )
)
# would make two renderings of one conversation differ
_RANDOM = ("random", "lipsum")


class MeteredSandbox(ImmutableSandboxedEnvironment):
    """The environment that Hugging Face's and llama.cpp's templates are made for.

    Args:
        meter: Of the one rendering that this environment is for.
    """

    intercepted_binops = frozenset(["+", "-", "*", "/", "//", "**", "%"])

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

        # with a context nothing is printed, and so nothing made, at compile time
        @pass_context
        def printed(_: Context, value: Any) -> str:
            meter.tick()
            return meter.admit(str(value))

        # text for a model, not for a page: escaping would change what is asked
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.loopcontrols"],
            optimized=False,
            finalize=printed,
        )
        self.globals["namespace"] = _Namespace
        self.globals["dict"] = _dict
        for name in _RANDOM:
            self.globals.pop(name, None)
            self.filters.pop(name, None)
        self.filters["join"] = limited_join(meter)
        self.filters["sum"] = limited_sum(meter)
        self.filters["tojson"] = limited_tojson(meter)
        filters = cast("dict[str, Callable[..., Any]]", self.filters)
        for name, function in filters.items():
            filters[name] = self._metered(function, FILTERS.get(name))
        tests = cast("dict[str, Callable[..., Any]]", self.tests)
        for name, function in tests.items():
            tests[name] = self._metered(function, None)

    def _metered(
        self, function: Callable[..., Any], limit: Limit | None
    ) -> Callable[..., Any]:
        meter = self.meter
        skipped = int(hasattr(function, "jinja_pass_arg"))

        @functools.wraps(function)
        def metered(*args: Any, **kwargs: Any) -> Any:
            meter.tick()
            if limit is not None:
                limit(meter, *args[skipped:], **kwargs)
            value = function(*args, **kwargs)
            if isinstance(value, Iterator):
                return meter.each(value)
            return meter.admit(value)

        return metered

    def _parse(
        self, source: str, name: str | None, filename: str | None
    ) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        return cast("nodes.Template", _Rewriting().visit(tree))

    def step(self) -> bool:
        """Account for a step; it goes on."""
        self.meter.tick()
        return True

    def admit(self, value: Any) -> Any:
        """Return a value that the template made."""
        self.meter.tick()
        return self.meter.admit(value)

    def join(self, *values: Any) -> str:
        """Return the text of ``a ~ b``."""
        return self.meter.concat(str(value) for value in values)

    def concat(self, pieces: Iterable[str]) -> str:
        """Return what a macro or a block put out."""
        return self.meter.concat(pieces)

    def call(
        self, context: Context, function: Any, /, *args: Any, **kwargs: Any
    ) -> Any:
        """Call a function for a template."""
        if isinstance(function, MethodType) and function.__self__ is self:
            return function(*args)
        self.meter.tick()
        return self.meter.admit(super().call(context, function, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Carry out an arithmetic operation for a template."""
        self.meter.tick()
        self.meter.binary(operator, left, right)
        return self.meter.admit(super().call_binop(context, operator, left, right))

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return ``obj.attribute``."""
        self.meter.tick()
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return ``obj[argument]``."""
        self.meter.tick()
        return super().getitem(obj, argument)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Tell whether a template may use an attribute."""
        needless = attr in _NEEDLESS and not isinstance(obj, Namespace)
        return not needless and super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Callable[..., Any] | None:
        """Return a text's method within the limits, None if it is no such method."""
        if not isinstance(value, (MethodType, BuiltinMethodType)):
            return None
        text, name = value.__self__, value.__name__
        if not isinstance(text, str) or name.startswith("_") or name in _NEEDLESS:
            return None
        if name in ("format", "format_map"):
            return self._formatting(text, is_map=name == "format_map")
        limit = METHODS.get(name)

        def method(*args: Any, **kwargs: Any) -> Any:
            if limit is None:
                self.meter.expect_search(text, [*args, *kwargs.values()])
                return value(*args, **kwargs)
            if name == "join":  # what is made on demand is made once
                args = tuple(list(arg) for arg in args)
            limit(self.meter, text, *args, **kwargs)
            return value(*args, **kwargs)

        return functools.update_wrapper(method, value)

    def _formatting(self, text: str, *, is_map: bool) -> Callable[..., str]:
        formatter: Formatter = _MeteredFormatter(self)
        if isinstance(text, Markup):
            formatter = _MeteredEscapeFormatter(self, escape=text.escape)

        def format_map(mapping: Mapping[str, Any]) -> str:
            return type(text)(formatter.vformat(text, (), mapping))

        def format_(*args: Any, **kwargs: Any) -> str:
            return type(text)(formatter.vformat(text, args, kwargs))

        return format_map if is_map else format_


class _MeteredFormatter(SandboxedFormatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        meter = cast("MeteredSandbox", self._env).meter
        meter.tick()
        meter.expect_number(format_spec)
        return meter.admit(cast("str", super().format_field(value, format_spec)))


class _MeteredEscapeFormatter(_MeteredFormatter, SandboxedEscapeFormatter):
    pass


class _Namespace(Namespace):
    """A namespace without a text of what it holds, which may be itself."""

    def __repr__(self) -> str:
        return "<Namespace>"


def _dict(*args: Any, **kwargs: Any) -> dict[Any, Any]:
    """Return a dict; the class itself would let ``dict[x, x]`` be made."""
    return dict(*args, **kwargs)


class _Rewriting(NodeTransformer):
    """Puts the meter into a template."""

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        self.generic_visit(node, *args, **kwargs)
        match node:
            case nodes.For():
                return _stepwise(node)
            case nodes.Concat():
                return _call("join", node.nodes, node)
            case nodes.List() | nodes.Dict() | nodes.Compare():
                return _call("admit", [node], node)
            case nodes.Tuple(ctx="load") | nodes.Getitem(arg=nodes.Slice()):
                return _call("admit", [node], node)
            case nodes.ScopedEvalContextModifier():
                msg = "autoescape is for pages; a chat template makes text for a model"
                raise TemplateSyntaxError(msg, node.lineno)
            case _:
                return node


def _stepwise(loop: nodes.For) -> nodes.For:
    """Begin the loop's body, which a recursive loop shares, and its test with a step."""
    step = _call("step", [], loop)
    loop.body.insert(0, nodes.ExprStmt(step, lineno=loop.lineno))
    if loop.test is not None:
        loop.test = nodes.And(step, loop.test, lineno=loop.lineno)
    return loop


def _call(method: str, args: list[nodes.Expr], node: nodes.Node) -> nodes.Call:
    function = nodes.EnvironmentAttribute(method, lineno=node.lineno)
    return nodes.Call(function, args, [], None, None, lineno=node.lineno)
