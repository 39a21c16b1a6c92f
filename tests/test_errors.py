"""`evaluand.errors`: each kind of failure has one exit code."""

import pytest

from evaluand.errors import (
    EvaluandError,
    InputError,
    IntegrityError,
    ModelError,
    RequestRefusedError,
    StoreError,
    UndefinedEstimateError,
)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (InputError, 2),
        (IntegrityError, 1),
        (StoreError, 5),
        (UndefinedEstimateError, 3),
    ],
)
def test_exit_codes(kind: type[EvaluandError], code: int) -> None:
    """Every error is an EvaluandError, carries its message and knows its exit code."""
    error = kind("expected x, got y")
    assert isinstance(error, EvaluandError)
    assert (error.exit_code, str(error)) == (code, "expected x, got y")


def test_model_errors_say_whether_to_try_again() -> None:
    """A failing endpoint may be retried, a refusal never; both name their reason."""
    error = ModelError("busy", retryable=True)
    assert (error.retryable, error.reason, error.exit_code) == (
        True,
        "endpoint_error",
        3,
    )
    refused = RequestRefusedError("wrong key")
    assert isinstance(refused, ModelError)
    assert (refused.retryable, refused.reason, refused.exit_code) == (
        False,
        "request_refused",
        2,
    )
