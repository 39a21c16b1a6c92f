"""``evaluand bench`` as a user meets it: results, resumes, and what goes wrong."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evaluand.assets.fetch import state_of
from evaluand.bench.starter import write_reference
from evaluand.bench.suite import tasks
from evaluand.cli.main import main
from evaluand.store import Store

SCRIPTED = ["--model", "scripted", "--tasks", "10"]


def desk_arguments(desk: Any, run: Path, *more: str) -> list[str]:
    """Return a small bench whose declared model is the loopback endpoint."""
    models = ["--model", desk.url, "--substitute", "scripted:weak"]
    judges = ["--judge", "none", "--auditor", "none"]
    return ["bench", "-o", str(run), *models, *judges, "--tasks", "5", *more]


def exchanges(run: Path) -> dict[str, float]:
    """Return how long each answered request took, in seconds, by its key."""
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        return dict(db.execute("SELECT key, latency_s FROM exchange"))


def test_a_bench_prints_the_ladder_and_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One command gives the ladder in 80 columns, summary.json and report.html."""
    run = tmp_path / "run"
    assert main(["bench", "-o", str(run), *SCRIPTED]) == 0
    printed = capsys.readouterr()
    assert "scripted, no model" in printed.out
    assert "mean tampered" in printed.out
    assert max(map(len, printed.out.splitlines()[:-1])) <= 80
    assert printed.err == ""
    summary = json.loads((run / "summary.json").read_text())
    assert summary["kind"] == "bench"
    assert "<html" in (run / "report.html").read_text()


def test_json_is_the_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--json prints what summary.json holds, and so does report --json."""
    run = tmp_path / "run"
    assert main(["bench", "-o", str(run), *SCRIPTED, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((run / "summary.json").read_text())
    assert main(["report", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == printed


def test_a_second_start_finds_everything_done(tmp_path: Path, desk: Any) -> None:
    """The same command again asks nothing and changes no byte of the report."""
    run = tmp_path / "run"
    assert main(desk_arguments(desk, run)) == 0
    asked, page = desk.asked, (run / "report.html").read_bytes()
    assert (
        asked == 5 * 5
    )  # dependencies and postprocessor share, the substitute is a script
    assert main(desk_arguments(desk, run)) == 0
    assert desk.asked == asked
    assert (run / "report.html").read_bytes() == page


def test_an_endpoint_that_is_down_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing listens: the message names the address, and the exit code is 3."""
    run = tmp_path / "run"
    arguments = ["--model", "http://127.0.0.1:1/v1#m", "--substitute", "scripted"]
    judges = ["--judge", "none", "--auditor", "none", "--tasks", "1"]
    assert main(["bench", "-o", str(run), *arguments, *judges]) == 3
    error = capsys.readouterr().err
    assert "127.0.0.1:1" in error
    assert "resumes" in error


@pytest.mark.parametrize(
    ("status", "told"),
    [(401, "EVALUAND_API_KEY"), (404, "desk"), (403, "EVALUAND_API_KEY")],
)
def test_a_refusing_endpoint_stops_the_run_at_once(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    desk: Any,
    status: int,
    told: str,
) -> None:
    """A wrong key or model is bad input: one request, exit 2, what to set."""
    desk.status = status
    assert main(desk_arguments(desk, tmp_path / "run")) == 2
    assert told in capsys.readouterr().err
    assert desk.asked <= 8  # as many as are in flight


def test_a_run_resumes_after_the_endpoint_came_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], desk: Any
) -> None:
    """What was answered is kept; the rest is asked when the endpoint answers again."""
    run = tmp_path / "run"
    desk.fails_after = 7
    assert main(desk_arguments(desk, run)) == 3
    assert "out of order" in capsys.readouterr().err
    kept = exchanges(run)
    assert len(kept) == 7
    desk.fails_after = None
    assert main(desk_arguments(desk, run)) == 0
    assert exchanges(run).items() >= kept.items()
    assert len(exchanges(run)) == 30  # six conditions that ask, one of them a script
    summary = json.loads((run / "summary.json").read_text())
    row = summary["conditions"]["clean"]["evaluators"]["standard"]
    assert (row["n_assessed"], row["unassessed"], row["accept"]) == (5, {}, 1.0)


def test_a_failed_request_is_an_error_row_until_it_is_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], desk: Any
) -> None:
    """After the last attempt a row is unassessed with its reason; a resume mends it."""
    run, whole = tmp_path / "run", tmp_path / "whole"
    prompt = tasks(42, 5)[0].prompt
    desk.fails_for = json.dumps(prompt, ensure_ascii=False)[1:-1]
    few = ("--conditions", "clean,postprocessor,dependencies")
    assert main(desk_arguments(desk, run, *few)) == 3
    assert (
        "samples or verdicts have no result, the last: http" in capsys.readouterr().err
    )
    row = derived(run)["conditions"]["clean"]["evaluators"]["standard"]
    assert (row["n_assessed"], row["unassessed"]) == (4, {"endpoint_error": 1})
    assert derived(run)["without_output"] == {
        "condition": "clean",
        "share": 0.2,
        "reasons": ["endpoint_error"],
    }
    desk.fails_for = None
    assert main(desk_arguments(desk, run, *few)) == 0
    assert main(desk_arguments(desk, whole, *few)) == 0
    assert derived(run) == derived(whole)


def derived(run: Path) -> dict[str, Any]:
    """Return a run's summary but for when and with which words it was started."""
    summary: dict[str, Any] = json.loads((run / "summary.json").read_text())
    del summary["provenance"]["started"], summary["provenance"]["command"]
    return summary


def test_workers_and_timeouts_may_change_between_starts(
    tmp_path: Path, desk: Any
) -> None:
    """What can't change a result is no other run: nothing is asked again."""
    run = tmp_path / "run"
    assert main(desk_arguments(desk, run, "--workers", "1")) == 0
    asked, before = desk.asked, (run / "summary.json").read_bytes()
    more = ("--workers", "3", "--timeout", "7")
    assert main(desk_arguments(desk, run, *more)) == 0
    assert desk.asked == asked
    assert (run / "summary.json").read_bytes() == before


def test_a_cut_output_is_scored_and_flagged(tmp_path: Path, desk: Any) -> None:
    """An agent's output cut at its limit is an output like any other, and counted."""
    desk.finish_reason = "length"
    run = tmp_path / "run"
    assert main(desk_arguments(desk, run)) == 0
    clean = json.loads((run / "summary.json").read_text())["conditions"]["clean"]
    assert clean["truncated"] == 5
    assert clean["evaluators"]["standard"]["n_assessed"] == 5


def test_a_filtered_reply_is_unassessed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], desk: Any
) -> None:
    """A content filter leaves rows without a verdict and out of the rate, with bounds."""
    desk.finish_reason = "content_filter"
    run = tmp_path / "run"
    assert main(desk_arguments(desk, run)) == 3
    assert "100% of the samples under clean have no output (filtered)" in (
        capsys.readouterr().err
    )
    clean = json.loads((run / "summary.json").read_text())["conditions"]["clean"]
    row = clean["evaluators"]["standard"]
    assert row["unassessed"] == {"filtered": 5}
    assert (row["accept"], row["bounds"]) == (None, [0.0, 1.0])


def test_another_run_in_the_folder_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other settings in one folder are refused, naming what differs; nothing is lost."""
    run = tmp_path / "run"
    assert main(["bench", "-o", str(run), *SCRIPTED]) == 0
    before = (run / "summary.json").read_bytes()
    again = ["bench", "-o", str(run), "--model", "scripted", "--tasks", "11"]
    assert main(again) == 2
    error = capsys.readouterr().err
    assert "tasks" in error
    assert "another folder" in error
    assert (run / "summary.json").read_bytes() == before


def evaluand(*arguments: str, **options: Any) -> "subprocess.Popen[str]":
    """Start the command line as a process of its own."""
    command = [sys.executable, "-m", "evaluand", *arguments]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, **pipes, **options)


SLOW_AGENT = """
import time


def respond(task, stack):
    time.sleep(0.05)
    return task.answer
"""


def slow_stack(folder: Path) -> Path:
    """Return a stack with an agent of its own that takes its time."""
    stack = write_reference(folder)
    (folder / "agent.py").write_text(SLOW_AGENT)
    stack.write_text(stack.read_text() + "respond: agent.py:respond\n")
    return stack


def samples(run: Path) -> int:
    """Return how many samples a run has made sure of."""
    if not (run / "run.sqlite").exists():
        return 0
    db = sqlite3.connect(f"file:{run / 'run.sqlite'}?mode=ro", uri=True)
    try:
        count: int = db.execute("SELECT COUNT(*) FROM sample").fetchone()[0]
    except sqlite3.Error:
        return 0
    finally:
        db.close()
    return count


@pytest.mark.parametrize(
    ("stop", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_an_interrupted_run_resumes(tmp_path: Path, stop: int, code: int) -> None:
    """Ctrl-C and kill -9 lose only what was in flight; the report is as if uninterrupted."""
    stack = slow_stack(tmp_path / "stack")
    arguments = ["bench", str(stack), "--model", "scripted", "--tasks", "6"]
    arguments += ["--judge", "none", "--auditor", "none"]
    run = tmp_path / "run"
    process = evaluand(*arguments, "-o", str(run))
    while samples(run) < 5:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    os.kill(process.pid, stop)
    _, error = process.communicate()
    assert process.returncode == code
    assert ("the same command resumes" in error) == (stop == signal.SIGINT)
    done = samples(run)
    assert 5 <= done < 48
    assert main([*arguments, "-o", str(run)]) == 0
    whole = tmp_path / "whole"
    assert main([*arguments, "-o", str(whole)]) == 0
    first, second = (
        json.loads((folder / "summary.json").read_text()) for folder in (run, whole)
    )
    for summary in (first, second):
        del summary["provenance"]
    assert first == second


def test_two_runs_never_write_into_one_folder(tmp_path: Path) -> None:
    """While one run writes, a second one in its folder is refused with exit 2."""
    stack = slow_stack(tmp_path / "stack")
    arguments = ["bench", str(stack), "--model", "scripted", "--tasks", "6"]
    run = tmp_path / "run"
    process = evaluand(*arguments, "-o", str(run))
    try:
        while samples(run) < 1:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        second = evaluand(*arguments, "-o", str(run))
        _, error = second.communicate()
        assert second.returncode == 2
        assert "another run is writing here" in error
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--conditions", "repeat,model"], "clean must be among them"),
        (["--conditions", "clean,weather"], "expected names of clean"),
        (["--evaluators", "vibes"], "expected names of standard"),
        (["--tasks", "0"], "0 is not in the range"),
        (["--seeds", "a"], "whole numbers"),
        (["--seeds", "1,1"], "distinct"),
        (["--pair", "scripted"], "DECLARED:SUBSTITUTE"),
        (["--judge", "gpt"], "expected local:NAME"),
        (["--model", "scripted:nobody"], "there are: perfect"),
        (["--gate", "vibes"], "expected an evaluator"),
        (["--gate", "standard=weather"], "expected tampers"),
        (["--engine", "ray"], "ray"),
    ],
)
def test_bad_options_are_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
) -> None:
    """A wrong value says what was expected, with exit 2."""
    base = ["bench", "-o", str(tmp_path / "run")]
    if "--pair" not in arguments:
        base += ["--substitute", "scripted:weak"]
    if not {"--pair", "--model"} & set(arguments):
        base += ["--model", "scripted"]
    if "--tasks" not in arguments:
        base += ["--tasks", "5"]
    assert main([*base, *arguments]) == 2
    assert told in capsys.readouterr().err


def test_a_gate_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tamper that a gate wants killed and that lives gives exit 1, named."""
    base = ["bench", "-o", str(tmp_path / "run"), "--model", "scripted"]
    base += ["--tasks", "120", "--judge", "none", "--auditor", "none"]
    assert main([*base, "--gate", "identity", "--gate", "standard"]) == 0
    capsys.readouterr()
    assert main([*base, "--gate", "canary=tools"]) == 1
    assert "canary did not kill tools" in capsys.readouterr().err


def test_init_writes_a_stack_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--init writes the reference stack, and an edited copy is what is run and stated."""
    folder = tmp_path / "mine"
    assert main(["bench", "--init", str(folder)]) == 0
    assert "stack.yaml" in capsys.readouterr().out
    prompt = folder / "prompts" / "system.md"
    prompt.write_text(prompt.read_text() + "\nBe brief.\n")
    run = tmp_path / "run"
    arguments = ["--model", "scripted", "--tasks", "5", "-o", str(run)]
    assert main(["bench", str(folder), *arguments]) == 0
    assert main(["bench", "--init", str(folder)]) == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("name: northgate-desk", "name: a\nname: b"), "duplicate key"),
        (("sampling:", "samplings:"), "samplings"),
        (("prompts/system.md", "prompts/none.md"), "none.md"),
        (("system_prompt: prompts/system.md\n", ""), "system_prompt"),
        (("{policy: retrieval.yaml, corpus: corpus/}", "none"), "retrieval"),
    ],
)
def test_bad_stacks_are_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: tuple[str, str],
    told: str,
) -> None:
    """Unknown and duplicate keys, missing files and missing components give exit 2."""
    stack = write_reference(tmp_path / "stack")
    stack.write_text(stack.read_text().replace(*change))
    run = ["-o", str(tmp_path / "run"), "--model", "scripted", "--tasks", "5"]
    assert main(["bench", str(stack), *run]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "run" / "run.sqlite").exists()


def test_stored_outputs_are_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bench score assesses outputs that exist, rules and judges alike."""
    suite = tasks(42, 4)
    lines = [{"task": task.id, "output": task.answer} for task in suite[:3]]
    lines.append({"task": suite[3].id, "output": "line\u2028break"})
    outputs = tmp_path / "outputs.jsonl"
    outputs.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in lines))
    arguments = ["bench", "score", "dib:42", str(outputs), "--judge", "scripted"]
    assert main([*arguments, "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    standard = [row["outcome"] for row in found if row["evaluator"] == "standard"]
    judged = [row["outcome"] for row in found if row["evaluator"] == "judge:scripted"]
    assert standard == judged == ["pass", "pass", "pass", "fail"]
    assert main([*arguments, "--evaluators", "standard"]) == 0
    assert "standard: 3 pass, 1 fail, 0 unassessed, of 4" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("suite", "text", "told"),
    [
        ("bid", "{}", "expected dib"),
        ("dib", "", "holds no output"),
        ("dib", '{"task": "fact-01"}', "line 1: expected"),
        ("dib", '{"task": "fact-99", "output": ""}', "no task 'fact-99'"),
        ("dib", "not json", "line 1"),
        ("dib", '{"task": "fact-01", "output": "a"}\n' * 2, "a second output"),
    ],
)
def test_bad_outputs_are_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    suite: str,
    text: str,
    told: str,
) -> None:
    """A line that can't be scored is named, with exit 2."""
    outputs = tmp_path / "outputs.jsonl"
    outputs.write_text(text)
    assert main(["bench", "score", suite, str(outputs)]) == 2
    assert told in capsys.readouterr().err


def test_report_needs_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without a run says how to make one."""
    assert main(["report", str(tmp_path)]) == 2
    assert "evaluand bench -o" in capsys.readouterr().err


def test_a_damaged_store_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A database that is none gives exit 5, and is left as it is."""
    run = tmp_path / "run"
    assert main(["bench", "-o", str(run), *SCRIPTED]) == 0
    database = run / "run.sqlite"
    for name in ("run.sqlite-wal", "run.sqlite-shm"):
        (run / name).unlink(missing_ok=True)
    database.write_bytes(b"not a database" * 400)
    assert main(["report", str(run)]) == 5
    assert "run.sqlite" in capsys.readouterr().err
    assert database.read_bytes().startswith(b"not a database")


def test_damaged_and_missing_weights_are_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Weights that are not here, are none, or are cut short give exit 2 and their name."""
    stack = write_reference(tmp_path / "stack")
    own = "endpoint: local:mine\n  weights: w.gguf"
    stack.write_text(
        stack.read_text().replace("endpoint: local:qwen2.5-coder-1.5b", own)
    )
    arguments = ["bench", str(stack), "-o", str(tmp_path / "run"), "--tasks", "1"]
    arguments += ["--substitute", "scripted", "--judge", "none", "--auditor", "none"]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "model.weights: expected a file" in error
    assert "w.gguf" in error
    weights = stack.parent / "w.gguf"
    weights.write_bytes(b"GGUF\x03\x00\x00\x00" + b"\xff" * 40)
    assert main(arguments) == 2
    assert "w.gguf" in capsys.readouterr().err
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    monkeypatch.delenv("EVALUAND_MODELS", raising=False)
    assert main(["bench", "-o", str(tmp_path / "other")]) == 2
    assert "evaluand models pull qwen2.5-coder-1.5b" in capsys.readouterr().err


def pulled(name: str) -> bool:
    """Whether a catalogue model is on this machine."""
    return state_of(name) == "present"


@pytest.mark.slow
@pytest.mark.skipif(
    not pulled("smollm2-135m"),
    reason="smollm2-135m isn't pulled; run: evaluand models pull smollm2-135m",
)
def test_a_real_small_model_runs_from_stack_to_page(tmp_path: Path) -> None:
    """llama.cpp answers and judges; only the tampered components move; a rerun asks nothing."""
    run = tmp_path / "run"
    model = "local:smollm2-135m"
    arguments = ["bench", "-o", str(run), "--model", model, "--substitute", "scripted"]
    arguments += ["--judge", model, "--auditor", "none", "--tasks", "2"]
    arguments += ["--conditions", "clean,repeat,model,prompt,postprocessor"]
    assert main(arguments) == 0
    summary = json.loads((run / "summary.json").read_text())
    assert not summary["conditions"]["clean"]["evaluators"]["standard"]["unassessed"]
    moved = {
        name: {kind for kind, rate in rates.items() if rate}
        for name, rates in summary["localisation"].items()
    }
    assert moved["clean"] == moved["repeat"] == set()
    assert moved["prompt"] == {"system_prompt"}
    assert moved["postprocessor"] == {"postprocessor"}
    # a script has no tokenizer of its own, so that goes with the weights
    assert moved["model"] == {"model", "tokenizer"}
    fitness = {e["name"]: e["fitness"] for e in summary["evaluators"]}
    assert fitness["judge:smollm2-135m"]["state"] in ("fit", "unfit", "inconclusive")
    asked = summary["cost"]["asked"]
    assert main(arguments) == 0
    again = json.loads((run / "summary.json").read_text())
    assert again["cost"]["asked"] == asked


def test_what_logs_in_to_an_endpoint_is_kept_nowhere(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    desk: Any,
) -> None:
    """A key in the environment and a password in the URL are in no file and no message."""
    monkeypatch.setenv("EVALUAND_API_KEY", "sk-planted-key")
    run = tmp_path / "run"
    desk.url = desk.url.replace("://", "://user:planted-word@")
    monkeypatch.setattr(sys, "argv", ["evaluand", *desk_arguments(desk, run)])
    assert main() == 0
    desk.fails_after = 0
    other = desk_arguments(desk, tmp_path / "other")
    assert main(other) == 3
    said = "".join(capsys.readouterr())
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(kept) > 5
    for content in (said.encode(), *(path.read_bytes() for path in kept)):
        assert b"planted" not in content


def test_two_judges_of_one_name_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Judges that a table couldn't tell apart are named before anything is asked."""
    judges = [
        "--judge",
        "http://127.0.0.1:1/v1#j",
        "--judge",
        "http://127.0.0.1:2/v1#j",
    ]
    run = ["bench", "-o", str(tmp_path / "run"), *SCRIPTED, *judges]
    assert main(run) == 2
    assert "two would be called judge:j" in capsys.readouterr().err


def test_a_run_that_has_not_begun_has_no_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder with a record and an empty store says how to start."""
    run = tmp_path / "run"
    assert main(["bench", "-o", str(run), *SCRIPTED]) == 0
    for path in run.glob("run.sqlite*"):
        path.unlink()
    Store(run / "run.sqlite").close()
    assert main(["report", str(run)]) == 2
    assert "has not begun" in capsys.readouterr().err


def test_a_stack_edited_between_two_starts_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A resumed run whose prompt changed would mix two stacks; nothing is overwritten."""
    stack = write_reference(tmp_path / "stack")
    run = tmp_path / "run"
    arguments = ["bench", str(stack), "-o", str(run), *SCRIPTED]
    assert main(arguments) == 0
    before = (run / "summary.json").read_bytes()
    prompt = stack.parent / "prompts" / "system.md"
    prompt.write_text(prompt.read_text() + "Be generous.\n")
    assert main(arguments) == 1
    assert "system_prompt changed since this run began" in capsys.readouterr().err
    assert (run / "summary.json").read_bytes() == before


CHANGING_AGENT = """
from contextlib import closing
from pathlib import Path


def respond(task, stack):
    Path(stack.root, "weights.bin").write_bytes(b"other")
    return task.answer
"""


def test_a_stack_that_changes_while_it_runs_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Weights that are not what they were when the run began give exit 1, named."""
    stack = write_reference(tmp_path / "stack")
    (stack.parent / "agent.py").write_text(CHANGING_AGENT)
    (stack.parent / "weights.bin").write_bytes(b"declared")
    own = "endpoint: scripted\n  weights: weights.bin"
    text = stack.read_text().replace("endpoint: local:qwen2.5-coder-1.5b", own)
    stack.write_text(text + "respond: agent.py:respond\n")
    run = ["bench", str(stack), "-o", str(tmp_path / "run"), "--tasks", "5"]
    run += ["--substitute", "scripted:weak", "--judge", "none", "--auditor", "none"]
    assert main(run) == 1
    error = capsys.readouterr().err
    assert "model changed since this run began" in error


def test_a_ladder_of_one_rule_has_a_report(tmp_path: Path) -> None:
    """No evaluator is needed for the page but those that were asked for."""
    run = tmp_path / "run"
    few = ["--evaluators", "strict", "--judge", "none", "--auditor", "none"]
    assert main(["bench", "-o", str(run), *SCRIPTED, *few]) == 0
    assert "<html" in (run / "report.html").read_text()


def test_a_misspelt_gate_is_refused_before_the_run(tmp_path: Path) -> None:
    """What could never be answered costs nothing."""
    run = tmp_path / "run"
    assert main(["bench", "-o", str(run), *SCRIPTED, "--gate", "nope"]) == 2
    assert not run.exists()


def test_tasks_are_printed_and_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `tasks` prints is what `score` reads the answers to."""
    assert main(["bench", "tasks", "dib:7"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["prompt"] for row in rows] == [task.prompt for task in tasks(7)]
    answers = tmp_path / "outputs.jsonl"
    lines = [{"task": task.id, "output": task.answer} for task in tasks(7)]
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["bench", "score", "dib:7", str(answers)]) == 0
    assert "strict: 120 pass, 0 fail, 0 unassessed, of 120" in capsys.readouterr().out


def test_a_judge_that_gives_no_reply_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], desk: Any
) -> None:
    """Scores without an answer leave their rows open and the exit code at 3."""
    desk.fails_for = "Candidate reply"
    answers = tmp_path / "outputs.jsonl"
    answers.write_text('{"task": "fact-01", "output": "ANSWER: x"}\n')
    score = ["bench", "score", "--judge", desk.url, "dib", str(answers)]
    assert main(score) == 3
    assert "1 verdicts have no reply, the last: http" in capsys.readouterr().err


def test_init_takes_nothing_beside_it(tmp_path: Path) -> None:
    """An option that would be passed over is refused."""
    written = tmp_path / "desk"
    assert main(["bench", "--init", str(written), "--model", "scripted"]) == 2
    assert not written.exists()


@pytest.mark.parametrize("command", [["models", "list"], ["bench", "tasks"]])
def test_a_full_standard_output_is_a_storage_failure(command: list[str]) -> None:
    """/dev/full says what a full disk says: exit 5, no traceback."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "evaluand", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 5
    assert b"Traceback" not in done.stderr
    assert b"No space left" in done.stderr
