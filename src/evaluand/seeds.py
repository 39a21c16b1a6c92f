"""Random generators by name, so that drawing for one purpose never moves another."""

import hashlib

import numpy as np


def generator(seed: int, *purpose: str | int) -> np.random.Generator:
    """Return the generator for a purpose under a root seed.

    Args:
        seed: The root seed of the run, at least 0.
        purpose: Names that tell this use apart from every other.

    >>> generator(42, "suite", "fact").integers(100, size=3).tolist()
    [40, 1, 98]
    """
    name = "\x1f".join(map(str, purpose)).encode()
    words = np.frombuffer(hashlib.sha256(name).digest(), dtype="<u4")
    return np.random.default_rng(np.random.SeedSequence([seed, *words.tolist()]))
