"""An ACP agent made with the protocol's own Python SDK. It lists two sessions and replays them."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

acp: Any = importlib.import_module("acp")
schema: Any = importlib.import_module("acp.schema")


class Agent:
    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **more: Any) -> Any:
        return schema.InitializeResponse(
            protocol_version=1,
            agent_info=schema.Implementation(name="birdwatch", version="1"),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                session_capabilities=schema.SessionCapabilities(list=schema.SessionListCapabilities()),
            ),
        )

    async def list_sessions(self, cursor: str | None = None, **more: Any) -> Any:
        name = "second" if cursor else "first"
        about = schema.SessionInfo(
            session_id=name, cwd="/w/birds", title=f"The {name} walk", updated_at="2026-03-04T10:00:00Z"
        )
        return schema.ListSessionsResponse(sessions=[about], next_cursor=None if cursor else "more")

    async def load_session(self, cwd: str, session_id: str, **more: Any) -> Any:
        updates: list[Any] = [
            acp.update_user_message_text("Count the "),
            acp.update_user_message_text("herons."),
            acp.update_agent_thought_text("Birds."),
            acp.update_agent_message_text("I look."),
            acp.start_tool_call("c1", "bash", kind="execute", raw_input={"command": "touch herons.txt"}),
            acp.update_tool_call("c1", status="completed", raw_output="done"),
            acp.start_tool_call("c2", "read", kind="read", raw_input={"path": "none"}),
            acp.update_tool_call(
                "c2", status="failed", content=[acp.tool_content(acp.text_block("no such file"))]
            ),
            acp.update_agent_message_text("Nineteen."),
        ]
        for update in updates:
            await self.client.session_update(session_id=session_id, update=update)
        return schema.LoadSessionResponse()


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Agent()))
