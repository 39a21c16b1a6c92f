"""Numbers as they are printed: rounded without hiding a miss, and undefined as a dash."""

from collections.abc import Sequence

DASH = "\u2013"
_MINUS = "\u2212"


def percent(value: float | None) -> str:
    """Return a fraction as a percentage with one decimal.

    A share short of all is never printed as all, nor one above none as none.

    Args:
        value: A fraction from 0 to 1, or None where it is undefined.

    >>> percent(0.875), percent(0.9999), percent(0.0), percent(None)
    ('87.5%', '>99.9%', '0.0%', '–')
    """  # noqa: RUF002 - the sign that is printed
    if value is None:
        return DASH
    text = f"{100 * value:.1f}%"
    if value < 1 and text == "100.0%":
        return ">99.9%"
    return "<0.1%" if value > 0 and text == "0.0%" else text


def percent_range(bounds: Sequence[float] | None) -> str:
    """Return two fractions as a range of percentages.

    >>> percent_range([0.68, 0.956])
    '68.0 to 95.6%'
    """
    if bounds is None:
        return DASH
    low, high = (f"{100 * bound:.1f}" for bound in bounds)
    return f"{low} to {high}%"


def points(value: float | None) -> str:
    """Return a difference of fractions in signed percentage points.

    >>> points(0.125), points(-0.5), points(-0.0001), points(None)
    ('+12.5', '−50.0', '0.0', '–')
    """  # noqa: RUF002 - the sign that is printed
    if value is None:
        return DASH
    text = f"{100 * value:+.1f}"
    return "0.0" if text[1:] == "0.0" else text.replace("-", _MINUS)


def points_range(bounds: Sequence[float] | None) -> str:
    """Return two differences as a range in percentage points.

    >>> points_range([-0.01, 0.25])
    '−1.0 to +25.0'
    """  # noqa: RUF002 - the sign that is printed
    return DASH if bounds is None else " to ".join(map(points, bounds))


def tau_label(tau: str) -> str:
    """Return an acceptance threshold as it is written in the field.

    >>> tau_label("0.8")
    '.80'
    """
    return f"{float(tau):.2f}".removeprefix("0")


def decimal(value: float | None, digits: int = 3) -> str:
    """Return a plain fraction such as an AUC.

    >>> decimal(0.9125), decimal(None)
    ('0.912', '–')
    """  # noqa: RUF002 - the sign that is printed
    return DASH if value is None else f"{value:.{digits}f}"


def decimal_range(bounds: Sequence[float] | None) -> str:
    """Return two plain fractions as a range.

    >>> decimal_range([0.81, 0.97])
    '0.81 to 0.97'
    """
    return DASH if bounds is None else " to ".join(decimal(b, 2) for b in bounds)
