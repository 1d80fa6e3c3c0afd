"""What sessions cost: tokens from records, dollars from a price table.

The table is shipped with its date (prices.toml), and the user's own prices.toml wins over it. A model
without a price is named, never guessed. What an agent says that an answer cost counts instead of the table.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from fazm_memory.app.memory import Service
from fazm_memory.clock import to_datetime
from fazm_memory.errors import ConfigError, InvalidRequest
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import read_regular
from fazm_memory.records import dataclass, field
from fazm_memory.store import SessionRow, event_id, unpack

PRICES_FILE = "prices.toml"
UNKNOWN_MODEL = "unknown"
TOKENS = ("input_tokens", "output_tokens", "cached_tokens")
MILLION = 1_000_000
GROUPS = ("session", "day", "thread", "model")
# After the name of a model in the table: nothing, a date, or how a provider marks a variant.
VARIANT = lazy_regex(r"(?:[-@](?:\d{8}|\d{4}-\d\d-\d\d|latest)|\[1m\])*(?:-v\d+(?::\d+)?)?")
PROVIDER = lazy_regex(r"(?:.*/|(?:[a-z]{2,6}\.)?anthropic\.)")


@dataclass(frozen=True)
class Price:
    """Dollars per million tokens.

    Input that is written to a cache may cost more, and more for an hour.
    """

    input: float
    output: float
    cached: float
    written: float
    written_hour: float

    def of(self, usage: dict[str, Any]) -> float:
        """The dollars of a usage."""
        new, out, cached = (int(usage.get(name) or 0) for name in TOKENS)
        written, hour = (int(usage.get(name) or 0) for name in ("written_tokens", "written_hour_tokens"))
        spent = (new - written) * self.input + (written - hour) * self.written + hour * self.written_hour
        return (spent + out * self.output + cached * self.cached) / MILLION


@dataclass(frozen=True)
class PriceTable:
    date: str
    prices: dict[str, Price]
    own: bool  # whether the user has prices of their own
    _found: dict[str, Price | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def price(self, model: str) -> Price | None:
        if model not in self._found:
            self._found[model] = self._find(model)
        return self._found[model]

    def _find(self, model: str) -> Price | None:
        name = PROVIDER.sub("", model, count=1)
        for known in sorted(self.prices, key=len, reverse=True):
            if name.startswith(known) and VARIANT.fullmatch(name[len(known) :]):
                return self.prices[known]
        return None


@dataclass
class Cost:
    """A sum of usages. `unpriced` are the tokens of models without a price, by model."""

    tokens: Counter[str] = field(default_factory=Counter)
    usd: float = 0.0
    priced: bool = False
    unpriced: Counter[str] = field(default_factory=Counter)

    def add(self, usage: dict[str, Any], prices: PriceTable) -> None:
        counts = {name: int(usage.get(name) or 0) for name in TOKENS}
        self.tokens.update(counts)
        model, spent = str(usage.get("model") or UNKNOWN_MODEL), usage.get("cost_usd")
        price = prices.price(model)
        if spent is not None:
            self.usd, self.priced = self.usd + float(spent), True
        elif price is not None:
            self.usd, self.priced = self.usd + price.of(usage), True
        elif any(counts.values()):
            self.unpriced[model] += sum(counts.values())

    def add_all(self, other: Cost) -> None:
        self.tokens.update(other.tokens)
        self.unpriced.update(other.unpriced)
        self.usd += other.usd
        self.priced |= other.priced

    def to_json(self) -> dict[str, Any]:
        """The cost as JSON.

        `usd` is null if no model has a price, and too low if `unknown_models` is not empty.
        """
        return {
            **{name: self.tokens[name] for name in TOKENS},
            "usd": round(self.usd, 4) if self.priced else None,
            "unknown_models": sorted(self.unpriced),
        }


class CostService(Service):
    """What sessions cost. Use it as `memory.costs`."""

    @cached_property
    def prices(self) -> PriceTable:
        shipped = shipped_prices()
        path = self.config.home / PRICES_FILE
        try:
            text = read_regular(path).decode()
            import tomllib

            own = tomllib.loads(text)
            prices = _prices(own)
        except FileNotFoundError:
            own, prices = {}, {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            hint = 'a line of [models] is: "model-name" = { input = 1.0, output = 2.0, cached = 0.1 }'
            raise ConfigError(f"{path} cannot be read: {error}", hint=hint) from None
        return PriceTable(str(own.get("date", shipped["date"])), _prices(shipped) | prices, bool(own))

    def of_session(self, row: SessionRow) -> dict[str, Any] | None:
        """What a session cost, without the session that it was forked from.

        None if no usage is recorded.
        """
        known = self._known.get(row.n)
        if known is None or known[0] != row.head:
            head, cost = 0, Cost()
            if known is not None and not self._forgotten(row, known[0]):
                head = known[0]
                cost.add_all(known[1])
            for _, usage in self._usages(row, start=head):
                cost.add(usage, self.prices)
            known = self._known[row.n] = (row.head, cost)
        cost = known[1]
        return cost.to_json() if cost.tokens else None

    @cached_property
    def _known(self) -> dict[int, tuple[int, Cost]]:
        """By session: its head, and its cost up to there."""
        return {}

    def _forgotten(self, row: SessionRow, start: int) -> bool:
        """Whether anything of a session was forgotten from a position on."""
        found = self.store.db.execute(
            "SELECT 1 FROM event WHERE id >= ? AND id < ? AND kind='forgotten' LIMIT 1",
            (event_id(row.n, start), event_id(row.n, row.head)),
        )
        return found.fetchone() is not None

    def _usages(
        self, row: SessionRow, since: int = 0, *, start: int = 0
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """The time and the payload of each usage from a position on.

        What was rewound was paid too.
        """
        rows = self.store.db.execute(
            "SELECT at, payload FROM event WHERE id >= ? AND id < ? AND kind='usage' AND at >= ?"
            " AND payload IS NOT NULL",
            (event_id(row.n, start), event_id(row.n, row.head), since),
        ).fetchall()
        for at, payload in rows:
            yield at, json.loads(unpack(payload))

    def table(self, by: str = "day", *, since: int = 0) -> dict[str, Any]:
        """The costs by session, day, model, or thread of the current context.

        The latest comes first.
        """
        if by not in GROUPS:
            raise InvalidRequest(
                f'Costs cannot be grouped by "{by[:40]}".', hint=f"groups: {', '.join(GROUPS)}"
            )
        total, groups = Cost(), dict[str, Cost]()
        labels = self._thread_labels() if by == "thread" else {}
        for row in self.store.sessions.listing(limit=None, background=True):
            if row.last_at < since:
                continue
            for at, usage in self._usages(row, since):
                keys = {
                    "session": row.id,
                    "day": f"{to_datetime(at):%Y-%m-%d}",
                    "model": str(usage.get("model") or UNKNOWN_MODEL),
                    "thread": labels.get(row.id, ""),
                }
                groups.setdefault(keys[by], Cost()).add(usage, self.prices)
                total.add(usage, self.prices)
        names = sorted(groups, reverse=True) if by == "day" else list(groups)
        return {
            "by": by,
            "rows": [{by: name or None, **self._label(by, name), **groups[name].to_json()} for name in names],
            "total": total.to_json(),
            "prices": {"date": self.prices.date, "own": self.prices.own},
        }

    def _label(self, by: str, name: str) -> dict[str, Any]:
        if by != "session":
            return {}
        row = self.store.sessions.resolve(name)
        return {"title": row.title, "agent": row.agent}

    def _thread_labels(self) -> dict[str, str]:
        """The goal of the thread that each session belongs to."""
        threads = self._memory.recall.present_context().data["threads"]
        return {session: thread["goal"] for thread in threads for session in thread["sessions"]}

    def of_sessions(self, sessions: Iterable[str]) -> dict[str, Any] | None:
        """What several sessions cost together; None if no usage is recorded."""
        total = Cost()
        for session in sessions:
            row = self.store.sessions.resolve(session)
            if self.of_session(row) is not None:
                total.add_all(self._known[row.n][1])
        return total.to_json() if total.tokens else None


def shipped_prices() -> dict[str, Any]:
    """Our own table of prices, read line by line.

    Loading a reader for TOML would take an eighth of `show`.
    """
    models, found = dict[str, Any](), {"date": ""}
    for line in (Path(__file__).parents[1] / PRICES_FILE).read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(" = ")
        if value.startswith("{") and not line.startswith("#"):
            fields = (part.split(" = ") for part in value.strip("{ }").split(","))
            models[name.strip('"')] = {field.strip(): float(number) for field, number in fields}
        elif name == "date":
            found["date"] = value.strip('"')
    return {**found, "models": models}


def _prices(table: dict[str, Any]) -> dict[str, Price]:
    return {name: _price(name, price) for name, price in table.get("models", {}).items()}


def _price(name: str, price: dict[str, Any]) -> Price:
    """A price. What is not said of the cache costs as much as other input."""
    try:
        new, out = float(price["input"]), float(price["output"])
        written = float(price.get("written", new))
        hour = float(price.get("written_hour", written))
        return Price(new, out, float(price.get("cached", new)), written, hour)
    except KeyError as error:
        raise ValueError(f'"{name}" has no price for {error.args[0]}') from None
    except (TypeError, ValueError):
        raise ValueError(f'the prices of "{name}" are no numbers') from None


def cost_text(cost: dict[str, Any]) -> str:
    """The cost in words: dollars, tokens, and which models have no price."""
    new, out, cached = (cost[f"{name}_tokens"] for name in ("input", "output", "cached"))
    tokens = f"{new:,} tokens in, {out:,} out, {cached:,} cached"
    unknown = ", ".join(cost["unknown_models"])
    if cost["usd"] is None:
        return f"{tokens}; no price for {unknown}"
    return f"${cost['usd']:,.2f} for {tokens}" + (
        f"; without {unknown}, whose price is not known" if unknown else ""
    )
