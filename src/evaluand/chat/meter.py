"""What a chat template may take: time, and the size of what it makes.

A template is foreign code, and the sandbox keeps it from nothing but reaching out. Every
loop item and every operation passes through a meter, which gives up once the time is
over; and what an operation would yield is estimated before it is carried out, since one
multiplication of Python can fill any memory and can't be interrupted.
"""

import inspect
import re
import sys
import time
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from jinja2.runtime import (
    BlockReference,
    LoopContext,
    Macro,
    TemplateReference,
    Undefined,
)
from jinja2.utils import Cycler, Joiner, Namespace

from evaluand.errors import InputError

LIMIT_S = 5.0
LIMIT_CHARACTERS = 4_000_000  # of the prompt, and of any value on the way to it
LIMIT_BYTES = 256 * 2**20  # made by all operations together
LIMIT_BITS = 16_384  # of an integer
_LIMIT_DEPTH = 100  # a tuple is hashed by recursion in C, which nothing else bounds
_LIMIT_COMPARISONS = 500_000_000  # of characters, in one search from the right
_STEP_BYTES = 8  # of a piece of output that a step may keep

_T = TypeVar("_T")

# whose text is short whatever they hold, so that they need no weighing
_PLAIN = (
    type(None),
    float,
    complex,
    range,
    Iterator,
    Undefined,
    Namespace,
    LoopContext,
    Macro,
    BlockReference,
    TemplateReference,
    Cycler,
    Joiner,
)
_VIEWS = (KeysView, ValuesView, ItemsView)
_NUMBER = re.compile(r"\d+")


@dataclass(slots=True, kw_only=True)
class Meter:
    """What one rendering has taken so far.

    Args:
        clock: Seconds that never go backwards.
    """

    clock: Callable[[], float] = time.monotonic
    _deadline: float = field(init=False)
    _bytes: int = field(default=0, init=False)
    # by id: the container itself, so that the id stays its own, its weight and depth;
    # none changes once made, since the sandbox is immutable
    _known: dict[int, tuple[Any, int, int]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._deadline = self.clock() + LIMIT_S

    def tick(self) -> None:
        """Account for one step.

        Raises:
            InputError: If the time is over.
        """
        if self.clock() > self._deadline:
            msg = f"the chat template takes more than {LIMIT_S:g} s"
            raise InputError(msg)
        self._charge(_STEP_BYTES)

    def expect(self, size: int) -> None:
        """Refuse an operation whose result would have more characters or items.

        Raises:
            InputError: If that is too many.
        """
        if size > LIMIT_CHARACTERS:
            _too_long()

    def expect_search(self, text: str, sought: Iterable[Any]) -> None:
        """Refuse a search that may compare each character with each sought.

        Raises:
            InputError: If the two are too long.
        """
        if len(text) * sum(self._weigh(value)[0] for value in sought) > (
            _LIMIT_COMPARISONS
        ):
            msg = "the chat template searches a text that is too long for a text that is too long"
            raise InputError(msg)

    def admit(self, value: _T) -> _T:
        """Return what an operation made, once it is weighed.

        Raises:
            InputError: If it, or all that was made so far, is too large.
        """
        self._weigh(value)
        return value

    def each(self, values: Iterator[Any]) -> Iterator[Any]:
        """Yield what is made on demand, each value a step."""
        for value in values:
            self.tick()
            yield self.admit(value)

    def concat(self, pieces: Iterable[str]) -> str:
        """Return the text of the pieces.

        Raises:
            InputError: If there is no end to them.
        """
        texts = []
        length = 0
        for piece in pieces:
            self.tick()
            length += len(piece)
            self.expect(length)
            texts.append(piece)
        return self.admit("".join(texts))

    def expect_number(self, digits: str) -> None:
        """Refuse a width or a precision in a format, such as ``>12``.

        Raises:
            InputError: If a number in it is too large.
        """
        for number in _NUMBER.findall(digits):
            self.expect(int(number) if len(number) < 12 else LIMIT_CHARACTERS + 1)

    def expect_percent(self, form: str, values: Any) -> None:
        """Refuse printf-style formatting that would yield too much.

        Raises:
            InputError: If the widest value in every place would be too long.
        """
        self.expect_number(form)
        operands = values if isinstance(values, tuple) else (values,)
        sizes = [512, *(self._weigh(value)[0] for value in operands)]
        sizes += [int(number) for number in _NUMBER.findall(form)]
        if "*" in form:
            sizes += [abs(value) for value in operands if isinstance(value, int)]
        self.expect(len(form) + form.count("%") * max(sizes))

    def binary(self, operator: str, left: Any, right: Any) -> None:
        """Refuse an arithmetic operation that would yield too much.

        Raises:
            InputError: If its result would be too large.
        """
        if operator == "%" and isinstance(left, str):
            self.expect_percent(left, right)
        elif operator == "**" and isinstance(left, int) and isinstance(right, int):
            _expect_bits(left.bit_length() * max(right, 1))
        elif operator == "*":
            self._product(left, right)

    def _product(self, left: Any, right: Any) -> None:
        if isinstance(left, int) and isinstance(right, int):
            _expect_bits(left.bit_length() + right.bit_length())
        elif isinstance(left, int) and isinstance(right, Sequence):
            self._product(right, left)
        elif isinstance(right, int) and isinstance(left, Sequence):
            size = len(left) if isinstance(left, str) else self._weigh(left)[0]
            self.expect(right * size)

    def _charge(self, size: int) -> None:
        self._bytes += size
        if self._bytes > LIMIT_BYTES:
            msg = f"the chat template makes more than {LIMIT_BYTES // 2**20} MiB of text and lists"
            raise InputError(msg)

    def _weigh(self, value: Any) -> tuple[int, int]:
        """Return about how many characters a value's text has, and how deep it is."""
        if isinstance(value, str):
            self.expect(len(value))
            self._charge(sys.getsizeof(value))
            return len(value) + 8, 0
        if isinstance(value, int):
            _expect_bits(value.bit_length())
            return 8 + value.bit_length() // 3, 0
        if isinstance(value, (list, tuple, dict, *_VIEWS)):
            return self._contents(value)
        if isinstance(value, (*_PLAIN, type)) or inspect.isroutine(value):
            return 8, 0
        msg = f"the chat template makes a {type(value).__name__}, which none needs"
        raise InputError(msg)

    def _contents(self, value: Any) -> tuple[int, int]:
        known = self._known.get(id(value))
        if known:
            return known[1], known[2]
        children: Iterable[Any] = value
        if isinstance(value, (Mapping, ItemsView)):
            items = value.items() if isinstance(value, Mapping) else value
            children = (child for item in items for child in item)
        self._charge(sys.getsizeof(value))
        weight, depth = 16, 0
        for child in children:
            child_weight, child_depth = self._weigh(child)
            weight += child_weight
            depth = max(depth, child_depth + 1)
            self.expect(weight)
        if depth > _LIMIT_DEPTH:
            msg = f"the chat template nests lists more than {_LIMIT_DEPTH} deep"
            raise InputError(msg)
        self._known[id(value)] = value, weight, depth
        return weight, depth


def _too_long() -> NoReturn:
    msg = f"the chat template yields more than {LIMIT_CHARACTERS} characters"
    raise InputError(msg)


def _expect_bits(count: int) -> None:
    if count > LIMIT_BITS:
        msg = f"the chat template makes an integer of more than {LIMIT_BITS} bits"
        raise InputError(msg)
