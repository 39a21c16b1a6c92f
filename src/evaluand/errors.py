"""The exceptions that evaluand raises on purpose.

    EvaluandError                 exit code
    ├── InputError                2   a malformed document, a bad argument
    ├── IntegrityError            1   bytes or rows are not what they were said to be
    ├── ModelError                3   an endpoint gave no reply (``retryable``)
    │   └── RequestRefusedError   2   the endpoint refuses every such request
    ├── StoreError                5   the run could not be written or read
    └── UndefinedEstimateError    3   too little data for the number asked for

A message says what was expected, what came, where, and the next step.
"""

from typing import ClassVar


class EvaluandError(Exception):
    """Root of the errors that a command line reports without a traceback."""

    exit_code: ClassVar[int] = 2


class InputError(EvaluandError):
    """A document, an argument or a file is not what it has to be."""

    exit_code = 2


class IntegrityError(EvaluandError):
    """A digest, a signature or a stored row differs from what was stated."""

    exit_code = 1


class ModelError(EvaluandError):
    """An endpoint gave no usable reply.

    Args:
        message: What happened, where, and what to try.
        retryable: Whether the same request may succeed later.
        reason: The short name under which a row is left unassessed.
    """

    exit_code = 3

    def __init__(
        self, message: str, *, retryable: bool, reason: str = "endpoint_error"
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.reason = reason


class RequestRefusedError(ModelError):
    """The endpoint refuses this kind of request: wrong key, wrong model, wrong path."""

    exit_code = 2

    def __init__(self, message: str, *, reason: str = "request_refused") -> None:
        super().__init__(message, retryable=False, reason=reason)


class StoreError(EvaluandError):
    """The run's database is damaged, locked or can't be written."""

    exit_code = 5


class UndefinedEstimateError(EvaluandError):
    """An estimate was asked for that these data can't give."""

    exit_code = 3
