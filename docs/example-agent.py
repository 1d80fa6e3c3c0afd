"""A small agent: counts the lines of each file of a folder, and goes on where its last run stopped."""

import json
import pathlib
import subprocess
import sys
import time

folder, most = pathlib.Path(sys.argv[1]), int(sys.argv[2])
command = ["fazm-memory", "mcp", "--tools", "full"]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)


def ask(number, method, **params):
    send(id=number, method=method, params=params)
    while (answer := json.loads(server.stdout.readline())).get("id") != number:
        pass  # a notification
    return answer["result"]


def call(tool, /, **arguments):
    result = ask(time.monotonic_ns(), "tools/call", name=tool, arguments=arguments)
    if result.get("isError"):
        raise SystemExit(result["_meta"]["ai.fazm/error"]["error"])
    return result["structuredContent"]


client = {"name": "counter", "version": "1"}
ask(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
send(method="notifications/initialized")
opened = call("session_open", key=f"count {folder}", workspace=str(folder), budget={"actions": 20})
session = opened["session"]
if opened["session_info"]["lifecycle"] in ("paused", "closed"):
    call("session_resume", session=session)
call("message_record", session=session, text="Count the lines of each file.", **{"from": "user"})
state = call("session_state", session=session, keys=["pending_actions", "facts"])
todo = {row["what"]: row["id"] for row in state["pending_actions"]}
if not todo and not state["facts"]:
    files = sorted(path.name for path in folder.iterdir())
    todo = {name: call("pending_add", session=session, what=name)["id"] for name in files}
for name, pending in list(todo.items())[:most]:
    if not call("budget_get", session=session, step={"actions": 1})["fits"]:
        break
    told = {
        "tool": "count",
        "input": {"path": name},
        "files": [{"path": str(folder / name), "change": "read"}],
    }
    try:
        told["output"] = str(len((folder / name).read_text().splitlines()))
        call("fact_record", session=session, key=f"lines of {name}", value=told["output"])
    except UnicodeError as error:
        told["error"] = str(error)
        call("decision_record", session=session, what=f"leave out {name}", why="it is no text")
    call("action_record", session=session, **told)
    call("pending_done", session=session, id=pending)
state = call("session_state", session=session, keys=["pending_actions", "facts"])
left = len(state["pending_actions"])
call("session_pause" if left else "session_close", session=session, reason=f"{left} left")
print(json.dumps({name: row["value"] for name, row in sorted(state["facts"].items())}), f"{left} left")
