"""Our cheap dataclasses behave like those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import Any, ClassVar

import pytest

from fazm_memory import records


def declare(dataclass: Any, field: Any, **options: bool) -> tuple[type, type]:
    """The same two classes, made by either library."""

    @dataclass(**options)
    class Base:
        name: str
        count: int = 3
        kind: ClassVar[str] = "base"

    @dataclass(**options)
    class Derived(Base):
        items: list[str] = field(default_factory=list)
        secret: str = field(default="hidden", repr=False, compare=False)
        fixed: int = field(default=7, init=False)

    return Base, Derived


OPTIONS = [
    {"frozen": frozen, "slots": slots, "eq": eq}
    for frozen in (False, True)
    for slots in (False, True)
    for eq in (False, True)
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_instances_are_made_shown_and_compared_as_in_the_standard_library(options: dict[str, bool]) -> None:
    ours, theirs = (
        declare(library.dataclass, library.field, **options)[1] for library in (records, dataclasses)
    )
    for arguments in (("a",), ("a", 5), ("a", 5, ["x"]), ("a", 5, ["x"], "other")):
        made, expected = ours(*arguments), theirs(*arguments)
        assert repr(made) == repr(expected)
        assert (made == ours(*arguments)) is (expected == theirs(*arguments))
        assert (made == ours("b")) is False
        assert dataclasses.asdict(made) == dataclasses.asdict(expected)
    assert (ours("a", secret="x") == ours("a", secret="y")) is options["eq"]
    assert made != expected
    assert ours.__match_args__ == theirs.__match_args__  # type: ignore[attr-defined]
    assert hasattr(made, "__dict__") is hasattr(expected, "__dict__")
    assert (ours.__hash__ is None) is (theirs.__hash__ is None)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_default_factory_makes_a_new_value_for_each_instance(options: dict[str, bool]) -> None:
    made = declare(records.dataclass, records.field, **options)[1]
    assert made("a").items is not made("a").items


@pytest.mark.parametrize("slots", [False, True])
def test_a_frozen_instance_refuses_changes(slots: bool) -> None:
    made = declare(records.dataclass, records.field, frozen=True, slots=slots)[0]("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.name
    assert made.name == "a"


@pytest.mark.parametrize("arguments", [(), ("a", 1, 2), ("a", 1, 2, 3)])
def test_wrong_arguments_are_refused_at_every_call(arguments: tuple[Any, ...]) -> None:
    base = declare(records.dataclass, records.field, frozen=True, slots=True)[0]
    for _ in range(2):
        with pytest.raises(TypeError):
            base(*arguments)


@records.dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0


@records.dataclass(frozen=True)
class Line:
    start: Point
    end: Point
    length: int = records.field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", self.end.x - self.start.x)


def test_instances_survive_pickling_and_copying() -> None:
    line = Line(Point(1), Point(4))
    for again in (pickle.loads(pickle.dumps(line)), copy.deepcopy(line)):
        assert again == line
        assert again.length == 3
        assert hash(again) == hash(line)


def test_replace_makes_a_changed_copy_of_either_kind_of_dataclass() -> None:
    standard = dataclasses.make_dataclass("standard", ["x"])
    assert records.replace(Point(1, 2), y=3) == Point(1, 3)
    assert dataclasses.replace(Point(1, 2), y=3) == Point(1, 3)
    assert records.replace(standard(1), x=2) == standard(2)
    assert records.replace(Line(Point(1), Point(4)), end=Point(9)).length == 8
    with pytest.raises(TypeError):
        records.replace(Point(1), z=3)  # type: ignore[call-arg]


def test_the_standard_library_knows_the_fields() -> None:
    assert dataclasses.is_dataclass(Line)
    assert [item.name for item in dataclasses.fields(Line)] == ["start", "end", "length"]
    assert [item.name for item in records.fields(Line)] == ["start", "end", "length"]

    @dataclasses.dataclass(frozen=True)
    class Arrow(Line):
        tip: str = "open"

    assert Arrow(Point(1), Point(2)).tip == "open"


def test_a_default_that_can_change_is_refused() -> None:
    with pytest.raises(ValueError, match="default_factory"):

        @records.dataclass
        class Wrong:
            items: list[str] = []  # noqa: RUF012


def test_a_match_statement_takes_the_fields_in_order() -> None:
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_classes_can_be_ordered() -> None:
    @records.dataclass(frozen=True, order=True)
    class Version:
        major: int
        minor: int

    assert Version(1, 9) < Version(2, 0)


def test_defining_and_using_them_does_not_load_the_standard_module() -> None:
    code = (
        "from __future__ import annotations\n"
        "import sys\n"
        "from fazm_memory.records import dataclass, field, fields, replace\n"
        "@dataclass(frozen=True, slots=True)\n"
        "class One:\n"
        "    x: int\n"
        "    y: list = field(default_factory=list)\n"
        "assert replace(One(1), x=2) == One(2) and fields(One)\n"
        "print('dataclasses' in sys.modules)\n"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == "False\n"
