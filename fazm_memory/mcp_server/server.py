"""The MCP server on the official SDK: tools, resources, prompts, both transports.

The memory is used from one worker thread, so calls never interleave and the event loop keeps answering pings.
The store opens with the first call, so that `initialize` does not wait for it.

A question to the user is shown as a form if the client supports forms (elicitation). It is recorded first, so
it stays open if the form fails. The person at the client fills in the form, not the model. But only the
client says so, therefore the answer has the trust of an agent, not of the user. A declined or dismissed form
answers nothing.

Other processes write to the same store, so it is checked once a second while clients subscribe to resources.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from fazm_memory import __version__
from fazm_memory.app import Memory
from fazm_memory.errors import FazmMemoryError, InvalidInput
from fazm_memory.events import FORM_SOURCE
from fazm_memory.loopback import BODY, LOOPBACK
from fazm_memory.mcp_server import calls, resources
from fazm_memory.mcp_server import resources as prompts
from fazm_memory.mcp_server.calls import (
    PAGE,
    TOOLS_BY_SET,
    HostAgent,
    from_environment,
    prompt_listing,
    template_listing,
    tool_listing,
)
from fazm_memory.mcp_server.stdio import ABOUT, INSTRUCTIONS, NAME, TITLE, Preload
from fazm_memory.mcp_server.tool import (
    SMALL,
    SOURCE,
    Caller,
    ToolResult,
    decode_cursor,
    encode_cursor,
    harmless,
    session_answer,
)
from fazm_memory.recall import quote
from fazm_memory.text import sentence

if TYPE_CHECKING:
    from starlette.applications import Starlette


# Subscriptions to resources

PAUSE = 1.0  # seconds between two checks
Context = ServerRequestContext[Any, Any]
Look = Callable[[str], Awaitable[object]]


class ResourceSubscriptions:
    """`look` returns a value for a URI that differs after the resource has changed."""

    def __init__(self, look: Look, pause: float = PAUSE) -> None:
        self.look = look
        self.pause = pause
        self.bus = InMemorySubscriptionBus()
        self.streams = ListenHandler(self.bus)
        self.watched: Counter[str] = Counter()
        self.last: dict[str, object] = {}
        self.clients: dict[tuple[int, str], ServerSession] = {}
        self.task: asyncio.Task[None] | None = None

    # -- clients with a handshake ------------------------------------------------------------------------

    async def subscribe(self, context: Context, uri: str) -> None:
        client = (_connection(context), uri)
        if client not in self.clients:
            await self._begin(uri)
            self.clients[client] = context.session

    def unsubscribe(self, context: Context, uri: str) -> None:
        if self.clients.pop((_connection(context), uri), None) is not None:
            self._end(uri)

    # -- clients without a handshake: the answer to their request is a stream -----------------------------

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        wanted = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))
        begun: list[str] = []
        try:
            for uri in wanted:
                await self._begin(uri)
                begun.append(uri)
            return await self.streams(context, params)
        finally:
            for uri in begun:
                self._end(uri)

    # -- checks ------------------------------------------------------------------------------------------

    async def _begin(self, uri: str) -> None:
        if not self.watched[uri]:
            self.last[uri] = await self.look(uri)
        self.watched[uri] += 1
        if self.task is None or self.task.done():
            self.task = asyncio.get_running_loop().create_task(self._check_repeatedly())

    def _end(self, uri: str) -> None:
        self.watched[uri] -= 1
        if not self.watched[uri]:
            del self.watched[uri], self.last[uri]

    async def _check_repeatedly(self) -> None:
        while self.watched:
            await asyncio.sleep(self.pause)
            await self.check()

    async def check(self) -> None:
        """Notify the subscribers of every resource that has changed since the last check."""
        for uri in list(self.watched):
            now = await self.look(uri)
            if uri in self.last and self.last[uri] != now:
                self.last[uri] = now
                await self._notify(uri)

    async def _notify(self, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri=uri))
        for (_, wanted), session in list(self.clients.items()):
            if wanted == uri:
                await session.send_resource_updated(uri)


def _connection(context: Context) -> int:
    """The connection of a request.

    The SDK keeps one object of handshake parameters per connection.
    """
    return id(context.session.client_params)


# Questions to the user as forms

FIELD = "answer"  # the name of the form, and of its only field
SIMPLE = frozenset({"string", "number", "integer", "boolean"})


def can_ask(context: Context) -> bool:
    """Whether the client supports forms."""
    capabilities = context.session.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


def is_for_person(args: Mapping[str, Any]) -> bool:
    return bool(args.get("to", "human") == "human")


def form_message(args: Mapping[str, Any]) -> str:
    return str(args["note"] if "note" in args else args["text"])


def form_schema(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """The schema of a form.

    Forms are flat, so for a nested answer the person enters text.
    """
    schema = schema or {}
    fields = schema.get("properties")
    if isinstance(fields, dict) and fields and all(_simple(field) for field in fields.values()):
        required = [name for name in schema.get("required", ()) if name in fields]
        return {"type": "object", "properties": fields, "required": required}
    only = dict(schema) if _simple(schema) else {"type": "string", "title": "Answer"}
    return {"type": "object", "properties": {FIELD: only}, "required": [FIELD]}


def _simple(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") in SIMPLE


def form_state(session: str, question: str) -> str:
    """What a stateless client sends back with the answer. The SDK signs it."""
    return json.dumps([session, question])


def read_form_state(state: str) -> tuple[str, str]:
    session, question = json.loads(state)
    return session, question


def form_answer(result: types.ElicitResult) -> Any:
    """What the person entered, or None if the form was declined or dismissed."""
    if result.action != "accept" or not result.content:
        return None
    return result.content[FIELD] if set(result.content) == {FIELD} else dict(result.content)


# The server

EXTENSION = "ai.fazm/session-state"
EXTENSION_VERSION = "1"
BEAT = 1.0  # seconds between two progress notifications
log = logging.getLogger(__name__)
T = TypeVar("T")
Item = TypeVar("Item")


class MemoryServer:
    """One memory behind the protocol.

    `close` ends the worker thread and closes the store.
    """

    def __init__(
        self,
        memory: Memory,
        host: HostAgent | None = None,
        *,
        tools: str = SMALL,
        connection: str | None = None,
    ) -> None:
        self.memory = memory
        self.tool_set, self.tools = tools, TOOLS_BY_SET[tools]
        self.connection = connection
        self.host = host or HostAgent()
        self.worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory")
        self.subscriptions = ResourceSubscriptions(self.look)
        self.sdk: Server[Any] = Server(
            NAME,
            version=__version__,
            title=TITLE,
            description=ABOUT,
            instructions=INSTRUCTIONS[tools],
            get_tool_input_schema=lambda name: self.tools[name].input_schema if name in self.tools else None,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_subscribe_resource=self.subscribe,
            on_unsubscribe_resource=self.unsubscribe,
            on_subscriptions_listen=self.subscriptions.listen,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
        )
        # The state that a client sends back between two rounds of a call must be ours and unchanged.
        security = RequestStateSecurity.ephemeral()
        self.sdk.middleware.append(RequestStateBoundary(security, default_audience=NAME))
        self.sdk.extensions[EXTENSION] = {"version": EXTENSION_VERSION}

    def close(self) -> None:
        self.worker.submit(self.memory.close).result()
        self.worker.shutdown()

    async def _in_worker(self, work: Callable[[], T]) -> T:
        """Run `work` in the worker thread.

        Once started it is finished, even if the call is cancelled.
        """
        return await asyncio.get_running_loop().run_in_executor(self.worker, work)

    async def _with_progress(self, context: Context, work: Callable[[], T]) -> T:
        """Run `work` in the worker thread and report progress.

        The client would give up otherwise.
        """
        running = asyncio.ensure_future(self._in_worker(work))
        beats = 0
        try:
            while not (await asyncio.wait({running}, timeout=BEAT))[0]:
                beats += 1
                await context.session.report_progress(beats * BEAT, message="Still working.")
        except asyncio.CancelledError:
            running.cancel()
            raise
        return running.result()

    def _caller(self, context: Context) -> Caller:
        client = context.session.client_params
        name = client.client_info.name if client else None
        return calls.caller_of(
            self.memory, self.host, name, connection=self.connection, tool_set=self.tool_set
        )

    # -- tools -------------------------------------------------------------------------------------------

    async def list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        page, following = _page(list(self.tools.values()), params)
        return types.ListToolsResult(
            tools=[types.Tool.model_validate(tool_listing(tool)) for tool in page], next_cursor=following
        )

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = self.tools.get(params.name)
        if tool is None:
            raise MCPError(
                types.INVALID_PARAMS, f'No tool is named "{params.name[:60]}". tools/list shows all tools.'
            )
        caller, args = self._caller(context), params.arguments or {}
        asks = calls.is_handoff(tool.name, args)
        if asks and params.request_state is not None:
            return await self._answered(params.request_state, params.input_responses or {})
        result = await self._with_progress(context, lambda: _result(calls.run_tool(tool, caller, args)))
        if asks and is_for_person(args) and not result.is_error:
            return await self._ask(context, args, result)
        return result

    async def _ask(
        self, context: Context, args: dict[str, Any], recorded: types.CallToolResult
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Show the user a question that was just recorded.

        Only if the client supports forms.
        """
        if not can_ask(context):
            return recorded
        data: dict[str, Any] = recorded.structured_content
        session, question = data["session"], data["question"]
        note, form = form_message(args), form_schema(args.get("answer_schema"))
        if context.session.can_send_request:
            answer = await context.session.elicit_form(note, form, related_request_id=context.request_id)
            return await self._in_worker(lambda: self._handoff_result(session, question, answer))
        shown = types.ElicitRequest(params=types.ElicitRequestFormParams(message=note, requested_schema=form))
        return types.InputRequiredResult(
            input_requests={FIELD: shown}, request_state=form_state(session, question)
        )

    async def _answered(self, state: str, responses: types.InputResponses) -> types.CallToolResult:
        session, question = read_form_state(state)
        answer = responses.get(FIELD)
        if not isinstance(answer, types.ElicitResult):
            answer = types.ElicitResult(action="cancel")
        return await self._in_worker(lambda: self._handoff_result(session, question, answer))

    def _handoff_result(
        self, session: str, question: str, answer: types.ElicitResult
    ) -> types.CallToolResult:
        """The result of a handoff after the form was shown.

        The question is already recorded. If its answer cannot be recorded, that is text and not an error:
        after an error an agent would ask again.
        """
        memory = self.memory
        reply, wrong = form_answer(answer), None
        try:
            if reply is not None:
                memory.sessions.answer(session, question, reply, source=SOURCE, door=FORM_SOURCE)
        except FazmMemoryError as error:
            wrong = error.message
        try:
            row = memory.sessions.get(session)
        except FazmMemoryError as error:
            tool = self.tools[calls.HANDOFF_TOOLS[self.tool_set]]
            caller = Caller(memory, tool_set=self.tool_set)
            return _result(calls.failure(calls.error_data(error, tool, caller, {"session": session})))
        answered = reply is not None and wrong is None
        shown = {"question": question, "shown": True, "reply": reply, "answered": answered}
        data = session_answer(row) | shown
        outcome = (
            "was shown and not answered." if reply is None else f"was answered: {quote(str(reply), 2000)}."
        )
        if wrong is not None:
            outcome += f" The answer could not be recorded: {quote(wrong, 500)}."
        if not answered:
            outcome += " The state of the session lists it under open_questions while it is open."
        text = f"Question {question} of session {session} {outcome}"
        return _result(calls.success(ToolResult(data, text)))

    # -- resources ---------------------------------------------------------------------------------------

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        caller, args = self._caller(context), params.cursor if params else None
        rows, following = await self._in_worker(
            lambda: _or_protocol_error(lambda: resources.listing(caller, args))
        )
        return types.ListResourcesResult(
            resources=[types.Resource.model_validate(row) for row in rows], next_cursor=following
        )

    async def list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        page, following = _page(resources.TEMPLATES, params)
        templates = [types.ResourceTemplate.model_validate(template_listing(template)) for template in page]
        return types.ListResourceTemplatesResult(resource_templates=templates, next_cursor=following)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        caller, uri = self._caller(context), str(params.uri)
        mime, text = await self._in_worker(lambda: _or_protocol_error(lambda: resources.read(caller, uri)))
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type=mime, text=text)]
        )

    async def look(self, uri: str) -> object:
        caller = Caller(self.memory)
        return await self._in_worker(lambda: _or_protocol_error(lambda: resources.version_mark(caller, uri)))

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        await self.subscriptions.subscribe(context, str(params.uri))
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        self.subscriptions.unsubscribe(context, str(params.uri))
        return types.EmptyResult()

    # -- prompts -----------------------------------------------------------------------------------------

    async def list_prompts(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        page, following = _page(list(prompts.PROMPTS), params)
        listed = [types.Prompt.model_validate(prompt_listing(name)) for name in page]
        return types.ListPromptsResult(prompts=listed, next_cursor=following)

    async def get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        caller, args = self._caller(context), dict(params.arguments or {})
        text = await self._in_worker(
            lambda: _or_protocol_error(lambda: prompts.get(caller, params.name, args))
        )
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(
            description=prompts.PROMPTS[params.name]["description"], messages=[message]
        )


def _result(answer: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult.model_validate(answer)


def _or_protocol_error(work: Callable[[], T]) -> T:
    """Turn our errors into errors of the protocol, for resources and prompts."""
    try:
        return work()
    except FazmMemoryError as error:
        text = f"{sentence(error.message)} {error.hint}" if error.hint else error.message
        code = types.INTERNAL_ERROR if type(error) not in calls.NEXT_STEP else types.INVALID_PARAMS
        raise MCPError(code, harmless(text), error.to_json()) from None
    except Exception as error:
        log.exception("A resource or prompt failed.")
        raise MCPError(types.INTERNAL_ERROR, f"Unexpected error: {type(error).__name__}.") from None


def _page(
    items: Sequence[Item], params: types.PaginatedRequestParams | None
) -> tuple[list[Item], str | None]:
    try:
        at = decode_cursor(params.cursor if params else None, {"skip": int})
    except InvalidInput as error:
        raise MCPError(types.INVALID_PARAMS, error.message) from None
    skip = 0 if at is None else at["skip"]
    following = encode_cursor({"skip": skip + PAGE}) if skip + PAGE < len(items) else None
    return list(items[skip : skip + PAGE]), following


# Transports: stdio, and streamable HTTP for agents that cannot start a program

MCP_PATH = "/mcp"


def serve_client(memory: Memory, preload: Preload) -> None:
    """Serve the stdio client of `preload`, beginning with the lines that it kept."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="fazm-memory mcp: %(message)s")
    host = from_environment(memory.config.environment)
    server = MemoryServer(memory, host, tools=preload.tools, connection=preload.connection)
    try:
        asyncio.run(_serve(server, preload))
    finally:
        server.close()


async def _serve(server: MemoryServer, preload: Preload) -> None:
    writer: Any = preload.writer()  # has all methods of a file that the transport uses
    streams = stdio_server(stdin=anyio.wrap_file(preload.reader()), stdout=anyio.wrap_file(writer))
    async with streams as (read, write):
        await server.sdk.run(read, write, server.sdk.create_initialization_options())


def http_app(server: MemoryServer, *, port: int) -> Starlette:
    """The server's one HTTP route. Put the loopback guard in front of it."""
    hosts = [f"{name}:{port}" for name in LOOPBACK]
    return server.sdk.streamable_http_app(
        streamable_http_path=MCP_PATH,
        max_request_body_size=BODY,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )
