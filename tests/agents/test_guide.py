"""The reader in docs/adding-an-agent.md works as it is written there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import Places
from tests.agents.reading import kinds, of_kind, read_on

GUIDE = Path(__file__).parents[2] / "docs" / "adding-an-agent.md"


def test_the_reader_of_the_guide_reads_its_records(tmp_path: Path) -> None:
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", GUIDE.read_text(), re.DOTALL))
    names: dict[str, Any] = {}
    exec(compile(blocks["python"], str(GUIDE), "exec"), names)
    log = tmp_path / ".heron" / "logs" / "h1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(blocks["heron"] + '{"kind": "nap", "id": "5"}\n')
    reader = names["Heron"](str(tmp_path))
    (record,) = reader.find(Places(tmp_path))
    drafts, _, chunks = read_on(reader, record)
    assert kinds(drafts) == ["session.open", "prompt", "action", "message", "unknown"]
    (action,) = of_kind(drafts, "action")
    assert [(file["path"], file["change"]) for file in action["files"]] == [
        ("/Users/dana/blog/post.md", "renamed")
    ]
    assert [dict(chunk.unknown) for chunk in chunks] == [{"nap": 1}]
