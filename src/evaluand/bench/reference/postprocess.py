"""Clean a reply before it leaves the desk."""


def clean(text: str, prompt: str) -> str:  # noqa: ARG001 - part of the interface
    """Return the reply without surrounding white space and code fences."""
    return text.strip().strip("`").strip()
