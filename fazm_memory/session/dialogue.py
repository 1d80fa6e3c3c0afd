"""What user and agent say to each other: questions, answers, corrections.

A short answer such as "yes" or "2" means nothing without the agent's closing question, so both become one
decision. A short request that overturns what was just done is a decision too. A later decision supersedes
an earlier one only when it says so (`replaces`), repeats the question, takes what the earlier one rejected,
or says nearly the same sentence with another value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fazm_memory.events import Event
from fazm_memory.lazy import lazy_regex
from fazm_memory.session.state import bounded_text
from fazm_memory.session.upcoming import is_local_command
from fazm_memory.text import content_words, cut_title, plan_title

if TYPE_CHECKING:
    from fazm_memory.session.state import StateBuilder

TAIL = 3000  # characters at the end of a message that are read
AFTER = 300  # characters of prose that may follow a closing question
FAR_AFTER = 900  # and one that speaks to the user
MAX_OTHERS = 5
QUESTION = 400  # characters of a question in the state
OPTION = 160
MAX_OPTIONS = 9
SHORT_QUESTION = 60  # a shorter question is stored with the sentence before it
FENCED = lazy_regex(r"```.*?(?:```|\Z)", re.S)
LISTED = lazy_regex(r"\s*(?:[-*•|]|\*{0,2}(?:\d{1,2}|[A-Za-z])[.)])\s")
HEADING = lazy_regex(r"\s*(?:#|\*\*[^*]+\*\*:?\s*$)")
OPTION_LINE = lazy_regex(
    r"\s*(?:[-*]\s+)?(?:#+\s*)?\**(?P<named>(?:Option|Approach|Fix|Alternative)\s+)?"
    r"(?P<label>\d{1,2}|[A-H])\**\s*[.):—–-]\**\s*(?P<text>\S.*)",
    re.I,
)
SENTENCES = lazy_regex(r"(?<=[.!?])\s+|(?<=[.!?][*_)])\s+|(?<=[.!?]\*\*)\s+")
ASKS = lazy_regex(
    r"\?|:\n|\b(?:let me know|please (?:confirm|choose|pick|tell|decide|advise)|waiting for your)\b", re.I
)
TO_THE_USER = lazy_regex(r"\b(?:you|your|i|we|me|us|ok(?:ay)? to|ready to|proceed|prefer)\b", re.I)
# Asks for an answer without a question mark.
REQUEST = lazy_regex(
    r"(?:(?:just|please|and|so|or|then)[, ]+)*"
    r"(?:let me know (?:if|which|whether|what|how|when|where|who)\b"
    r"|(?:please )?(?:confirm|choose|pick|decide|advise)\b"
    r".*\b(?:you|your|which|whether|if|before|option|how)\b"
    r"|tell me (?:which|whether|what|how|if)\b|i(?:'m| am|'ll)? wait(?:ing)? for your\b)",
    re.I | re.S,
)
NO_REQUEST_FOR = lazy_regex(
    r"\bif (?:you(?:'d| would|'ll)? (?:have|need|like|want|run|hit|encounter|see|notice|find|spot|face)?\s*"
    r"(?:any|anything|more|further|other|another|issues?|problems?|help|questions?"
    r"|me to (?:adjust|change|modify|tweak|explain|elaborate|clarify))"
    r"|there(?:'s| is| are)|it(?:'s)? |that |this |something|anything)",
    re.I,
)
QUESTION_TOOLS = frozenset({"AskUserQuestion", "request_user_input", "question", "ask_user"})
ABOUT_LIST = lazy_regex(r"\b(?:these|those|them|all|both)\b", re.I)
# A question that its options complete: "Would you prefer:" and a list.
CHOICE = lazy_regex(
    r"\b(?:would you (?:prefer|like)|do you (?:prefer|want)|should (?:I|we))\b[^.?!]*:$", re.I
)
# Such a question is about the options that are listed before it. "A or B?" names its own.
CHOOSES = lazy_regex(
    r"\A(?!(?:would you like|do you want|want) me to\b|sh(?:ould|all) I\b)"
    r"(?:.*\b(?:which|what|how)\b|(?!.*\bor\b).*\bprefer\b)|:$",
    re.I | re.S,
)
EMPTY_QUESTION = lazy_regex(
    r"(?:is there |do you have |did you want |want me to (?:do )?)?any(?:thing)?(?: else| other| more)\b.*"
    r"|(?:\d{1,2}[.)] )?something else\?|let me know what you(?:'d| would) like(?: me)? to do(?: next)?\W*"
    r"|(?:does (?:that|this) )?make sense\?|does (?:that|this) (?:help|answer).*|right\?|ok(?:ay)?\?",
    re.I | re.S,
)


def closing_question(text: str) -> dict[str, Any] | None:
    """The question with which a message ends, or None.

    It comes with the options it lists. `others` are further questions beside it: in the same paragraph, or
    in the same list.
    """
    tail = text[-TAIL:]
    if not ASKS.search(tail):
        return None
    if "```" in tail:  # the tail may begin inside a block
        tail = FENCED.sub("\n", "```" + tail if text.count("```", 0, -TAIL) % 2 else tail)
    lines = tail.rstrip().split("\n")
    after = 0
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index]
        sentences = SENTENCES.split(line.strip())
        for place in range(len(sentences) - 1, -1, -1):
            sentence = sentences[place].strip(" \t*_>-")
            asks = _asks(sentence) or (CHOICE.search(sentence) and _options(lines[index + 1 :]))
            if asks and sentence[:1] not in "|#" and (after <= AFTER or TO_THE_USER.search(sentence)):
                found = _question(lines, index, sentences, place)
                if found is not None or (after == 0 and not LISTED.match(line)):
                    return found
            after += 0 if LISTED.match(line) or _continues_list(lines, index) else len(sentence)
            if after > FAR_AFTER:
                return None
    return None


def _question(lines: list[str], index: int, sentences: list[str], place: int) -> dict[str, Any] | None:
    """The question at this place of a message.

    It comes with its options and the questions beside it.
    """
    sentence = sentences[place].strip(" \t*_>-")
    listed = LISTED.match(lines[index]) is not None
    whole = _whole_question(sentence, sentences[:place], lines[:index], listed)
    if not whole:
        return None
    others = _questions_beside(lines, index, sentences[:place])
    if others and listed:
        whole = LISTED.sub("", sentence, count=1) if LISTED.match(sentence) else sentence
    whole = whole.replace("**", "")
    found = _with_options(whole[-QUESTION:], sentence, {} if others and listed else _options(lines))
    return found | ({"others": [{"text": other[-QUESTION:]} for other in others]} if others else {})


def _questions_beside(lines: list[str], index: int, before: list[str]) -> list[str]:
    """The questions before the closing one, the nearest first.

    They stand in its paragraph or in its list.
    """
    near = [part.strip(" \t*_>-") for part in reversed(before)]
    found = [part for part in near if part.endswith("?") and TO_THE_USER.search(part)]
    if LISTED.match(lines[index]):
        for line in reversed(lines[:index]):
            if line.strip() and not LISTED.match(line) and line[:1] not in " \t":
                break
            words = SENTENCES.split(LISTED.sub("", line, count=1).strip())
            found += [words[-1].strip(" \t*_>-")] if words[-1].rstrip("*_ ").endswith("?") else []
    return list(dict.fromkeys(part for part in found if not EMPTY_QUESTION.fullmatch(part)))[:MAX_OTHERS]


def _asks(sentence: str) -> bool:
    """Whether a sentence is a question, or asks for an answer in another form."""
    return sentence.endswith("?") or (
        REQUEST.match(sentence) is not None and not NO_REQUEST_FOR.search(sentence)
    )


def _continues_list(lines: list[str], index: int) -> bool:
    """Whether a line is an indented part of the list item before it."""
    return lines[index][:2] in ("  ", "\t") and any(
        LISTED.match(line) for line in lines[max(0, index - 4) : index]
    )


def _with_options(question: str, sentence: str, options: dict[str, str]) -> dict[str, Any]:
    """A question with the enumeration beside it.

    The entries are its options only if the question leaves a choice.
    """
    if not options:
        return {"text": question}
    return {"text": question, "options" if CHOOSES.search(sentence) else "listed": options}


def _whole_question(sentence: str, before: list[str], lines: list[str], listed: bool) -> str:
    """The question with the sentence that it refers to.

    Empty if it asks for nothing in particular.
    """
    if EMPTY_QUESTION.fullmatch(sentence):
        return ""
    alternative = sentence[:3].lower() == "or "
    if len(sentence) >= SHORT_QUESTION and not listed and not alternative:
        return sentence
    if not before:
        at = next((nth for nth in range(len(lines) - 1, -1, -1) if _is_prose(lines, nth)), None)
        about_list = at is not None and ABOUT_LIST.search(sentence) and _is_within_list(lines, at)
        line = "" if at is None or about_list else lines[at]
        before = [] if HEADING.match(line) else SENTENCES.split(line.strip())
        if at is not None and before and before[-1].endswith(":") and _leads_list(lines, at):
            before = before[:-1]  # it is about the list
    context = before[-1].strip(" \t*_>-") if before else ""
    return f"{context} {sentence}".strip()


def _is_prose(lines: list[str], index: int) -> bool:
    """Whether a line can say what a question is about.

    A list cannot, nor can a line that only announces one.
    """
    line = lines[index].strip()
    if not line or LISTED.match(lines[index]) or _continues_list(lines, index):
        return False
    return not (line.endswith(":") and SENTENCES.search(line) is None and _leads_list(lines, index))


def _is_within_list(lines: list[str], index: int) -> bool:
    """Whether a line stands between the items of a list."""
    return any(map(LISTED.match, lines[:index])) and any(map(LISTED.match, lines[index + 1 :]))


def _leads_list(lines: list[str], index: int) -> bool:
    """Whether a list follows a line."""
    after = next((line for line in lines[index + 1 :] if line.strip()), "")
    return LISTED.match(after) is not None


def asked_in_message(event: Event, text: str) -> dict[str, Any] | None:
    """What a message asks the user, as the state stores it."""
    found = closing_question(text)
    return None if found is None else {**found, "form": "question", **_asked_at(event)}


def asked_by_tool(event: Event, tool: str, tool_input: Any) -> dict[str, Any] | None:
    """What a call asks the user, until it ends. Several questions may come at once."""
    if tool not in QUESTION_TOOLS or not isinstance(tool_input, Mapping):
        return None
    asked = tool_input.get("questions")
    rows = (
        [row for row in asked if isinstance(row, Mapping)]
        if isinstance(asked, (list, tuple))
        else [tool_input]
    )
    found = [entry for entry in map(_tool_question, rows) if entry["text"]]
    if not found:
        return None
    first, *others = found
    return {**first, "form": "choice", **_asked_at(event)} | (
        {"others": others[:MAX_OTHERS]} if others else {}
    )


def _tool_question(row: Mapping[str, Any]) -> dict[str, Any]:
    options = row.get("options")
    labels = [
        str(option.get("label") or "") if isinstance(option, Mapping) else str(option)
        for option in (options if isinstance(options, (list, tuple)) else ())
    ]
    numbered = {str(nth): label[:OPTION] for nth, label in enumerate(labels[:MAX_OPTIONS], 1) if label}
    text = str(row.get("question") or "")[:QUESTION]
    return {"text": text, "options": numbered} if numbered else {"text": text}


def waiting_plan(b: StateBuilder, event: Event) -> dict[str, Any]:
    """A presented plan as a question: it waits for the user's approval."""
    title = (b.plan or {}).get("title")
    text = f"Approve the plan{f': {title}' if title else ''}?"
    return {"text": text, "form": "plan", **_asked_at(event)}


def _asked_at(event: Event) -> dict[str, Any]:
    return {"seq": event.seq, "at": event.at, "asked_by": "agent", "trust": event.trust}


def listed_options(text: str) -> dict[str, str]:
    """The last enumeration of a message: label and text."""
    return _options(text.split("\n"))


def _options(lines: list[str]) -> dict[str, str]:
    """The last enumeration of a message: label and text.

    Lines such as "Option 2: …" count first.
    """
    matches = [match for line in lines if (match := OPTION_LINE.match(line)) is not None]
    if len(named := [match for match in matches if match["named"]]) > 1:
        matches = named
    options: dict[str, str] = {}
    for match in matches:
        label = match["label"].upper()
        if label in ("1", "A"):
            options = {}
        elif not options:
            continue
        if len(options) < MAX_OPTIONS:
            options[label] = match["text"].replace("**", "").strip()[:OPTION]
    return options if len(options) > 1 else {}


# -- answers and corrections -----------------------------------------------------------------------------

MAX_ANSWER = 600
MAX_QUOTED = 400  # characters of an answer that repeats the words of an option
QUOTED = 16  # characters of such words at least
MAX_ANSWERS = 2000  # a numbered answer to each of several questions
MAX_CHOICE = 200
MAX_CORRECTION = 500
CORRECTED_FILES = 6  # files listed with a correction


def _any(*phrases: str) -> str:
    return "(?:" + "|".join(phrases) + ")"


YES = lazy_regex(
    _any(
        "yes", "yeah", "yep", "yup", "ye", "y", "sure", "ok", "okay", "correct", "right", "exactly",
        "please do", "go ahead", "go for it", "do it", "do that", "sounds good", "looks good", "perfect",
        "it'?s perfect", "lgtm", "agreed", "absolutely", "definitely", "great", "cool", "nice", "fine",
        "good", "all good", "makes sense", "that was the idea",
    ) + r"\b",
    re.I,
)  # fmt: skip
NO = lazy_regex(
    _any(
        "no(?! (?:idea|problem))",
        "nope",
        "nah",
        "n",
        "not (?:now|yet|needed)",
        "neither",
        "none",
        "skip",
        "later",
    )
    + r"\b",
    re.I,
)
PICK = lazy_regex(
    _any(
        r"let'?s\b", r"go with\b", r"i(?:'d| would)? (?:like|prefer|go|pick|choose)\b", r"options?\b",
        r"number\b",
        r"(?:do |implement |take |use )?both\b", r"the (?:first|second|third|former|latter|last)\b",
        r"(?:do|implement|take|use|try|fix)? ?[1-9](?!\d|\.\d)\b", r"[a-h][\s.,)]*$", r"all of", r"all\W*$",
    ),
    re.I,
)  # fmt: skip
# An order answers a question that leaves a choice. After an offer ("Want me to…?") it is a new request.
ORDER = lazy_regex(
    r"(?:use|do|take|keep|link|leave|remove|add|only|just|make|rename|apply|i want|i think)\b", re.I
)
LEAVES_CHOICE = lazy_regex(r"\bwhich\b|\bwhat\b|\bprefer|\bor\b|\bhow\b", re.I)
# "ok, let's look at the docs" takes up something else, unless it speaks of what was asked.
MOVES_ON = lazy_regex(
    r"(?:ok|okay|great|cool|nice|fine|good|perfect)[,.!]? +(?:let'?s|now|next|then)\b", re.I
)
SPEAKS_OF_IT = 0.4  # share of the words of a question
# "great, new change: …" asks for the next thing and overturns nothing.
NEW_REQUEST = lazy_regex(
    r"(?:(?:great|ok|okay|cool|nice|perfect|good)[,.! ]+)+(?:a |one )?(?:new|next|another|more) "
    r"(?:change|thing|task|request|feature|question)\b",
    re.I,
)
CLAUSE_END = lazy_regex(r"[,.;:(\n]| (?:rather than|instead of|because|since|please)\b", re.I)
MAX_NAMED = 4  # words of an alternative
YES_BUT = lazy_regex(r"\w+[ ,]+but\b", re.I)
LABEL = lazy_regex(r"(?<![\w.#/-])([1-9])(?![\w/-]|\.\d)|\b[Oo]ption ([A-H])\b")
ORDINALS = {"first": "1", "second": "2", "third": "3", "fourth": "4", "former": "1", "latter": "2"}
ORDINAL = lazy_regex(r"\bthe (first|second|third|fourth|former|latter)\b|^(first|second|third)\b")
EVERY = lazy_regex(r"(?:do |let'?s do |yes,? )?(?:both|all(?: of| three| four|\W*$))")
NUMBERED = lazy_regex(r"1[.)] .*\b2[.)] ", re.S)  # one answer to each of several questions
MIN_QUESTIONS = 2  # in a list that is a list of questions
LABELS_WITHIN = 80
PICKS_LABEL = lazy_regex(r"(?:option )?[1-9](?: and\b|,| \+)|option [a-h]\b", re.I)  # "3 and I would also…"
# "I missed this. 1 is correct", after a question with options
PREFERS_LABEL = lazy_regex(
    r"(?<![\w.#/-])(?:option )?(?:[1-9]|[A-H]) (?:is|sounds|looks|seems) (?:the )?"
    r"(?:right|correct|better|best|fine|good)\b"
)

OVERTURNS = lazy_regex(
    "^" + _any(
        r"no[,.;: ]", "nope", "don'?t ", "do not ", "never ", "stop (?!for)", "instead", "actually",
        "revert", "undo", "roll ?back", "ignore ", "wait[, ]", "not (?!sure)", "please (?:don'?t|do not)",
        r"i (?:meant|said)\b",
        "(?:can|could) (?:we|you) (?:please )?not ",
        "(?:that|this|it)(?:'s| is| was) (?:wrong|not |incorrect)",
        r"(?:that|this|it|the [\w -]{1,40}) should(?:n'?t| not)?\b",
        "i (?:don'?t|do not) (?:want|like|need|think)", "you (?:should|shouldn'?t|forgot|missed|broke|must)",
        "we should(?:n'?t| not| at least)", "rather ", "how about instead", "thinking again",
        "on second thoughts?", r"(?:let'?s )?use [^.\n]{1,60}[, ](?:and )?not ",
    ),
    re.I,
)  # fmt: skip
LEAD_IN = lazy_regex(
    r"\A(?:(?:quick|one|another) thing|hm+|ok(?:ay)?|well|sorry|but|again|also)\b[,: ]+", re.I
)
# "this is not correct:" and then what it is about
OVERTURNS_FIRST = lazy_regex(
    r"(?:that|this|it)(?:'s| is| was) (?:wrong|incorrect|not (?:right|correct|true))[^\n]{0,80}:\s*\n", re.I
)
SHOULD = lazy_regex(r"(?:that|this|it|the [\w -]{1,40}) should(?:n'?t| not)?\b", re.I)
LONGEST_SHOULD = 200  # characters
EXPLAIN = lazy_regex(
    r"(?:(?:can|could) you )?(?:please )?(?:explain|show|tell)\b|(?:what|why|how|where)\b", re.I
)
CONTRADICTS = lazy_regex(
    _any(
        r"\b(?:is|are|was|were|looks?|seems?|sounds?) (?:wrong|incorrect"
        r"|not (?:(?:quite|fully|entirely|really|completely) )?(?:right|correct|true|what))\b",
        r"\A(?:it(?:'s| is) not expected|options? \d does(?:n'?t| not) work)\b",
        r"\bdoes(?:n'?t| not) (?:sound|look|seem) ri(?:ght|gth)", r"\bon purpose\b", r"\binstead\b(?! ->)",
        r"\bthe \w+ (?:is|are) (?:right|correct|fine)\b", r"\brather than\b",
    ),
    re.I,
)  # fmt: skip
ALTERNATIVE = lazy_regex(r"\bor\b[^.?!\n]{0,80}\binstead\b", re.I)
PASTED = "❯$<>=[{/|•⏺"
MAX_QUESTION = 1200
ASKS_BACK = lazy_regex(
    r"\?\W*\Z|\A(?:(?:ok|okay|but|and|so|hm+|quick|one|follow[- ]?up|just)[, ]+)*"
    r"(?:what|why|how|which|where|when|who|question|(?:can|could) you (?:please )?(?:explain|tell|show))\b",
    re.I,
)
NOT_COMMIT = lazy_regex(r"(?:can|could) (?:we|you) (?:please )?not ", re.I)


def read_prompt(b: StateBuilder, event: Event, text: str) -> None:
    """Take what a request decides.

    It may answer the agent's question or correct its work.
    """
    words = text.strip()
    if is_local_command(words):
        return
    asked, b.asking = b.asking, None
    if not asks_back(words):
        b.passed_over = None
    elif asked is not None:
        b.passed_over = asked
    first = not b.requests
    _note_goal(b, event, words)
    _note_memo(b, event, words)
    if first or not words or words[0] in PASTED or event.actor != "person":
        return
    longest = MAX_ANSWERS if NUMBERED.match(words) else MAX_ANSWER
    listed = {} if asked is None else asked.get("options") or asked.get("listed") or {}
    quoted = quoted_options(words, listed)
    prefers = asked is not None and "options" in asked and PREFERS_LABEL.search(words[:LABELS_WITHIN])
    answers = asked is not None and len(words) <= longest and (prefers or _answers(words, asked["text"]))
    if asked is not None and (answers or quoted):
        chosen = quoted or chosen_options(words, listed)
        entry = {
            "what": bounded_text(words),
            "form": "answer",
            "question": (_numbered_questions(words, asked, listed) or asked["text"]) if answers else None,
            "asked": asked["seq"],
        }
        entry["alternatives"] = list(listed.values()) if chosen or "options" in asked else []
        b.passed_over = None
        add_decision(b, event, entry | ({"chosen": chosen} if chosen else {}))
    elif _corrects(words):
        about = asked["text"] if asked is not None else None
        entry = {"what": bounded_text(words), "form": "correction", "about": about}
        add_decision(b, event, entry | ({"files": files} if (files := _files_just_changed(b, event)) else {}))


def _numbered_questions(words: str, asked: Mapping[str, Any], listed: Mapping[str, str]) -> str:
    """The numbered questions of the message before an answer, if any."""
    if NUMBERED.match(words) is None:
        return ""
    if sum("?" in text for text in listed.values()) < MIN_QUESTIONS:  # they were asked one after the other
        others = [other["text"] for other in reversed(asked.get("others") or ())]
        listed = {str(nth): text for nth, text in enumerate([*others, asked["text"]], 1)} if others else {}
    return bounded_text(" ".join(f"{label}. {text}" for label, text in listed.items())) or ""


def asks_back(words: str) -> bool:
    """Whether the user's words ask something.

    The agent's question may then stay open.
    """
    return len(words) <= MAX_QUESTION and ASKS_BACK.search(words.strip()) is not None


def _files_just_changed(b: StateBuilder, event: Event) -> list[str]:
    """The files that the agent changed last before a request, which may be about them."""
    turn = event.turn - 1
    changed = (entry for entry in b.files_modified.values() if entry.turn == turn and entry.by == "agent")
    latest = sorted(changed, key=lambda entry: entry.seq)[-CORRECTED_FILES:]
    return [entry.path for entry in latest if entry.change != "deleted"]


def _answers(words: str, question: str) -> bool:
    """Whether a request can only be an answer to the question before it."""
    begins = YES.match(words) or NO.match(words)
    if NUMBERED.match(words) is not None:
        return True
    if NEW_REQUEST.match(words):
        return False
    subject = content_words(question)
    if MOVES_ON.match(words) and len(content_words(words) & subject) < max(1, SPEAKS_OF_IT * len(subject)):
        return False
    if PICKS_LABEL.match(words) is not None:
        return True
    if "?" in words[:120] or words.endswith("?"):
        # "yes, can there be less space?" agrees and asks; "yeah but is it?" only asks.
        return (
            begins is not None
            and YES_BUT.match(words) is None
            and words[begins.end() :][:1] in (",", ".", "!")
        )
    if begins is not None or len(words) > MAX_CHOICE:
        return begins is not None
    if " or " in question.lower():  # "CSV, rather than TSV" names one of the alternatives
        named = content_words(CLAUSE_END.split(words, 1)[0])
        if named and len(named) <= MAX_NAMED and named <= subject:
            return True
    return PICK.match(words) is not None or (
        ORDER.match(words) is not None and LEAVES_CHOICE.search(question) is not None
    )


def chosen_options(words: str, options: dict[str, str]) -> list[str]:
    """The texts of the options that an answer names."""
    low = words.lower()
    if not options or NUMBERED.match(words):
        return []
    if EVERY.match(low):
        return list(options.values())
    head = words[:LABELS_WITHIN] if len(words) <= 2 * LABELS_WITHIN else words[: LABELS_WITHIN // 4]
    labels = [number or letter for number, letter in LABEL.findall(head)]
    labels += [ORDINALS[word or alone] for word, alone in ORDINAL.findall(head.lower())]
    if len(words) <= 2:
        labels.append(words[:1].upper())
    return [options[label] for label in dict.fromkeys(labels) if label in options]


def quoted_options(words: str, options: dict[str, str]) -> list[str]:
    """The options whose words an answer repeats.

    For example "I would like 2. Move it before saving".
    """
    if len(words) > MAX_QUOTED or EXPLAIN.match(words):
        return []
    low = " ".join(words.lower().split())
    begins = {text: " ".join(text.lower().split())[: 2 * QUOTED] for text in options.values()}
    return [text for text, begin in begins.items() if len(begin) >= QUOTED and begin in low]


def _corrects(words: str) -> bool:
    """Whether a request overturns what was just done.

    A question does not, nor does pasted output.
    """
    if words.endswith("?") and NOT_COMMIT.match(words) is None:
        first, *rest = SENTENCES.split(words, 1)  # a question may follow the correction
        return bool(rest) and not first.endswith("?") and _corrects(first)
    said = LEAD_IN.sub("", words)
    if (begins := OVERTURNS_FIRST.match(said)) is not None:  # what follows may be what it is about
        return len(words) <= 2 * MAX_CORRECTION and begins.end() <= MAX_CORRECTION
    if len(words) > MAX_CORRECTION or words.count("\n") > 6 or NEW_REQUEST.match(words):
        return False
    if SHOULD.match(said) is not None and len(words) > LONGEST_SHOULD:
        return False  # a review comment reads like this too
    # "whether X or Y should be used instead" names an alternative and overturns nothing.
    return (OVERTURNS.match(said) or CONTRADICTS.search(ALTERNATIVE.sub("", words))) is not None


# -- decisions -------------------------------------------------------------------------------------------

SAME_QUESTION = 0.8
SAME_SENTENCE = 0.6
SHARED_WORDS = 4
COMPLETED = 20  # characters
LOOK_BACK = 40  # earlier decisions that a new one is compared with


def add_decision(b: StateBuilder, event: Event, entry: dict[str, Any]) -> None:
    """Add a decision, and mark the earlier one that it supersedes."""
    b.count("decisions")
    row: dict[str, Any] = {
        "seq": event.seq,
        "at": event.at,
        "turn": event.turn,
        "why": None,
        "alternatives": [],
    }
    row |= {name: value for name, value in entry.items() if value is not None}
    row |= {"trust": event.trust, "actor": event.actor, "superseded_by": None}
    replaced = _supersede(b, row)
    if replaced is not None and replaced["what"].split() != row["what"].split():
        row["instead_of"] = {name: replaced[name] for name in ("session", "seq", "what") if name in replaced}
    b.put("decisions_made", event.seq, row)


def _supersede(b: StateBuilder, new: dict[str, Any]) -> dict[str, Any] | None:
    """Mark the decisions that a new one supersedes. Returns the latest of them."""
    replaced: dict[str, Any] | None = None
    named = new.get("replaces")
    for seq in [*b.decisions_made][: -LOOK_BACK - 1 : -1]:
        old = b.decisions_made[seq]
        if old.get("superseded_by") is None and (
            later_replaces(new, old) if named is None else seq == named and _may_replace(new, old)
        ):
            b.decisions_made[seq] = old | b.link(old, "superseded", new["seq"])
            replaced = replaced or old
    return replaced


def _may_replace(new: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether the author of one decision may overrule the other's.

    An agent does not overrule a person.
    """
    return old.get("actor") != "person" or new["actor"] == "person"


def later_replaces(new: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether a later decision replaces an earlier one.

    It does if it is on the same subject.
    """
    if not _may_replace(new, old):
        return False
    question = content_words(new.get("question"))
    again = bool(question) and _overlap(question, content_words(old.get("question"))) >= SAME_QUESTION
    if old.get("question") and new.get("question") and not again:
        return False  # "yes" to another question
    # A bare verdict on the plan ends with the next one. What the user said about it still holds.
    plan = new.get("about") if new.get("form") == "plan" else None
    verdict = bool(plan) and old.get("about") == plan and old["what"] in ("accepted", "rejected")
    # A request that was sent too early is sent again, completed.
    completed = len(old["what"]) >= COMPLETED and new["what"].startswith(old["what"])
    return (
        any((again, verdict, completed))
        or _takes_alternative(new, old)
        or _restates(content_words(new["what"]), old)
    )


def _takes_alternative(new: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether a decision chooses what an earlier one rejected.

    It must also reject, or leave out, what the earlier one chose.
    """
    chosen, before = content_words(new["what"]), content_words(old["what"])
    rejected = [content_words(text) for text in old.get("alternatives") or ()]
    dropped = [content_words(text) for text in new.get("alternatives") or ()]
    return (
        bool(chosen and before)
        and (any(_names(chosen, one, before) for one in rejected) or before in dropped)
        and chosen != before
    )


def _names(chosen: frozenset[str], rejected: frozenset[str], before: frozenset[str]) -> bool:
    """Whether a choice is what was rejected.

    Words of the earlier choice may stand around it.
    """
    return chosen == rejected or (len(rejected) > 1 and rejected <= chosen <= rejected | before)


def _restates(what: frozenset[str], old: dict[str, Any]) -> bool:
    before = content_words(old["what"])
    shared = len(what & before)
    return shared >= SHARED_WORDS and shared >= SAME_SENTENCE * len(what | before)


def _overlap(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / len(first | second) if first and second else 0.0


# -- goal, plan and notes --------------------------------------------------------------------------------

NO_REQUEST = lazy_regex(
    _any("hi", "hello", "hey", "yes", "no", "ok", "okay", "thanks", "thank you", "test", "ping", "continue",
         "go on", "resume", "try again", r"\d+") + r"[\s.!,]*",
    re.I,
)  # fmt: skip
PLAN_REQUEST = lazy_regex(
    r"(?:(?:please )?(?:implement|execute|follow|start|continue)[\w ]{0,30}\bplan\b[^\n]{0,40}:?"
    r"|A previous agent produced the plan below[^\n]{0,400})\s*\n",  # Codex
    re.I,
)
PLAN_TEXT = 2000
TITLE = 80  # characters
PASTED_LINE = "❯$✓✗⏺⎿│┃•"  # begins a line that comes from a terminal
MARKS = "#*•❯> \t"  # at the ends of a line that becomes a title


def request_text(text: str) -> tuple[str, str | None]:
    """What a request asks for, and the plan that it hands over.

    "Implement the following plan" says nothing: the heading of the plan does.
    """
    match = PLAN_REQUEST.match(text)
    if match is None or not (plan := text[match.end() :].strip()):
        return text, None
    return plan_title(plan) or text, plan


def title_of(text: str) -> str | None:
    """The title that a request gives a session.

    It is the heading of its plan, or its first lines that say something. A change of what it returns needs
    another `TITLE_RULES` in the store.
    """
    lines = [line for line in request_text(text.strip())[0].split("\n") if line.strip(" #*->`=")]
    typed = [line for line in lines if line.lstrip()[:1] not in PASTED_LINE] or lines
    title = typed[0] if typed else ""
    if title.rstrip().endswith(":") and len(title) < TITLE and len(lines) > 1:  # a lead-in says nothing
        after = lines[lines.index(title) + 1 :][:1]
        said = next((line for line in typed[1:] if TO_THE_USER.search(line)), None)
        if after and after[0] not in typed and said is not None:
            title = said  # what was pasted says nothing either
        elif after:
            title = f"{title} {after[0].strip(MARKS)}"
    return cut_title(title.strip(MARKS), TITLE) or None


def _note_goal(b: StateBuilder, event: Event, words: str) -> None:
    if (b.goal is not None and not b.goal.get("weak")) or not words:
        return
    text, plan = request_text(words)
    weak = NO_REQUEST.fullmatch(words) is not None
    if b.goal is not None and weak:
        return
    b.goal = {"text": bounded_text(text), "seq": event.seq, "at": event.at, "trust": event.trust}
    if weak:
        b.goal["weak"] = True
    if plan is not None:
        set_plan(b, event, plan, plan_title(plan), "accepted")


def set_plan(b: StateBuilder, event: Event, text: str | None, title: str | None, status: str) -> None:
    """Set the session's plan, or the status of the one with this title."""
    title = title or (plan_title(text) if text else None)
    before = b.plan if b.plan is not None and (not title or b.plan["title"] == title) else None
    if text is None and before is not None:
        b.plan = before | {"status": status, "decided_at": event.seq}
        return
    text = text if text is None or len(text) <= PLAN_TEXT else text[: PLAN_TEXT - 1] + "…"
    b.plan = {
        "title": title, "text": text, "status": status, "seq": event.seq, "at": event.at,
        "trust": event.trust,
    }  # fmt: skip


WRITE_DOWN = lazy_regex(
    r"\b(?:write|save|put|note|document|record|dump|store)\b.{0,60}"
    r"(?:\bdown\b|\bfile\b|\bnotes?\b|markdown|\.md\b|\bsummary\b)|\bsummari[sz]e\b|\bhand-?over\b",
    re.I | re.S,
)
WHERE_WE_ARE = lazy_regex(
    r"so far|where we (?:are|left|stand|stopped)|pick (?:this|it|that)?\s*up|tomorrow|next (?:session|time)"
    r"|hand-?(?:over|off)|continue (?:this |it )?later|current (?:state|status|progress)|our progress"
    r"|for later",
    re.I,
)
DOCUMENTS = (".md", ".txt", ".org", ".rst", ".adoc", ".markdown")


def _note_memo(b: StateBuilder, event: Event, words: str) -> None:
    """Remember that the user asked to write down where the work stands."""
    asked = len(words) <= 1000 and WRITE_DOWN.search(words) is not None
    before = b.noting is not None and event.turn - b.noting <= 1
    b.noting = event.turn if asked and (before or WHERE_WE_ARE.search(words) is not None) else None


def note_document(b: StateBuilder, event: Event, path: str, change: str) -> None:
    """Name a document as the session's memory, if the user has just asked for one."""
    if (
        b.noting is not None
        and b.noting == b.turn
        and change in ("created", "modified")
        and path.endswith(DOCUMENTS)
    ):
        b.put("notes", path, {"path": path, "seq": event.seq, "at": event.at})
