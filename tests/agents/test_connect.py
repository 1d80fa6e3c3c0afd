"""Joining an agent and leaving it again: ours goes in and comes out, and nothing of the user's changes."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from fazm_memory.agents.base import MCP_ONLY, Places
from fazm_memory.agents.config_edit import add_table, remove_table
from fazm_memory.agents.connect import (
    ConnectPlan,
    agent_status,
    apply_plan,
    connected_agents,
    plan_connect,
    plan_disconnect,
)
from fazm_memory.agents.connect_settings import ConnectOptions
from fazm_memory.errors import ConfigError, Conflict, InvalidInput, NotFound

USERS_HOOK = {"matcher": "Bash", "hooks": [{"type": "command", "command": "~/bin/lint.sh"}]}
PRETTY = json.dumps(
    {"permissions": {"allow": ["Bash"]}, "hooks": {"PreToolUse": [USERS_HOOK], "Stop": [USERS_HOOK]}},
    indent=2,
)
SERVERS = {"mcpServers": {"ledger": {"command": "ledger", "args": []}}, "theme": "dark"}

# Ten shapes that a settings.json may have, and some more.
JSON_SHAPES: dict[str, bytes | None] = {
    "not there": None,
    "empty": b"",
    "an empty object": b"{}",
    "an empty object on two lines": b"{\n}\n",
    "pretty, without hooks": json.dumps(SERVERS, indent=2).encode() + b"\n",
    "pretty, with hooks of the user's": PRETTY.encode(),
    "tabs": PRETTY.replace("  ", "\t").encode() + b"\n",
    "four spaces and no end of line": json.dumps(json.loads(PRETTY), indent=4).encode(),
    "one line": json.dumps(json.loads(PRETTY), separators=(",", ":")).encode(),
    "line ends of another system": PRETTY.replace("\n", "\r\n").encode(),
    "a byte order mark": b"\xef\xbb\xbf" + PRETTY.encode(),
    "comments and trailing commas": b'{\n  // mine\n  "hooks": {\n    "PreToolUse": [], // later\n  },\n}\n',
    "hooks that are empty": b'{\n  "hooks": {},\n  "mcpServers": { }\n}\n',
    "odd order, blank lines": '{\n\n  "z": "ж",\n\n\n  "hooks" : {"Stop":[]} ,"a":1\n}\n\n'.encode(),
}
TOML_SHAPES: dict[str, bytes | None] = {
    "not there": None,
    "empty": b"",
    "tables": b'model = "x"\n\n[mcp_servers.ledger]\ncommand = "ledger"\n\n[tui]\ntheme = "dark"\n',
    "comments and no end of line": b"# mine\n[features] # here\nplugins = false # why",
    "line ends of another system": b'model = "x"\r\n[tui]\r\na = 1\r\n',
    "dotted keys": b'mcp_servers.ledger.command = "ledger"\n',
    "texts that look like tables": b'notes = """\n[mcp_servers.fazm-memory]\ncommand = 1\n"""\n',
}
HOOKS_YAML = "hooks_auto_accept: true\nhooks:\n  pre_llm_call: [{command: mine.sh}]  # mine\n"
YAML_SHAPES: dict[str, bytes | None] = {
    "not there": None,
    "empty": b"",
    "other sections": b"# mine\nmodel:\n  default: x  # why\n  list:\n  - a\n\ntheme: dark\n",
    "no end of line": b"model:\n  default: x",
    "a start of the document": b"---\nmodel: x\n",
    "line ends of another system": b"model:\r\n  default: x\r\n",
    "sections that are empty": b"hooks: {}\nmcp_servers:\nextensions: {}  # none\ntheme: dark\n",
    "servers and hooks of the user's": (
        b"mcp_servers:\n    ledger:\n        command: ledger\n        args: [a]\nextensions:\n"
        b"    developer:\n        enabled: true\nhooks:\n    pre_llm_call:\n    - command: mine.sh\n"
        b"      timeout: 3\n    on_session_end:\n    - command: end.sh\n\n# the end\n"
    ),
    "hooks on one line": HOOKS_YAML.encode(),
    "texts that look like sections": b"note: |\n  mcp_servers:\n    fazm-memory: 1\ntheme: dark\n",
}


class Machine:
    """A made-up home with every agent in it."""

    def __init__(self, folder: Path) -> None:
        self.user = folder / "user"
        for name in FOLDERS:
            (self.user / name).mkdir(parents=True)
        server = ("/opt/Fazm Memory/bin/fazm-memory", "mcp")
        self.options = ConnectOptions(
            Places(self.user), folder / "Application Support" / "Fazm Memory", server
        )
        self.stamps = 0

    def write(self, name: str, data: bytes | None) -> Path:
        path = self.user / name
        if data is not None:
            path.write_bytes(data)
        return path

    def connect(self, agent: str) -> ConnectPlan:
        return self._do(plan_connect(agent, self.options))

    def disconnect(self, agent: str) -> ConnectPlan:
        return self._do(plan_disconnect(agent, self.options))

    def _do(self, plan: ConnectPlan) -> ConnectPlan:
        self.stamps += 1
        apply_plan(plan, self.options, stamp=f"stamp-{self.stamps}")
        return plan

    def files(self) -> dict[str, bytes]:
        found = (path for path in self.user.rglob("*") if path.is_file())
        return {str(path.relative_to(self.user)): path.read_bytes() for path in found}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


FOLDERS = (
    ".claude", ".codex", ".gemini/antigravity-cli", ".gemini/config", ".fazm", ".copilot", ".qwen", ".cursor",
    ".cline/data/settings", ".hermes", ".openclaw", ".config/goose",
)  # fmt: skip
FILES = {
    "claude-code": [(".claude/settings.json", JSON_SHAPES), (".claude.json", JSON_SHAPES)],
    "codex": [(".codex/hooks.json", JSON_SHAPES), (".codex/config.toml", TOML_SHAPES)],
    "gemini": [(".gemini/settings.json", JSON_SHAPES)],
    "fazm": [(".fazm/mcp-servers.json", JSON_SHAPES), (".claude/settings.json", JSON_SHAPES)],
    "copilot": [(".copilot/mcp-config.json", JSON_SHAPES)],
    "qwen": [(".qwen/settings.json", JSON_SHAPES)],
    "cursor": [(".cursor/hooks.json", JSON_SHAPES), (".cursor/mcp.json", JSON_SHAPES)],
    "cline": [(".cline/data/settings/cline_mcp_settings.json", JSON_SHAPES)],
    "openclaw": [(".openclaw/openclaw.json", JSON_SHAPES)],
    "antigravity": [(".gemini/config/mcp_config.json", JSON_SHAPES)],
    "hermes": [(".hermes/config.yaml", YAML_SHAPES)],
    "goose": [(".config/goose/config.yaml", YAML_SHAPES)],
}
CASES = [
    pytest.param(agent, name, data, id=f"{agent}: {name}: {shape}")
    for agent, files in FILES.items()
    for name, shapes in files
    for shape, data in shapes.items()
]


@pytest.mark.parametrize(("agent", "name", "data"), CASES)
def test_connect_then_disconnect_restores_every_byte(
    machine: Machine, agent: str, name: str, data: bytes | None
) -> None:
    machine.write(name, data)
    before = machine.files()

    machine.connect(agent)
    joined = agent_status(agent, machine.options)
    again = machine.connect(agent)
    machine.disconnect(agent)

    assert (joined.hooks, joined.mcp, joined.trouble) == (agent not in MCP_ONLY, True, None)
    assert again.edits == ()
    assert machine.files() == before
    assert connected_agents(machine.options.home) == []


@pytest.mark.parametrize(("agent", "name", "data"), CASES)
def test_the_users_own_part_is_as_it_was_while_connected(
    machine: Machine, agent: str, name: str, data: bytes | None
) -> None:
    path = machine.write(name, data)
    before = _meaning(path, data or b"")

    machine.connect(agent)

    # Cursor reads a file of hooks only with a version.
    new = {"version": 1} if name == ".cursor/hooks.json" and not data else {}
    assert _without_ours(_meaning(path, path.read_bytes())) == _without_ours(before) | new


def _meaning(path: Path, data: bytes) -> dict[str, Any]:
    if path.suffix == ".toml":
        return tomllib.loads(data.decode())
    if path.suffix == ".yaml":
        return dict(yaml.safe_load(data) or {})
    text = data.decode("utf-8-sig")
    text = "\n".join(line.split("//")[0] if '"command"' not in line else line for line in text.splitlines())
    for _ in range(3):
        text = text.replace(",\n  }", "\n  }").replace(",\n}", "\n}").replace(", \n  }", "\n  }")
    return dict(json.loads(text or "{}"))


def _without_ours(value: Any) -> Any:
    """The configuration without our entries and the containers that hold nothing else."""
    if isinstance(value, dict):
        kept = {name: _without_ours(one) for name, one in value.items() if name != "fazm-memory"}
        return {name: one for name, one in kept.items() if one not in ({}, [], None)}
    if isinstance(value, list):
        return [_without_ours(one) for one in value if "fazm-memory-hook" not in json.dumps(one)]
    return value


@pytest.mark.parametrize("agent", [agent for agent in FILES if FILES[agent][0][1] is JSON_SHAPES])
def test_what_the_user_adds_meanwhile_stays_when_we_go(machine: Machine, agent: str) -> None:
    name, shapes = FILES[agent][0]
    path = machine.write(name, shapes["pretty, with hooks of the user's"])
    machine.connect(agent)
    text = path.read_text()
    path.write_text(text.replace('"permissions"', '"new": [1, 2],\n  "permissions"'))

    machine.disconnect(agent)

    assert path.read_text() == PRETTY.replace('"permissions"', '"new": [1, 2],\n  "permissions"')


def test_our_lines_go_from_a_yaml_file_that_the_agent_has_written_anew(machine: Machine) -> None:
    theirs = {
        "hooks": {"pre_llm_call": [{"command": "mine.sh"}]},
        "mcp_servers": {"ledger": {"command": "l"}},
    }
    path = machine.write(".hermes/config.yaml", yaml.safe_dump(theirs).encode())
    machine.connect("hermes")
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"theme": "dark"}, width=40))
    assert "fazm-memory-hook" in path.read_text()

    machine.disconnect("hermes")

    assert yaml.safe_load(path.read_text()) == theirs | {"theme": "dark"}


def test_a_hook_of_the_users_own_stays_where_cline_has_room_for_one(machine: Machine) -> None:
    own = machine.user / ".cline" / "hooks" / "PreToolUse"
    own.parent.mkdir()
    own.write_text("#!/bin/sh\necho mine\n")

    plan = machine.connect("cline")

    assert own.read_text() == "#!/bin/sh\necho mine\n"
    assert any("hook of your own" in note for note in plan.notes)
    assert agent_status("cline", machine.options).mcp


def test_the_script_that_cline_runs_is_executable(machine: Machine) -> None:
    machine.connect("cline")
    script = machine.user / ".cline" / "hooks" / "PreToolUse"
    assert script.stat().st_mode & 0o777 == 0o700


def test_folders_that_we_made_for_our_files_go_too(machine: Machine) -> None:
    machine.connect("antigravity")
    plugin = machine.user / ".gemini" / "config" / "plugins" / "fazm-memory"
    assert json.loads((plugin / "plugin.json").read_text())["name"] == "fazm-memory"
    machine.disconnect("antigravity")
    assert not plugin.exists()


def test_a_file_of_ours_alone_goes_even_when_the_agent_has_rewritten_it(machine: Machine) -> None:
    machine.connect("claude-code")
    path = machine.user / ".claude.json"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=8))

    machine.disconnect("claude-code")

    assert not path.exists()


def test_a_file_we_made_and_the_user_went_on_with_stays(machine: Machine) -> None:
    machine.connect("codex")
    config = machine.user / ".codex" / "config.toml"
    config.write_text(config.read_text() + '\n# mine\n[tui]\ntheme = "dark"\n')

    machine.disconnect("codex")

    assert config.read_text() == '\n# mine\n[tui]\ntheme = "dark"\n'
    assert not (machine.user / ".codex" / "hooks.json").exists()


def test_what_a_user_reported_about_our_server_goes_with_it(machine: Machine) -> None:
    config = machine.write(".codex/config.toml", b'model = "x"\n')
    machine.connect("codex")
    config.write_text(
        config.read_text() + '[mcp_servers.fazm-memory.tools.x]\napproval = "auto"\n\n[tui]\na = 1\n'
    )
    assert agent_status("codex", machine.options).mcp

    machine.disconnect("codex")

    assert config.read_text() == 'model = "x"\n\n[tui]\na = 1\n'


def test_our_command_in_an_entry_of_the_users_own_is_taken_out_of_it(machine: Machine) -> None:
    path = machine.write(".claude/settings.json", PRETTY.encode())
    machine.connect("claude-code")
    value = json.loads(path.read_text())
    ours = value["hooks"]["Stop"] = [*value["hooks"]["PreToolUse"].pop()["hooks"]]
    value["hooks"]["Stop"] = [{"hooks": [*USERS_HOOK["hooks"], *ours]}]
    path.write_text(json.dumps(value))

    machine.disconnect("claude-code")

    left = json.loads(path.read_text())["hooks"]
    assert left == {"PreToolUse": [USERS_HOOK], "Stop": [{"hooks": USERS_HOOK["hooks"]}]}


def test_connecting_again_after_an_update_replaces_our_part_and_still_goes_back_to_the_first(
    machine: Machine,
) -> None:
    path = machine.write(".claude/settings.json", PRETTY.encode())
    machine.connect("claude-code")
    machine.options = replace(machine.options, server=("/new/place/fazm-memory", "mcp"))

    assert not agent_status("claude-code", machine.options).mcp
    assert [edit.path.name for edit in machine.connect("claude-code").edits] == [".claude.json"]
    machine.disconnect("claude-code")

    assert path.read_bytes() == PRETTY.encode()
    assert not (machine.user / ".claude.json").exists()


def test_going_back_never_brings_back_an_older_part_of_ours(machine: Machine, tmp_path: Path) -> None:
    path = machine.write(".claude/settings.json", PRETTY.encode())
    machine.connect("claude-code")
    path.write_text(path.read_text().replace('"permissions"', '"new": 1, "permissions"'))
    machine.options = replace(machine.options, places=Places(machine.user, {}), home=tmp_path / "moved")
    machine.connect("claude-code")

    machine.disconnect("claude-code")

    assert path.read_text() == PRETTY.replace('"permissions"', '"new": 1, "permissions"')


def test_every_file_is_backed_up_before_it_is_touched(machine: Machine) -> None:
    machine.write(".claude/settings.json", PRETTY.encode())

    machine.connect("claude-code")

    backups = machine.options.home / "backups"
    assert {path.name: path.read_bytes() for path in backups.iterdir()} == {
        "stamp-1-claude-code-settings.json": PRETTY.encode()
    }
    assert (backups / "stamp-1-claude-code-settings.json").stat().st_mode & 0o777 == 0o600


def test_the_edit_can_be_shown_before_it_is_made(machine: Machine) -> None:
    path = machine.write(".claude/settings.json", PRETTY.encode())

    plan = plan_connect("claude-code", machine.options)

    added = [line[1:] for line in plan.edits[0].diff().splitlines() if line.startswith("+")]
    assert sum("fazm-memory-hook" in line for line in added) == 8
    assert path.read_bytes() == PRETTY.encode()


def test_fazm_and_claude_code_share_hooks_and_the_last_to_leave_takes_them(machine: Machine) -> None:
    path = machine.write(".claude/settings.json", PRETTY.encode())
    machine.connect("claude-code")
    machine.connect("fazm")

    machine.disconnect("claude-code")
    assert (
        agent_status("fazm", machine.options).hooks,
        agent_status("claude-code", machine.options).mcp,
    ) == (
        True,
        False,
    )

    machine.disconnect("fazm")
    assert path.read_bytes() == PRETTY.encode()
    assert not (machine.options.home / "hooks").exists()


def test_links_and_permissions_stay_as_they_are(machine: Machine, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_bytes(PRETTY.encode())
    real.chmod(0o644)
    path = machine.user / ".claude" / "settings.json"
    path.symlink_to(real)

    machine.connect("claude-code")

    assert path.is_symlink()
    assert "fazm-memory-hook" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o644
    machine.disconnect("claude-code")
    assert real.read_bytes() == PRETTY.encode()


@pytest.mark.parametrize(
    ("agent", "name", "data"),
    [
        ("claude-code", ".claude/settings.json", b'{"hooks": '),
        ("claude-code", ".claude/settings.json", b'{"hooks": []}'),
        ("claude-code", ".claude/settings.json", b"[]"),
        ("claude-code", ".claude.json", b'{"mcpServers": 3}'),
        ("codex", ".codex/config.toml", b"[broken"),
        ("codex", ".codex/config.toml", b'mcp_servers = { a = { command = "b" } }\n'),
        ("codex", ".codex/config.toml", b"mcp_servers = 3\n"),
        ("openclaw", ".openclaw/openclaw.json", b"{mcp: {}}"),
        ("hermes", ".hermes/config.yaml", b"mcp_servers: {a: {command: b}}\n"),
        ("hermes", ".hermes/config.yaml", b"hooks:\n\tpre_llm_call: []\n"),
        ("hermes", ".hermes/config.yaml", b"hooks:\n  pre_llm_call: [\n    {command: a}]\n"),
        ("goose", ".config/goose/config.yaml", b"a: 1\n---\nb: 2\n"),
        ("goose", ".config/goose/config.yaml", b"- a\n- b\n"),
    ],
)
def test_what_cannot_be_edited_safely_is_refused_and_untouched(
    machine: Machine, agent: str, name: str, data: bytes
) -> None:
    machine.write(name, data)
    before = machine.files()

    with pytest.raises(ConfigError, match="Nothing was changed"):
        machine.connect(agent)

    assert machine.files() == before


def test_a_file_that_changes_under_the_plan_is_not_touched(machine: Machine) -> None:
    path = machine.write(".claude/settings.json", PRETTY.encode())
    plan = plan_connect("claude-code", machine.options)
    path.write_text("{}")

    with pytest.raises(Conflict):
        apply_plan(plan, machine.options, stamp="s")

    assert path.read_text() == "{}"


def test_an_agent_that_is_not_here_is_reported_to_be_so(machine: Machine) -> None:
    (machine.user / ".codex").rmdir()

    with pytest.raises(NotFound, match="not found on this machine"):
        machine.connect("codex")
    with pytest.raises(InvalidInput):
        machine.connect("opencode")


def test_codex_is_joined_with_how_to_trust_its_hooks(machine: Machine) -> None:
    assert any("/hooks" in note and "trust" in note for note in machine.connect("codex").notes)


def test_hooks_that_the_user_has_switched_off_are_reported_to_be_so(machine: Machine) -> None:
    machine.write(".claude/settings.json", b'{"disableAllHooks":true}')

    assert any("disableAllHooks" in note for note in machine.connect("claude-code").notes)


def test_a_table_goes_into_toml_and_out_of_it() -> None:
    text = "[a]\nb = 1\n"
    longer = add_table(text, ("mcp_servers", "x"), {"command": "c d", "args": ["é"], "env": {"A": "b"}})

    assert tomllib.loads(longer)["mcp_servers"]["x"] == {"command": "c d", "args": ["é"], "env": {"A": "b"}}
    assert remove_table(longer, ("mcp_servers", "x")) == text


# -- the tool set and the days that transcripts are kept --------------------------------------------------


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini", "fazm"])
def test_the_tool_set_is_written_kept_and_taken_back(machine: Machine, agent: str) -> None:
    before = machine.files()
    machine.connect(agent)
    assert not any(b"--tools" in data for data in machine.files().values())
    options = machine.options
    machine.options = replace(options, tools="full")
    machine.connect(agent)
    assert any(b'"--tools"' in data for data in machine.files().values())
    machine.options = options
    assert machine.connect(agent).edits == ()  # the choice stays
    assert agent_status(agent, options).mcp
    machine.options = replace(options, tools="small")
    machine.connect(agent)
    assert not any(b"--tools" in data for data in machine.files().values())
    machine.options = options
    machine.disconnect(agent)
    assert machine.files() == before


def test_permission_rules_for_tools_of_the_full_set_are_named(machine: Machine) -> None:
    rules = ["mcp__fazm-memory__session_open", "mcp__fazm-memory__memory_search", "Bash"]
    machine.write(".claude/settings.json", json.dumps({"permissions": {"allow": rules}}).encode())
    notes = " ".join(machine.connect("claude-code").notes)
    assert "session_open" in notes
    assert "memory_search" not in notes


@pytest.mark.parametrize("number", [None, 60])
@pytest.mark.parametrize("edited", [False, True])
def test_the_days_that_transcripts_are_kept_are_raised_and_put_back(
    machine: Machine, number: int | None, edited: bool
) -> None:
    settings = {"theme": "dark"} | ({} if number is None else {"cleanupPeriodDays": number})
    path = machine.write(".claude/settings.json", json.dumps(settings, indent=2).encode())
    machine.connect("claude-code")
    assert json.loads(path.read_text()).get("cleanupPeriodDays") == number
    machine.options = replace(machine.options, keep_days=3650)
    plan = machine.connect("claude-code")
    assert "cleanupPeriodDays" in plan.edits[0].diff()
    assert json.loads(path.read_text())["cleanupPeriodDays"] == 3650
    machine.options = replace(machine.options, keep_days=None)
    machine.connect("claude-code")
    assert json.loads(path.read_text())["cleanupPeriodDays"] == 3650
    if edited:
        path.write_text(path.read_text().replace("dark", "light"))
    machine.disconnect("claude-code")
    wanted = settings | ({"theme": "light"} if edited else {})
    assert json.loads(path.read_text()) == wanted


def test_the_stop_hook_is_there_only_if_a_note_is_wanted(machine: Machine) -> None:
    path = machine.user / ".claude" / "settings.json"
    machine.connect("claude-code")
    assert "Stop" not in json.loads(path.read_bytes())["hooks"]
    machine.options = replace(machine.options, ask_for_note=True)
    machine.connect("claude-code")
    assert "Stop" in json.loads(path.read_bytes())["hooks"]
    machine.options = replace(machine.options, ask_for_note=False)
    machine.disconnect("claude-code")
    assert not path.exists() or "hooks" not in json.loads(path.read_bytes())
