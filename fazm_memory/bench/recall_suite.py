"""The recall suite: the share of questions answered by the context, beside what is usually handed on."""

from __future__ import annotations

from collections.abc import Iterator

from fazm_memory.bench.figures import Figure, Goal
from fazm_memory.bench.recall import Asked, all_histories, ask_all, shares
from fazm_memory.bench.suites import Options, Tell

OTHERS = (("messages", "the last messages, same budget"), ("actions", "the latest actions, same budget"))


def run(options: Options, tell: Tell) -> Iterator[Figure]:
    told = all_histories()
    questions = sum(len(one.questions) for one in told)
    asked: list[Asked] = []
    for one in ask_all(told, options.folder):
        asked.append(one)
        tell("asking", len(asked), questions)
    for sort, share in shares(asked).items():
        what = f"{sort}: {share['questions']:.0f} questions"
        for other, against in OTHERS:
            yield Figure(f"{what}, context", "%", 100 * share["context"], 100 * share[other], against)
    everything = shares(asked)["all"]
    yield Figure(
        f"{questions} questions of {len(told)} histories, context",
        "%",
        100 * everything["context"],
        95.0,
        "the goal",
        goal=Goal(at_least=1.0),
    )
    yield Figure(
        f"{questions} questions, search, first five hits",
        "%",
        100 * everything["search"],
        95.0,
        "the goal",
        goal=Goal(at_least=1.0),
    )
