"""The conformance profile: the real server, with the things that the official suite expects to find besides.

The suite tests a protocol, not a memory, and so asks every server for the same tools, resources and prompts.
They are laid over our server here, for the suite alone; all else (transport, guard, handshake, listing,
calling, errors) is what ships. The suite cannot send a token, so each of its requests is given ours before
the guard.
"""

from __future__ import annotations

import json
import socket
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.loopback.guard import App, Guard, Receive, Scope, Send
from fazm_memory.mcp_server.server import MemoryServer, http_app
from tests.e2e.mcp_suites import rounds

Context = ServerRequestContext[Any, Any]
TOKEN = "conformance" * 4
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
NONE: dict[str, Any] = {"type": "object", "properties": {}}
MODERN_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {"$anchor": "address", "type": "object", "properties": {"street": {"type": "string"}}}
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["email", "phone"]},
    },
    "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}, {}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["name"]},
    "else": {},
    "additionalProperties": False,
}
DEFAULTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
TITLED = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
OPTIONS = ["option1", "option2", "option3"]
ENUMS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option 1", "Option 2"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}
WORDS: dict[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}}
TOOLS: dict[str, dict[str, Any]] = {
    "test_simple_text": NONE,
    "test_image_content": NONE,
    "test_audio_content": NONE,
    "test_embedded_resource": NONE,
    "test_multiple_content_types": NONE,
    "test_tool_with_logging": NONE,
    "test_tool_with_progress": NONE,
    "test_error_handling": NONE,
    "test_reconnection": NONE,
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}},
    "test_elicitation_sep1034_defaults": NONE,
    "test_elicitation_sep1330_enums": NONE,
    "json_schema_2020_12_tool": MODERN_SCHEMA,
    "test_missing_capability": NONE,
    "test_streaming_elicitation": NONE,
    "test_logging_tool": NONE,
    "test_header": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
    **rounds.TOOLS,
}
FORMS = {
    "test_elicitation": WORDS,
    "test_elicitation_sep1034_defaults": DEFAULTS,
    "test_elicitation_sep1330_enums": ENUMS,
}
ROUND_PROMPT = "test_input_required_result_prompt"
PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    ROUND_PROMPT: (),
}
TEMPLATE = "test://template/{id}/data"


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PIXEL, mime_type="image/png")


def embedded(uri: str, words: str, mime: str = "text/plain") -> types.EmbeddedResource:
    inside = types.TextResourceContents(uri=uri, mime_type=mime, text=words)
    return types.EmbeddedResource(type="resource", resource=inside)


CONTENT: dict[str, list[Any]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [image()],
    "test_audio_content": [types.AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")],
    "test_embedded_resource": [embedded("test://embedded-resource", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        image(),
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ],
    "json_schema_2020_12_tool": [text("well formed")],
    "test_header": [text("the header and the argument agree")],
}


class Profile(MemoryServer):
    """Our server and, in front of what it has, the suite's fixtures."""

    def __init__(self, memory: Memory, tools: str) -> None:
        super().__init__(memory, tools=tools)
        shipped = self.sdk.get_tool_input_schema
        assert shipped is not None
        self.sdk.get_tool_input_schema = lambda name: TOOLS.get(name) or shipped(name)
        self.sdk.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self.set_level)
        self.sdk.add_request_handler("completion/complete", types.CompleteRequestParams, self.complete)

    async def set_level(self, context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        return types.EmptyResult()

    async def complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        return types.CompleteResult(completion=types.Completion(values=["paris", "park"], total=2))

    async def list_tools(self, context: Context, params: Any) -> types.ListToolsResult:
        ours = await super().list_tools(context, params)
        made = [types.Tool(name=name, description=name, input_schema=given) for name, given in TOOLS.items()]
        return ours.model_copy(update={"tools": [*made, *ours.tools]})

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Any:
        if params.name not in TOOLS:
            return await super().call_tool(context, params)
        if params.name in rounds.TOOLS:
            able = context.session.client_capabilities
            asked = rounds.needed(params.name, params.input_responses, params.request_state, able)
            return asked or types.CallToolResult(content=[text(f"state-ok: {params.input_responses}")])
        if params.name in CONTENT:
            return types.CallToolResult(content=CONTENT[params.name])
        reply = await self.interactive(context, params.name, params.arguments or {})
        return types.CallToolResult(content=[text(reply)], is_error=params.name == "test_error_handling")

    async def interactive(self, context: Context, name: str, given: dict[str, Any]) -> str:
        session, related = context.session, context.request_id
        if name == "test_error_handling":
            return "This tool intentionally returns an error for testing"
        if name == "test_tool_with_progress":
            for done in (0, 50, 100):
                await session.report_progress(done, 100, f"{done} of 100")
        elif name == "test_missing_capability":
            able = session.client_capabilities
            if able is None or able.sampling is None:
                lacking = {"requiredCapabilities": {"sampling": {}}}
                raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "this needs sampling", lacking)
        elif name == "test_streaming_elicitation":
            await session.report_progress(1, 1)
        elif name in ("test_tool_with_logging", "test_logging_tool"):
            for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", MCPDeprecationWarning)  # that is what it tests
                    await session.send_log_message("info", words, related_request_id=related)
        elif name == "test_reconnection":
            if context.close_sse_stream is not None:
                await context.close_sse_stream()
        elif name == "test_sampling":
            asked = types.CreateMessageRequestParams(
                messages=[types.SamplingMessage(role="user", content=text(str(given.get("prompt"))))],
                max_tokens=100,
            )
            answer = await session.send_request(
                types.CreateMessageRequest(params=asked), types.CreateMessageResult
            )
            return f"LLM response: {answer.content}"
        else:
            shown = await session.elicit_form(str(given.get("message", name)), FORMS[name], related)
            return f"Elicitation completed: action={shown.action}, content={json.dumps(shown.content)}"
        return "done"

    async def list_resources(self, context: Context, params: Any) -> types.ListResourcesResult:
        ours = await super().list_resources(context, params)
        made = [
            types.Resource(uri=f"test://{name}", name=name, description=name)
            for name in ("static-text", "static-binary", "watched-resource")
        ]
        return ours.model_copy(update={"resources": [*made, *ours.resources]})

    async def list_templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        ours = await super().list_templates(context, params)
        made = types.ResourceTemplate(uri_template=TEMPLATE, name="template", description="by id")
        return ours.model_copy(update={"resource_templates": [made, *ours.resource_templates]})

    async def read_resource(self, context: Context, params: Any) -> types.ReadResourceResult:
        uri = str(params.uri)
        made: Any
        if uri == "test://static-binary":
            made = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
        elif uri in ("test://static-text", "test://watched-resource", "test://example-resource"):
            words = "This is the content of the static text resource."
            made = types.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
        elif uri.startswith("test://template/"):
            result = json.dumps({"id": uri.split("/")[3], "templateTest": True})
            made = types.TextResourceContents(uri=uri, mime_type="application/json", text=result)
        else:
            return await super().read_resource(context, params)
        return types.ReadResourceResult(contents=[made])

    async def look(self, uri: str) -> object:
        return 0 if uri.startswith("test://") else await super().look(uri)

    async def list_prompts(self, context: Context, params: Any) -> types.ListPromptsResult:
        ours = await super().list_prompts(context, params)
        made = [
            types.Prompt(
                name=name,
                description=name,
                arguments=[types.PromptArgument(name=one, description=one, required=True) for one in given],
            )
            for name, given in PROMPTS.items()
        ]
        return ours.model_copy(update={"prompts": [*made, *ours.prompts]})

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> Any:
        given = params.arguments or {}
        parts: dict[str, list[Any]] = {
            "test_simple_prompt": [text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments": [text(f"Prompt with arguments: {json.dumps(given)}")],
            "test_prompt_with_embedded_resource": [
                embedded(given.get("resourceUri", ""), "Embedded resource content for testing."),
                text("Please process the embedded resource above."),
            ],
            "test_prompt_with_image": [image(), text("Please analyze the image above.")],
            ROUND_PROMPT: [text(f"With this context: {params.input_responses}")],
        }
        if params.name not in parts:
            return await super().get_prompt(context, params)
        if params.name == ROUND_PROMPT and (
            asked := rounds.needed(ROUND_PROMPT, params.input_responses, params.request_state, None)
        ):
            return asked
        replies = [types.PromptMessage(role="user", content=part) for part in parts[params.name]]
        return types.GetPromptResult(messages=replies)


def with_token(app: App) -> App:
    """Every request as if its client knew the token."""

    async def inside(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            known = (b"authorization", f"Bearer {TOKEN}".encode())
            scope = {**scope, "headers": [*scope["headers"], known]}
        await app(scope, receive, send)

    return inside


def main(home: Path, tools: str) -> None:
    """Serve until ended; the first line of stdout is the address."""
    config = Config(home=home, user_home=home / "user", key="file")
    server = Profile(Memory(config, lambda: time.time_ns() // 1000), tools)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        app: Any = with_token(Guard(http_app(server, port=port), token=TOKEN, port=port))
        print(f"http://127.0.0.1:{port}/mcp", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none")).run(sockets=[listener])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
