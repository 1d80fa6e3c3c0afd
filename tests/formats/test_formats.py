"""Sessions as Markdown, ATIF and OpenTelemetry: valid, repeatable, without what must stay."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from atif import Trajectory
from google.protobuf import json_format  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData

from fazm_memory.errors import Declined, InvalidRequest, NotFound
from fazm_memory.formats.conversation import block_quote
from tests.app.memory_fixture import MemoryFixture

FORMATS = ("atif", "markdown", "otel")
HOSTILE = (
    "# heading\n\n- item\n1. one\n1) one\n<script>alert(1)</script> ![x](http://a.b/c.png) [l](http://a.b)\n"
    "    indented\n| a | b |\n| - | - |\n***bold*** _it_ `code` &lt; &#35; ``` `\n"
    "====\n---\n{{x}} @a $x$ ~~s~~\n- - -\n"
    "https://a.example/x www.a.example\n> quote\n[ref]: http://a.b\n\\# end\n</details>\u202e\x1b[31m\n"
    "**[l](http://a.b)** **<b>** `[l](http://a.b)\n``` \n~~~\n# in code\n</details>"
)


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFixture]:
    monkeypatch.setenv("TZ", "UTC")
    made = MemoryFixture(tmp_path / "memory")
    yield made
    made.close()


def work(memory: MemoryFixture) -> str:
    """A session with two turns."""
    home = memory.config.user_home
    session = memory.begin(f"{home}/Documents")
    memory.say(session, "prompt", text="File the invoices by year")
    memory.say(session, "message", text="I look at the folder first.")
    memory.say(session, "action.start", tool="Bash", input={"command": "ls"}, call_id="c1")
    memory.act(session, "Bash", {"command": "ls"}, output="a.pdf", call_id="c1", duration_ms=20)
    memory.act(session, "Read", {"path": f"{home}/x"}, outcome="error", error="no such file", call_id="c2")
    memory.say(session, "decision", what="by year", why="you asked", alternatives=["by client"])
    memory.say(
        session, "usage", input_tokens=5, output_tokens=6, cached_tokens=7, model="claude-x", cost_usd=0.5
    )
    memory.renamed(session, f"{home}/Documents/a.pdf", f"{home}/Documents/2026/a.pdf")
    memory.say(session, "pending", id="p", what="the receipts")
    memory.say(session, "prompt", text="Now the receipts")
    memory.say(session, "action.start", tool="Glob", input="*.png", call_id="c3")
    return session


def exported(memory: MemoryFixture, session: str, name: str, **options: Any) -> str:
    file = memory.config.home.parent / f"{session[:8]}.{name}"
    memory.bundles.export_as(session, file, name, force=True, **options)
    return file.read_text(encoding="utf-8")


# -- every format ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_the_file_is_private_and_never_overwritten_unasked(
    memory: MemoryFixture, tmp_path: Path, name: str
) -> None:
    session, file = work(memory), tmp_path / "file"
    result = memory.bundles.export_as(session, file, name)
    assert file.stat().st_mode & 0o777 == 0o600
    assert (result["bytes"], result["turns"], result["calls"]) == (file.stat().st_size, 2, 4)
    before = file.read_bytes()
    with pytest.raises(Declined, match="is there already"):
        memory.bundles.export_as(session, file, name)
    memory.bundles.export_as(session, file, name, force=True)
    assert file.read_bytes() == before
    with pytest.raises(NotFound, match="there is no folder"):
        memory.bundles.export_as(session, tmp_path / "none" / "file", name)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".file")]


def test_an_unknown_format_is_refused(memory: MemoryFixture, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="is not a format"):
        memory.bundles.export_as(work(memory), tmp_path / "file", "pdf")


@pytest.mark.parametrize("name", FORMATS)
def test_quarantine_stops_the_export_as_it_stops_a_bundle(
    memory: MemoryFixture, tmp_path: Path, name: str
) -> None:
    session = work(memory)
    memory.maintenance.quarantine(session, seq=2)
    with pytest.raises(Declined, match="in quarantine, so nothing was exported"):
        memory.bundles.export_as(session, tmp_path / "file", name)
    assert not (tmp_path / "file").exists()
    assert "look at the folder" in exported(memory, session, name, quarantined=True)


@pytest.mark.parametrize("name", FORMATS)
def test_forgotten_and_redacted_text_is_not_in_it(memory: MemoryFixture, name: str) -> None:
    session = work(memory)
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    memory.say(session, "message", text=f"the token is {secret}")
    memory.maintenance.forget(match="receipts")
    text = exported(memory, session, name)
    assert "receipts" not in text
    assert secret not in text
    assert "the token is" in text


@pytest.mark.parametrize("name", FORMATS)
def test_the_home_folder_is_not_in_it(memory: MemoryFixture, name: str) -> None:
    text = exported(memory, work(memory), name)
    assert str(memory.config.user_home) not in text
    assert "/2026/a.pdf" in text


@pytest.mark.parametrize("name", FORMATS)
def test_a_fork_has_its_ancestors_and_not_what_was_taken_back(memory: MemoryFixture, name: str) -> None:
    session = work(memory)
    branch = memory.rewind.fork(session, at=5)["id"]
    memory.sessions.append(branch, "decision", what="by client")
    text = exported(memory, branch, name)
    assert "look at the folder" in text
    assert "by client" in text
    assert "you asked" not in text
    memory.rewind.apply(session, 3, force=True)
    again = exported(memory, session, name)
    assert "look at the folder" in again
    assert "you asked" not in again


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_session_and_half_a_surrogate_pair(memory: MemoryFixture, name: str) -> None:
    session = memory.begin()
    assert exported(memory, session, name)
    memory.say(session, "message", text="half \ud83d pair")
    text = exported(memory, session, name)  # reads it as UTF-8
    assert "half " in text
    assert " pair" in text


# -- Markdown -------------------------------------------------------------------------------------------


def test_markdown_reads_well(memory: MemoryFixture) -> None:
    text = exported(memory, work(memory), "markdown")
    assert text.startswith("# File the invoices by year\n\n- **Agent:** fazm\n")
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## Request", "## Decisions", "## Files", "## Open points", "## What was done"]
    assert "- **by year** — because you asked (not: by client)" in text
    assert "- [ ] the receipts" in text
    assert "<details><summary>2 tool calls: Bash, Read (1 failed)</summary>" in text
    assert "```sh\nls\n```\n\n```\na.pdf\n```" in text
    assert text.count("<details>") == text.count("</details>") == 3


def test_recorded_text_never_becomes_markup(memory: MemoryFixture) -> None:
    session = memory.begin("/w/# <b>x</b>")
    memory.say(session, "prompt", text=HOSTILE)
    memory.say(session, "message", text=HOSTILE)
    for what in HOSTILE.splitlines():
        memory.say(session, "decision", what=what or "-", why=HOSTILE, alternatives=[HOSTILE])
        memory.say(session, "pending", id=what or "-", what=what or "-")
    memory.act(session, "<i>Tool</i>\n\n# x", {"command": HOSTILE}, output=HOSTILE * 2, outcome="error")
    memory.renamed(session, "/w/[a](http://x.y)", "/w/<img src=x>")
    text = exported(memory, session, "markdown")
    assert "\u202e" not in text
    assert "\x1b" not in text
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    flat = [child for token in tokens for child in (token, *(token.children or ()))]
    forbidden = {"link_open", "image", "html_inline", "table_open", "hr", "em_open", "code_block",
                 "ordered_list_open", "s_open"}  # fmt: skip
    assert [token for token in flat if token.type in forbidden and token.markup != "*"] == []
    assert "<em>" not in MarkdownIt("commonmark").render(text)
    assert [token.content for token in tokens if token.type == "html_block"] == [
        "<details><summary>2 tool calls: &lt;i&gt;Tool&lt;/i&gt; # x, Bash (1 failed)</summary>\n",
        "</details>\n",
    ]
    levels = [token.tag for token in tokens if token.type == "heading_open"]
    assert levels == ["h1", "h2", "h2", "h2", "h2", "h2", "h3"]
    assert {token.content for token in flat if token.type == "code_inline"} == {"code"}
    said = next(line for line in HOSTILE.splitlines() if line.startswith("***")).partition(" `code`")[0]
    shown = "".join(token.content for token in flat if token.type in ("text", "text_special"))
    assert said in shown


PIECES = (
    "`", "``", "```", "~~~", "**", "*", "_", "__", "[a](b:c)", "![x](y)", "<b>", "</details>", "<!--", "-->",
    "http://a.b", "www.a.b", "# ", "- ", "1. ", "+ ", "> ", "---", "===", "|", "| a | b |", "\n", "\n\n",
    "    ", "\t", "\\", "&lt;", "a", "b c", " ", "[r]: /u", "~~s~~", "\u00a0", "\u2028", "\x85", "\r",
)  # fmt: skip
EFFECTS = {
    "link_open", "image", "html_inline", "html_block", "table_open", "hr", "em_open", "ordered_list_open",
    "s_open", "heading_open", "code_block",
}  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_no_text_in_a_quote_takes_effect_or_leaves_it(text: str) -> None:
    document = f"before\n\n{block_quote(text)}\n\nafter\n"
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(document)
    flat = [child for token in tokens for child in (token, *(token.children or ()))]
    assert EFFECTS.isdisjoint(token.type for token in flat)
    assert [token.content for token in tokens if token.level == 1 and token.type == "inline"][-1] == "after"


ANSWER = """## Result
**Done:** the well-known `manual_commit.go` (v1.2) has 3 cases - all pass, see docs/a_b.md.
- first
1. second

```go
func main() {} // **not bold**
```
| a | b |
| - | - |
That is it."""
READABLE = """> **Result**\\
> **Done:** the well-known `manual_commit.go` (v1.2) has 3 cases - all pass, see docs/a_b.md.
> - first\\
> 1\\. second
>
> ```go
> func main() {} // **not bold**
> ```
> ```
> | a | b |
> | - | - |
> ```
> That is it."""


def test_an_answer_in_markdown_can_be_read_as_it_was_meant(memory: MemoryFixture) -> None:
    session = memory.begin("/w")
    memory.say(session, "prompt", text="What came out?")
    memory.say(session, "message", text=ANSWER)
    assert READABLE in exported(memory, session, "markdown")


def test_files_of_the_folder_are_named_from_there_and_the_choice_is_no_alternative(
    memory: MemoryFixture,
) -> None:
    session = memory.begin("/w")
    memory.renamed(session, "/w/a.pdf", "/w/2026/a.pdf")
    memory.say(session, "decision", what="by year", alternatives=["by year", "by client"])
    text = exported(memory, session, "markdown")
    assert "- 2026/a.pdf — renamed from a.pdf" in text
    assert "**by year** (not: by client)" in text


# -- ATIF -----------------------------------------------------------------------------------------------


def test_atif_is_valid_and_complete(memory: MemoryFixture) -> None:
    session = work(memory)
    document = json.loads(exported(memory, session, "atif"))
    trajectory = Trajectory.model_validate(document)
    assert (trajectory.schema_version, trajectory.session_id) == ("ATIF-v1.7", session)
    steps = trajectory.steps
    assert [(step.source, step.message) for step in steps] == [
        ("user", "File the invoices by year"), ("agent", "I look at the folder first."), ("agent", "by year"),
        ("user", "Now the receipts"), ("agent", ""),
    ]  # fmt: skip
    calls = [[call.tool_call_id for call in step.tool_calls or ()] for step in steps]
    assert calls == [[], ["c1", "c2"], [f"{session[:8]}-8"], [], ["c3"]]
    assert steps[1].observation is not None
    results = [(result.source_call_id, result.content) for result in steps[1].observation.results]
    assert results == [("c1", "a.pdf"), ("c2", "no such file")]
    assert steps[4].observation is None
    assert steps[4].tool_calls is not None
    assert steps[4].tool_calls[0].arguments == {"input": "*.png"}
    assert steps[2].model_name == "claude-x"
    assert steps[2].metrics is not None
    assert (steps[2].metrics.prompt_tokens, steps[2].metrics.cached_tokens) == (12, 7)
    final = trajectory.final_metrics
    assert final is not None
    assert (final.total_prompt_tokens, final.total_completion_tokens, final.total_cost_usd) == (12, 6, 0.5)


# -- OpenTelemetry --------------------------------------------------------------------------------------


def spans(text: str) -> list[Span]:
    """The spans, decoded by the official messages. OTLP writes ids in hex, where protobuf has base64."""
    document = json.loads(text)
    for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in span:
                span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    decoded = json_format.ParseDict(document, TracesData(), ignore_unknown_fields=False)
    return list(decoded.resource_spans[0].scope_spans[0].spans)


def attributes(span: Span) -> dict[str, Any]:
    return {
        entry.key: getattr(entry.value, str(entry.value.WhichOneof("value"))) for entry in span.attributes
    }


def test_otlp_is_decoded_by_the_official_messages(memory: MemoryFixture) -> None:
    session = work(memory)
    root, *others = spans(exported(memory, session, "otel"))
    assert root.trace_id.hex() == session
    assert root.parent_span_id == b""
    assert [span.name for span in others] == [
        "invoke_agent fazm", "execute_tool Bash", "execute_tool Read", "execute_tool Bash",
        "invoke_agent fazm", "execute_tool Glob",
    ]  # fmt: skip
    assert {span.trace_id for span in others} == {root.trace_id}
    assert len({span.span_id for span in (root, *others)}) == 7
    assert all(len(span.span_id) == 8 for span in (root, *others))
    turns = [span for span in others if span.name.startswith("invoke_agent")]
    assert {span.parent_span_id for span in turns} == {root.span_id}
    assert [span.parent_span_id for span in others[1:4]] == [turns[0].span_id] * 3
    for span in others:
        assert root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= root.end_time_unix_nano
    turn = attributes(turns[0])
    assert turn["gen_ai.operation.name"] == "invoke_agent"
    assert turn["gen_ai.provider.name"] == "anthropic"
    assert (turn["gen_ai.usage.input_tokens"], turn["gen_ai.usage.output_tokens"]) == (12, 6)
    asked = json.loads(turn["gen_ai.input.messages"])
    assert asked == [{"role": "user", "parts": [{"type": "text", "content": "File the invoices by year"}]}]
    assert [event.name for event in turns[0].events] == ["fazm_memory.decision"]
    failed = others[2]
    assert (failed.status.code, failed.status.message) == (Status.STATUS_CODE_ERROR, "no such file")
    assert attributes(failed)["error.type"] == "error"
    assert json.loads(attributes(others[1])["gen_ai.tool.call.arguments"]) == {"command": "ls"}
    assert attributes(others[1])["gen_ai.tool.call.result"] == "a.pdf"
    assert attributes(others[5])["error.type"] == "interrupted"
