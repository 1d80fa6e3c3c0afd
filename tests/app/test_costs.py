"""What sessions cost: by session, day, model and thread; own prices; models without a price."""

from __future__ import annotations

import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import fazm_memory
from fazm_memory.app.costs import PRICES_FILE, Price, PriceTable, cost_text, shipped_prices
from fazm_memory.clock import to_micros
from fazm_memory.errors import ConfigError, InvalidRequest
from tests.app.memory_fixture import START, MemoryFixture

DAY = 86_400_000_000
OPUS = "claude-opus-4-5-20251101"
TABLE = PriceTable(
    "2026-01-01", {"gpt-5": Price(1, 2, 0, 1, 1), "gpt-5-mini": Price(3, 4, 0, 3, 3)}, own=False
)


def spend(memory: MemoryFixture, session: str, **usage: Any) -> None:
    memory.say(session, "usage", **usage)


def test_a_session_has_its_tokens_and_dollars(memory: MemoryFixture) -> None:
    session = memory.begin()
    assert memory.sessions.get(session)["cost"] is None
    spend(memory, session, input_tokens=1_000_000, output_tokens=100_000, cached_tokens=2_000_000, model=OPUS)
    spend(memory, session, output_tokens=100_000, model=OPUS)
    cost = memory.sessions.get(session)["cost"]
    assert cost == {
        "input_tokens": 1_000_000, "output_tokens": 200_000, "cached_tokens": 2_000_000,
        "usd": pytest.approx(5 + 5 + 1), "unknown_models": [],
    }  # fmt: skip
    assert memory.sessions.listing()[0]["cost"] == cost


def test_forgotten_usage_no_longer_counts(memory: MemoryFixture) -> None:
    session = memory.begin()
    spend(memory, session, output_tokens=100_000, model=OPUS)
    first = memory.history.events(session, kind="usage")
    (at,) = (event["at"] for event in first)
    spend(memory, session, output_tokens=300_000, model=OPUS)
    assert memory.sessions.get(session)["cost"]["output_tokens"] == 400_000
    moment = to_micros(datetime.fromisoformat(at))
    memory.maintenance.forget(since=moment, until=moment + 1)
    assert memory.sessions.get(session)["cost"]["output_tokens"] == 300_000


def test_a_model_without_a_price_is_named_and_not_guessed(memory: MemoryFixture) -> None:
    session = memory.begin()
    spend(memory, session, output_tokens=10, model="brand-new-1")
    cost = memory.sessions.get(session)["cost"]
    assert (cost["usd"], cost["unknown_models"]) == (None, ["brand-new-1"])
    assert "no price for brand-new-1" in cost_text(cost)
    spend(memory, session, output_tokens=1_000_000, model=OPUS)
    cost = memory.sessions.get(session)["cost"]
    assert (cost["usd"], cost["unknown_models"]) == (25.0, ["brand-new-1"])
    assert "not known" in cost_text(cost)


def test_writing_to_a_cache_has_its_own_price(memory: MemoryFixture) -> None:
    session = memory.begin()
    written = {"written_tokens": 600_000, "written_hour_tokens": 200_000}
    spend(memory, session, input_tokens=1_000_000, **written, model=OPUS)
    cost = memory.sessions.get(session)["cost"]
    # 400,000 at 5 dollars per million, 400,000 at 6.25, 200,000 at 10
    assert (cost["usd"], cost["input_tokens"]) == (6.5, 1_000_000)


def test_without_a_price_of_its_own_it_costs_like_other_input(memory: MemoryFixture) -> None:
    session = memory.begin()
    spend(memory, session, input_tokens=1_000_000, written_tokens=600_000, model="gpt-5")
    assert memory.sessions.get(session)["cost"]["usd"] == 1.25


def test_what_the_agent_says_it_cost_counts(memory: MemoryFixture) -> None:
    session = memory.begin()
    spend(memory, session, output_tokens=10, model="brand-new-1", cost_usd=1.25)
    assert memory.sessions.get(session)["cost"]["usd"] == 1.25


def test_our_prices_are_read_as_the_toml_that_they_are() -> None:
    text = (Path(fazm_memory.__file__).parent / PRICES_FILE).read_text(encoding="utf-8")
    assert shipped_prices() == tomllib.loads(text)


def test_the_users_own_prices_win(memory: MemoryFixture) -> None:
    session = memory.begin()
    spend(memory, session, output_tokens=1_000_000, model=OPUS)
    (memory.config.home / "prices.toml").write_text(
        'date = "2026-11-01"\n[models]\nclaude-opus-4-5 = { input = 1, output = 2, cached = 0 }\n'
    )
    table = memory.costs.table("model")
    assert [row["usd"] for row in table["rows"]] == [2.0]
    assert table["prices"] == {"date": "2026-11-01", "own": True}


@pytest.mark.parametrize("text", ["[models", "[models]\nx = 1", "models = 3", "[models]\nx = { input = 1 }"])
def test_prices_that_cannot_be_read_are_an_error(memory: MemoryFixture, text: str) -> None:
    _ = memory.store
    (memory.config.home / "prices.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"prices\.toml"):
        memory.costs.table()


def test_a_cache_without_a_price_costs_as_much_as_other_input(memory: MemoryFixture) -> None:
    session = memory.begin()
    (memory.config.home / "prices.toml").write_text("[models]\nmine = { input = 3, output = 1 }\n")
    spend(memory, session, cached_tokens=1_000_000, model="mine")
    assert memory.sessions.get(session)["cost"]["usd"] == 3.0


@pytest.mark.parametrize(
    ("price", "said"),
    [
        ("{ input = 1 }", '"mine" has no price for output'),
        ('{ input = "x", output = 1 }', 'the prices of "mine" are no numbers'),
        ("1", 'the prices of "mine" are no numbers'),
    ],
)
def test_a_wrong_price_is_named_with_its_model(memory: MemoryFixture, price: str, said: str) -> None:
    _ = memory.store
    (memory.config.home / "prices.toml").write_text(f"[models]\nmine = {price}\n")
    with pytest.raises(ConfigError, match=said):
        memory.costs.table()


def test_costs_by_day_session_model_and_thread(memory: MemoryFixture) -> None:
    first, second = memory.begin(title="One"), memory.begin(title="Two")
    memory.say(first, "prompt", text="Count the herons.", source="cli")
    spend(memory, first, output_tokens=1_000_000, model=OPUS, at=START - DAY)
    spend(memory, first, output_tokens=1_000_000, model="gpt-5-mini", at=START)
    spend(memory, second, output_tokens=1_000_000, model="gpt-5-mini", at=START)

    def rows(by: str, **more: Any) -> dict[Any, float]:
        return {row[by]: row["usd"] for row in memory.costs.table(by, **more)["rows"]}

    assert rows("day") == {"2026-11-15": 4.0, "2026-11-14": 25.0}
    assert rows("session") == {first: 27.0, second: 2.0}
    assert rows("model") == {OPUS: 25.0, "gpt-5-mini": 4.0}
    assert rows("day", since=START - 1) == {"2026-11-15": 4.0}
    assert sum(rows("thread").values()) == 29.0
    assert memory.costs.table()["total"]["usd"] == 29.0
    assert memory.costs.of_sessions([first, second])["usd"] == 29.0  # type: ignore[index]
    with pytest.raises(InvalidRequest):
        memory.costs.table("colour")


def test_a_fork_costs_only_its_own(memory: MemoryFixture) -> None:
    session = memory.begin()
    spend(memory, session, output_tokens=1_000_000, model=OPUS)
    branch = memory.rewind.fork(session)["id"]
    assert memory.sessions.get(branch)["cost"] is None


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("gpt-5", 1), ("gpt-5-2025-08-07", 1), ("gpt-5-mini", 3), ("openai/gpt-5-mini-latest", 3),
        ("gpt-5.5", None), ("gpt-5-turbo", None), ("my-gpt-5", None), ("", None),
    ],
)  # fmt: skip
def test_a_model_is_found_by_its_name_with_or_without_a_date(model: str, known: int | None) -> None:
    price = TABLE.price(model)
    assert (None if price is None else price.input) == known


def test_bedrock_names_are_known(memory: MemoryFixture) -> None:
    price = memory.costs.prices.price("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert price == Price(3.0, 15.0, 0.3, 3.75, 6.0)
