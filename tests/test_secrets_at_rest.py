"""After a day full of secrets nothing of them is anywhere in the data folder, decrypted or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from fazm_memory.engines.redaction import all_rules
from fazm_memory.store.store import Store


def secrets_of_every_rule() -> list[tuple[str, str]]:
    """(the text a secret stands in, the secret) for each rule."""
    found = []
    for rule in all_rules():
        start, end = rule.find_all(rule.example.encode("latin-1"))[0]
        found.append((rule.example, rule.example[start:end]))
    return found


def readable(store: Store) -> str:
    """All that the decrypted database says, table by table, compressed payloads included."""
    from fazm_memory.store.event_log import unpack

    messages: list[str] = []
    tables = [
        row[0] for row in store.db.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
    ]
    for table in tables:
        for row in store.db.execute(f'SELECT * FROM "{table}"').fetchall():
            for cell in row:
                if isinstance(cell, bytes):
                    messages += [cell.decode("utf-8", "replace"), unpack(cell).decode("utf-8", "replace")]
                else:
                    messages.append(str(cell))
    return "\n".join(messages)


def test_no_secret_is_anywhere_in_the_data_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    samples = secrets_of_every_rule()
    lines = [{"type": "session.open", "session": "s", "agent": "a", "workspace": "/w"}]
    for number, (text, _) in enumerate(samples):
        lines += [
            {"type": "prompt", "session": "s", "text": f"use this:\n{text}\nplease"},
            {"type": "action", "session": "s", "tool": "Bash", "call_id": str(number),
             "input": {"command": f"cat <<'E'\n{text}\nE"}, "output": {"stdout": text, "lines": [text]},
             "error": f"failed near\n{text}"},
            {"type": "decision", "session": "s", "what": "keep", "why": text, "alternatives": [text]},
            {"type": "fact", "session": "s", "key": f"k{number}", "value": {"said": text}},
            {"type": "evicted", "session": "s", "keys": [f"e{number}"], "summary": text},
        ]  # fmt: skip
    lines += [{"type": "nonsense", "session": text, "secret": text} for text, _ in samples[:50]]
    environment = {"FAZM_MEMORY_HOME": str(home), "FAZM_MEMORY_KEY": "file", "HOME": str(tmp_path)}
    program = [sys.executable, "-m", "fazm_memory.cli.main"]
    done = subprocess.run(
        [*program, "record"],
        input="\n".join(json.dumps(line) for line in lines),
        env=environment | {"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(answer["ok"] for answer in answers) == 1 + 5 * len(samples)
    store = Store(home, key="file")
    try:
        store.index_all()
        messages = readable(store)
        assert messages.count("[REDACTED:") > 4 * len(samples)
        shown = [secret for _, secret in samples if len(secret) > 5 and secret in messages]
    finally:
        store.close()
    assert shown == []
    on_disk = b"\n".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert [secret for _, secret in samples if len(secret) > 5 and secret.encode() in on_disk] == []
