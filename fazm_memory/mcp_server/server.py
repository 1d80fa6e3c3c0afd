"""The server on the official SDK: tools, resources and prompts over one memory, for every transport.

The memory is used from one worker thread only: the store's connection stays in one place, calls never
interleave, and the event loop goes on answering pings meanwhile. The store opens with the first call, so that
`initialize` waits for nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError

from fazm_memory import __version__
from fazm_memory.errors import FazmMemoryError, InvalidInput
from fazm_memory.mcp_server import answers, asking, pages, prompts, resources
from fazm_memory.mcp_server.catalogue import TOOLS
from fazm_memory.mcp_server.early import PAGE, listed, listed_prompt, listed_template
from fazm_memory.mcp_server.greeting import ABOUT, INSTRUCTIONS, NAME, TITLE
from fazm_memory.mcp_server.host import Host, agent_name
from fazm_memory.mcp_server.tool import SOURCE, Caller, Told, Tool
from fazm_memory.mcp_server.watching import Watching
from fazm_memory.memory import Memory
from fazm_memory.model.trust import FORM
from fazm_memory.recall.fence import quote

EXTENSION = "ai.fazm/session-state"
EXTENSION_VERSION = "1"
ERROR = "ai.fazm/error"  # where a refusal is told as data
BEAT = 1.0  # seconds after which a caller who wants to hear of progress hears that we are still at it
log = logging.getLogger(__name__)
Context = ServerRequestContext[Any, Any]
T = TypeVar("T")
Item = TypeVar("Item")


class MemoryServer:
    """One memory behind the protocol. `close` ends its worker thread and lets go of the store."""

    def __init__(self, memory: Memory, host: Host | None = None) -> None:
        self.memory = memory
        self.host = host or Host()
        self.worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory")
        self.watching = Watching(self.look)
        self.sdk: Server[Any] = Server(
            NAME,
            version=__version__,
            title=TITLE,
            description=ABOUT,
            instructions=INSTRUCTIONS,
            get_tool_input_schema=lambda name: TOOLS[name].takes if name in TOOLS else None,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_subscribe_resource=self.subscribe,
            on_unsubscribe_resource=self.unsubscribe,
            on_subscriptions_listen=self.watching.listen,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
        )
        # What a client hands back between two rounds of a call is read only if it is ours and unchanged.
        security = RequestStateSecurity.ephemeral()
        self.sdk.middleware.append(RequestStateBoundary(security, default_audience=NAME))
        self.sdk.extensions[EXTENSION] = {"version": EXTENSION_VERSION}

    def close(self) -> None:
        self.worker.submit(self.memory.close).result()
        self.worker.shutdown()

    async def _at_work(self, work: Callable[[], T]) -> T:
        """Cancelled before it has begun, work is never done; once begun it is finished, answered or not."""
        return await asyncio.get_running_loop().run_in_executor(self.worker, work)

    async def _heard_of(self, context: Context, work: Callable[[], T]) -> T:
        """The same, with a word of progress now and then, so that a patient client does not give up."""
        doing = asyncio.ensure_future(self._at_work(work))
        beats = 0
        try:
            while not (await asyncio.wait({doing}, timeout=BEAT))[0]:
                beats += 1
                await context.session.report_progress(beats * BEAT, message="still at it")
        except asyncio.CancelledError:
            doing.cancel()
            raise
        return doing.result()

    def _caller(self, context: Context) -> Caller:
        told = context.session.client_params
        caller = Caller(self.memory, agent=agent_name(told.client_info.name if told else None))
        if self.host.agent is None or self.host.agent == caller.agent:
            return replace(caller, key=self.host.key, workspace=self.host.workspace)
        return caller

    # -- tools -------------------------------------------------------------------------------------------

    async def list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        page, following = _page(list(TOOLS.values()), params)
        return types.ListToolsResult(
            tools=[types.Tool.model_validate(listed(tool)) for tool in page], next_cursor=following
        )

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(
                types.INVALID_PARAMS, f"there is no tool {params.name[:60]!r}; tools/list has them all"
            )
        caller, given = self._caller(context), params.arguments or {}
        if tool.name == asking.TOOL and params.request_state is not None:
            return await self._answered(params.request_state, params.input_responses or {})
        made = await self._heard_of(context, lambda: call(tool, caller, given))
        if tool.name == asking.TOOL and given.get("to") == "human" and not made.is_error:
            return await self._ask(context, given, made)
        return made

    async def _ask(
        self, context: Context, given: dict[str, Any], made: types.CallToolResult
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Put a question that was just recorded before the person, if this client can."""
        if not asking.can_ask(context):
            return made
        data: dict[str, Any] = made.structured_content
        session, question = data["session"]["id"], data["question"]
        note, form = given["note"], asking.form(given.get("answer_schema"))
        if context.session.can_send_request:
            told = await context.session.elicit_form(note, form, related_request_id=context.request_id)
            return await self._at_work(lambda: _shown(self.memory, session, question, told))
        shown = types.ElicitRequest(params=types.ElicitRequestFormParams(message=note, requested_schema=form))
        return types.InputRequiredResult(
            input_requests={asking.ASKED: shown}, request_state=asking.state_of(session, question)
        )

    async def _answered(self, state: str, told: types.InputResponses) -> types.CallToolResult:
        session, question = asking.read_state(state)
        answer = told.get(asking.ASKED)
        if not isinstance(answer, types.ElicitResult):
            answer = types.ElicitResult(action="cancel")
        return await self._at_work(lambda: _shown(self.memory, session, question, answer))

    # -- resources ---------------------------------------------------------------------------------------

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        caller, given = self._caller(context), params.cursor if params else None
        rows, following = await self._at_work(lambda: _asked(lambda: resources.listing(caller, given)))
        return types.ListResourcesResult(
            resources=[types.Resource.model_validate(row) for row in rows], next_cursor=following
        )

    async def list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        page, following = _page(resources.TEMPLATES, params)
        made = [types.ResourceTemplate.model_validate(listed_template(one)) for one in page]
        return types.ListResourceTemplatesResult(resource_templates=made, next_cursor=following)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        caller, uri = self._caller(context), str(params.uri)
        mime, text = await self._at_work(lambda: _asked(lambda: resources.read(caller, uri)))
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type=mime, text=text)]
        )

    async def look(self, uri: str) -> object:
        caller = Caller(self.memory)
        return await self._at_work(lambda: _asked(lambda: resources.mark(caller, uri)))

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        await self.watching.subscribe(context, str(params.uri))
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        self.watching.unsubscribe(context, str(params.uri))
        return types.EmptyResult()

    # -- prompts -----------------------------------------------------------------------------------------

    async def list_prompts(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        page, following = _page(list(prompts.PROMPTS), params)
        made = [types.Prompt.model_validate(listed_prompt(name)) for name in page]
        return types.ListPromptsResult(prompts=made, next_cursor=following)

    async def get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        caller, given = self._caller(context), dict(params.arguments or {})
        said = await self._at_work(lambda: _asked(lambda: prompts.get(caller, params.name, given)))
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=said))
        return types.GetPromptResult(
            description=prompts.PROMPTS[params.name]["description"], messages=[message]
        )


def call(tool: Tool, caller: Caller, given: dict[str, Any]) -> types.CallToolResult:
    """Run a tool. Whatever happens the caller gets an answer; a bug of ours is logged with its trace."""
    try:
        answers.check(tool, given)
        told = tool.run(caller, given)
    except FazmMemoryError as error:
        return _refusal(answers.trouble(error, tool, caller, given))
    except Exception as error:
        log.exception("the tool %s failed", tool.name)
        wrong = FazmMemoryError(f"{tool.name} met a {type(error).__name__} it does not know")
        return _refusal(answers.trouble(wrong, tool, caller, given))
    return _answer(told)


def _shown(memory: Memory, session: str, question: str, told: types.ElicitResult) -> types.CallToolResult:
    """A handoff that was put before the person, with what became of it.

    The question is recorded whatever happens here, so what keeps its answer from being recorded is told in
    words and not as an error: an agent would ask again.
    """
    reply, wrong = asking.reply(told), None
    try:
        if reply is not None:
            memory.answer(session, question, reply, source=SOURCE, door=FORM)
    except FazmMemoryError as error:
        wrong = error.message
    try:
        row = memory.session(session)
    except FazmMemoryError as error:
        return _refusal(answers.trouble(error, TOOLS[asking.TOOL], Caller(memory), {"session": session}))
    answered = reply is not None and wrong is None
    data = {"session": row, "question": question, "shown": True, "reply": reply, "answered": answered}
    said = "was shown and not answered" if reply is None else f"was answered: {quote(str(reply), 2000)}"
    if wrong is not None:
        said += f"; that could not be recorded, since {quote(wrong, 500)}"
    left = "" if answered else "; session_state shows it under open_questions as long as it is open"
    return _answer(Told(data, f"question {question} of session {session} {said}{left}"))


def _answer(told: Told) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=told.text)], structured_content=told.data
    )


def _refusal(told: dict[str, Any]) -> types.CallToolResult:
    text = types.TextContent(type="text", text=answers.in_words(told))
    # Not as structured content: clients hold that to the output schema even when it is an error.
    return types.CallToolResult(content=[text], is_error=True, _meta={ERROR: told})


def _asked(work: Callable[[], T]) -> T:
    """Resources and prompts have no error results of their own: the protocol's errors carry ours."""
    try:
        return work()
    except FazmMemoryError as error:
        said = f"{error.message}. {error.hint}" if error.hint else error.message
        code = types.INTERNAL_ERROR if type(error) not in answers.NEXT else types.INVALID_PARAMS
        raise MCPError(code, said, error.to_json()) from None
    except Exception as error:
        log.exception("a resource or prompt failed")
        raise MCPError(types.INTERNAL_ERROR, f"this met a {type(error).__name__} it does not know") from None


def _page(
    items: Sequence[Item], params: types.PaginatedRequestParams | None
) -> tuple[list[Item], str | None]:
    try:
        at = pages.place(params.cursor if params else None, {"skip": int})
    except InvalidInput as error:
        raise MCPError(types.INVALID_PARAMS, error.message) from None
    skip = 0 if at is None else at["skip"]
    following = pages.cursor({"skip": skip + PAGE}) if skip + PAGE < len(items) else None
    return list(items[skip : skip + PAGE]), following
