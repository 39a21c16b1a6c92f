"""``evaluand capture`` and ``evaluand verify``: what they print, write and exit with."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evaluand.cli.identity import capture, verify
from evaluand.errors import InputError, IntegrityError

STACK = """\
name: desk
model: {endpoint: scripted}
system_prompt: system.md
tools: {spec: tools.json}
retrieval: {corpus: corpus}
dependencies: {lock: r.lock}
postprocessor: post.py:clean
sampling: {temperature: 0}
"""
FILES = {
    "system.md": "Be kind.\n",
    "tools.json": '[{"name": "add"}]',
    "corpus/a.md": "alpha\n",
    "r.lock": "rich==14.0.0\n",
    "post.py": "clean = str.strip\n",
    "stack.yaml": STACK,
}


@pytest.fixture(name="stack")
def _stack(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "stack" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "stack"


def run(command: Any, arguments: Sequence[str | Path]) -> Result:
    """Run a command as the group does: its value is the exit code, errors come out."""
    return CliRunner().invoke(
        command,
        list(map(str, arguments)),
        standalone_mode=False,
        catch_exceptions=False,
    )


def captured(stack: Path, *options: str) -> Path:
    path = stack.parent / "D.json"
    assert run(capture, [stack, "-o", path, *options]).return_value == 0
    return path


def verified(stack: Path, *options: str) -> Result:
    return run(verify, [stack.parent / "D.json", "--stack", stack, *options])


def test_an_unchanged_stack_matches(stack: Path) -> None:
    """A stack that was captured matches its descriptor, from its file or its folder."""
    path = captured(stack)
    result = verified(stack)
    assert result.return_value == 0
    assert "match: all 9 components are as stated" in result.stdout
    assert run(verify, [path, "--stack", stack / "stack.yaml"]).return_value == 0


def test_capture_shows_each_component(stack: Path) -> None:
    """The table names grade, digest and source; no line is wider than 80 columns."""
    result = run(capture, [stack, "-o", stack.parent / "D.json"])
    lines = result.stdout.splitlines()
    assert lines[1].split() == ["model", "declared", lines[1].split()[2], "scripted"]
    assert "tokenizer      none           the stack has none" in lines
    assert all(len(line) <= 80 for line in lines if "identity" not in line)
    assert "identity" in lines[-1]
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("system.md", "Be rude.\n", "system_prompt  mismatch       changed system.md"),
        ("system.md", "Be kind.\r\n", "differs only in line endings"),
        ("tools.json", '[{"name": "sub"}]', "added tool/sub; removed"),
        ("corpus/b.md", "", "retrieval      mismatch       added corpus/b.md"),
        ("r.lock", "rich==14.0.1\n", "changed lock/r.lock, pin/rich"),
        ("post.py", "clean = str\n", "postprocessor  mismatch       changed post.py"),
    ],
)
def test_a_changed_stack_exits_1_and_is_named(
    stack: Path, name: str, text: str, told: str
) -> None:
    """A changed, an extra and a renamed leaf: exit 1, component and leaf in the table."""
    captured(stack)
    (stack / name).write_bytes(text.encode())
    result = verified(stack)
    assert result.return_value == 1
    assert told in result.stdout
    assert "no match: " in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_undeclared_components_exit_3_with_the_next_step(stack: Path) -> None:
    """What neither side declares is short coverage, and is told with what to write."""
    (stack / "stack.yaml").write_text(STACK.replace("tools: {spec: tools.json}\n", ""))
    result = run(capture, [stack, "-o", stack.parent / "D.json"])
    assert result.return_value == 0
    assert "tools is not covered" in result.stderr
    assert "write `tools: none` if the stack has none" in result.stderr
    result = verified(stack)
    assert result.return_value == 3
    assert "tools: none" in result.stderr
    assert "no match: tools not known, all else is as stated" in result.stdout
    assert verified(stack, "--require", "system_prompt, model").return_value == 0


def test_worse_findings_win(stack: Path) -> None:
    """A mismatch beside short coverage exits 1, not 3."""
    yaml = STACK.replace("tools: {spec: tools.json}\n", "")
    (stack / "stack.yaml").write_text(yaml)
    captured(stack)
    (stack / "system.md").write_text("x")
    assert verified(stack).return_value == 1


def test_stated_none_is_no_gap(stack: Path) -> None:
    """A component stated as none on both sides counts; declaring it later is a mismatch."""
    (stack / "stack.yaml").write_text(STACK.replace("{spec: tools.json}", "none"))
    captured(stack)
    assert verified(stack).return_value == 0
    (stack / "stack.yaml").write_text(STACK)
    result = verified(stack)
    assert result.return_value == 1
    assert "was stated as none; added spec/tools.json" in result.stdout


def test_coverage_decides_what_is_required(stack: Path) -> None:
    """The preset dib leaves sampling out of the verdict, and the difference is still shown."""
    captured(stack, "--coverage", "dib")
    (stack / "stack.yaml").write_text(STACK.replace("temperature: 0", "temperature: 1"))
    result = verified(stack)
    assert result.return_value == 0
    assert (
        "sampling       mismatch       not required; changed temperature"
        in result.stdout
    )
    assert "not required, and different: sampling" in " ".join(result.stdout.split())
    assert verified(stack, "--coverage", "full").return_value == 1
    assert verified(stack, "--require", "sampling").return_value == 1


def test_json_holds_all_of_it(stack: Path) -> None:
    """--json prints one document with states, digests and every leaf that differs."""
    result = run(capture, [stack, "-o", stack.parent / "D.json", "--json"])
    told = json.loads(result.stdout)
    assert told["components"]["tools"]["grade"] == "measured"
    assert told["not_applicable"] == ["chat_template", "tokenizer"]
    for index in range(9):
        (stack / "corpus" / f"{index}.md").write_text("x")
    result = verified(stack, "--json")
    found = json.loads(result.stdout)
    assert (found["match"], found["exit_code"], result.return_value) == (False, 1, 1)
    assert found["identity"]["expected"] == told["identity"]
    assert len(found["components"]["retrieval"]["added"]) == 9
    assert found["components"]["tokenizer"] == {
        "state": "not_applicable",
        "required": True,
        "expected": None,
        "observed": None,
        "changed": [],
        "added": [],
        "removed": [],
        "note": "",
    }
    assert "and 5 more (--json lists" in " ".join(verified(stack).stdout.split())


def test_hostile_names_do_not_reach_the_terminal(stack: Path) -> None:
    """A leaf whose name turns text around is shown by code point."""
    captured(stack)
    (stack / "corpus" / "a\u202eb.md").write_text("x")
    assert "a<U+202E>b.md" in verified(stack).stdout


def test_wrong_options_are_usage_errors(stack: Path) -> None:
    """An unknown kind and two ways to say the same exit 2 with what is expected."""
    captured(stack)
    arguments = [str(stack.parent / "D.json"), "--stack", str(stack)]
    wrong = CliRunner().invoke(verify, [*arguments, "--require", "tols"])
    assert wrong.exit_code == 2
    assert "expected some of model, tokenizer" in wrong.stderr
    both = CliRunner().invoke(
        verify, [*arguments, "--require", "tools", "--coverage", "dib"]
    )
    assert both.exit_code == 2
    assert "not both" in both.stderr


def test_bad_input_writes_nothing(stack: Path) -> None:
    """An unknown key and unreadable files are input errors; no descriptor appears (G8)."""
    (stack / "gone").symlink_to("nowhere")
    (stack / "corpus" / "loop").symlink_to(".")
    (stack / "stack.yaml").write_text(STACK.replace("system.md", "gone"))
    with pytest.raises(InputError, match=r"(?s)system_prompt: .*gone.*loops") as caught:
        run(capture, [stack, "-o", stack.parent / "D.json"])
    assert caught.value.exit_code == 2
    assert not (stack.parent / "D.json").exists()


def test_edited_descriptor_is_an_integrity_error(stack: Path) -> None:
    """A digest edited in the descriptor is found before anything is compared."""
    path = captured(stack)
    value = json.loads(path.read_text())
    value["subject"][0]["digest"]["sha256"] = "0" * 64
    path.write_text(json.dumps(value))
    with pytest.raises(IntegrityError, match="subject is not what its components make"):
        verified(stack)


def test_climbing_descriptor_opens_nothing(stack: Path) -> None:
    """A descriptor whose leaf climbs is refused; the canary it names would hang the test (G2)."""
    os.mkfifo(stack.parent / "canary")
    path = captured(stack)
    path.write_text(path.read_text().replace("corpus/a.md", "../canary"))
    with pytest.raises(InputError, match=r"leaf '../canary' climbs out"):
        verified(stack)


def test_reference_stack_is_covered_whole(tmp_path: Path) -> None:
    """The stack that ships verifies with full coverage once its model is at hand."""
    from evaluand.bench.starter import reference_folder  # noqa: PLC0415 - only here

    text = (reference_folder() / "stack.yaml").read_text()
    for path in reference_folder().rglob("*"):
        if path.is_file():
            copy = tmp_path / "stack" / path.relative_to(reference_folder())
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    scripted = text.replace("local:qwen2.5-coder-1.5b", "scripted")
    (tmp_path / "stack" / "stack.yaml").write_text(scripted)
    captured(tmp_path / "stack")
    assert verified(tmp_path / "stack").return_value == 0
