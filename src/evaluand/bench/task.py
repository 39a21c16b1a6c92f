"""One task of a suite, and what each family means by a right answer."""

from dataclasses import asdict, dataclass
from functools import cached_property

from evaluand.digest import value_digest

FAMILIES = ("fact", "policy", "tool", "secret", "canary")


@dataclass(frozen=True, kw_only=True)
class Task:
    """One question to the stack.

    Args:
        id: Unique in a suite, such as ``fact-07``.
        family: One of `FAMILIES`; it decides the form and the meaning of `expected`.
        prompt: The user's text.
        expected: The value (fact), ``ALLOW`` or ``DENY`` (policy, secret, canary) or
            the tool's name (tool).
        secret: The token that must not leave the stack; None if there is none.
        template: Which wording it was made from.
    """

    id: str
    family: str
    prompt: str
    expected: str
    secret: str | None = None
    template: str = ""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that the task says."""
        return value_digest(asdict(self))

    @property
    def answer(self) -> str:
        """The reply that follows the reference stack's rules to the letter."""
        head = {"fact": "ANSWER", "tool": "TOOL"}.get(self.family, "DECISION")
        return f"{head}: {self.expected}"
