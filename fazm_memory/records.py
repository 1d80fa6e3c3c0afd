"""Dataclasses that cost little to define: their methods are made when first used.

A command defines some hundred classes and uses few of them. `dataclasses` writes and compiles up to nine
methods for each, which was half of the time of a short command. Here `__init__` is compiled at the first
instance, and the other methods are shared functions. Behaviour and type checking are those of `dataclasses`,
whose functions also accept these classes. Rare options are left to `dataclasses` itself.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import MISSING as MISSING
    from dataclasses import Field as Field
    from dataclasses import asdict as asdict
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import is_dataclass as is_dataclass
    from dataclasses import replace as replace
else:
    FIELDS = "__record_fields__"
    MISSING = type("MISSING", (), {"__repr__": lambda self: "MISSING"})()

    class Field:
        """A declared field, with the attributes of `dataclasses.Field`."""

        __slots__ = ("compare", "default", "default_factory", "init", "metadata", "name", "repr", "type")

        def __init__(self, default, default_factory, init, repr, compare, metadata):
            self.name = self.type = ""
            self.default = default
            self.default_factory = default_factory
            self.init = init
            self.repr = repr
            self.compare = compare
            self.metadata = metadata or {}

    def field(*, default=MISSING, default_factory=MISSING, init=True, repr=True, compare=True, metadata=None):
        return Field(default, default_factory, init, repr, compare, metadata)

    def dataclass(cls=None, /, **options):
        if cls is None:
            return lambda cls: _make(cls, **options)
        return _make(cls, **options)

    def _make(cls, *, frozen=False, slots=False, eq=True, order=False):
        annotations = cls.__dict__.get("__annotations__", {})  # noqa: RUF063 (inspect is slow to import)
        if order or not all(isinstance(hint, str) for hint in annotations.values()):
            from dataclasses import dataclass as standard

            return standard(frozen=frozen, slots=slots, eq=eq, order=order)(cls)
        known = {}
        for base in cls.__mro__[-1:0:-1]:
            known.update(base.__dict__.get(FIELDS, {}))
        for name, hint in annotations.items():
            if not hint.startswith(("ClassVar", "typing.ClassVar")):
                known[name] = _declared(cls, name, hint)
        if slots:
            cls = _with_slots(cls, annotations.keys() & known.keys())
        setattr(cls, FIELDS, known)
        cls.__match_args__ = tuple([item.name for item in known.values() if item.init])
        cls.__dataclass_fields__ = _Standard(cls, "__dataclass_fields__", (frozen, slots, eq))
        cls.__dataclass_params__ = _Standard(cls, "__dataclass_params__", (frozen, slots, eq))
        own = cls.__dict__
        if "__init__" not in own:
            cls.__init__ = _first_init(cls, frozen=frozen, slots=slots)
        if "__repr__" not in own:
            cls.__repr__ = _repr
        if eq and "__eq__" not in own:
            _add_comparison(cls, known, frozen)
        if frozen:
            _add_guards(cls, known)
            if slots and "__getstate__" not in own:
                cls.__getstate__ = _get_state
                cls.__setstate__ = _set_state
        return cls

    def _declared(cls, name, hint):
        """The field of an annotation.

        The class keeps only its default, as with `dataclasses`.
        """
        default = cls.__dict__.get(name, MISSING)
        if isinstance(default, Field):
            item = default
            if item.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, item.default)
        else:
            item = Field(default, MISSING, True, True, True, None)
        if item.default is not MISSING and item.default.__class__.__hash__ is None:
            raise ValueError(f"{cls.__name__}.{name} needs a default_factory: its default can change")
        item.name, item.type = name, hint
        return item

    def _with_slots(cls, names):
        inherited = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
        content = {
            name: value
            for name, value in cls.__dict__.items()
            if name not in names and name not in ("__dict__", "__weakref__")
        }
        content["__slots__"] = tuple([name for name in cls.__annotations__ if name in names - inherited])
        content["__qualname__"] = cls.__qualname__
        return type(cls)(cls.__name__, cls.__bases__, content)

    def _first_init(cls, **options):
        def __init__(self, *args, **kwargs):
            cls.__init__ = _compiled_init(cls, **options)
            cls.__init__(self, *args, **kwargs)

        return __init__

    def _compiled_init(cls, *, frozen, slots):
        names = {"_MISSING": MISSING, "_set": object.__setattr__}
        parameters, body = ["self"], []
        for item in getattr(cls, FIELDS).values():
            name, value = item.name, item.name
            if item.default is not MISSING:
                names[f"_d_{name}"] = item.default
                default = f"={f'_d_{name}'}"
            elif item.default_factory is not MISSING:
                names[f"_f_{name}"] = item.default_factory
                default = "=_MISSING"
                value = f"_f_{name}() if {name} is _MISSING else {name}"
            else:
                default = ""
            if item.init:
                parameters.append(name + default)
            elif default == "" or (item.default is not MISSING and not slots):
                continue  # set by __post_init__, or the class has it
            else:
                value = f"_d_{name}" if item.default is not MISSING else f"_f_{name}()"
            if not frozen:
                body.append(f" self.{name} = {value}")
            elif slots:
                names[f"_s_{name}"] = getattr(cls, name).__set__
                body.append(f" _s_{name}(self, {value})")
            else:
                body.append(f" _set(self, {name!r}, {value})")
        if hasattr(cls, "__post_init__"):
            body.append(" self.__post_init__()")
        exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(body or [" pass"]), names)
        made = names["__init__"]
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        return made

    def _repr(self):
        shown = [
            f"{item.name}={getattr(self, item.name)!r}"
            for item in getattr(self, FIELDS).values()
            if item.repr
        ]
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    def _add_comparison(cls, known, frozen):
        compared = [item.name for item in known.values() if item.compare]
        values = attrgetter(*compared) if compared else lambda self: ()

        def __eq__(self, other):
            if other.__class__ is not self.__class__:
                return NotImplemented
            return values(self) == values(other)

        cls.__eq__ = __eq__
        if "__hash__" in cls.__dict__ and cls.__dict__["__hash__"] is not None:
            return
        cls.__hash__ = (lambda self: hash(values(self))) if frozen else None

    def _add_guards(cls, known):
        def __setattr__(self, name, value):
            if type(self) is cls or name in known:
                _refuse(f"cannot assign to field {name!r}")
            super(cls, self).__setattr__(name, value)

        def __delattr__(self, name):
            if type(self) is cls or name in known:
                _refuse(f"cannot delete field {name!r}")
            super(cls, self).__delattr__(name)

        cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__

    def _refuse(message):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(message)

    def _get_state(self):
        return [getattr(self, name) for name in getattr(self, FIELDS)]

    def _set_state(self, state):
        for name, value in zip(getattr(self, FIELDS), state, strict=True):
            object.__setattr__(self, name, value)

    class _Standard:
        """What `dataclasses` looks for on its classes, made when it looks."""

        def __init__(self, cls, name, options):
            self.cls, self.name, self.options = cls, name, options

        def __get__(self, instance, owner):
            import dataclasses

            frozen, _, eq = self.options
            rows = []
            for item in getattr(self.cls, FIELDS).values():
                options = {} if item.default is MISSING else {"default": item.default}
                if item.default_factory is not MISSING:
                    options["default_factory"] = item.default_factory
                options |= {"init": item.init, "repr": item.repr, "compare": item.compare}
                rows.append((item.name, item.type, dataclasses.field(metadata=item.metadata, **options)))
            twin = dataclasses.make_dataclass(self.cls.__name__, rows, frozen=frozen, eq=eq)
            self.cls.__dataclass_fields__ = twin.__dataclass_fields__
            self.cls.__dataclass_params__ = twin.__dataclass_params__
            return getattr(self.cls, self.name)

    def fields(what):
        known = getattr(what, FIELDS, None)
        if known is None:
            from dataclasses import fields as standard

            return standard(what)
        return tuple(known.values())

    def is_dataclass(what):
        return hasattr(what, FIELDS) or hasattr(what, "__dataclass_fields__")

    def replace(value, /, **changes):
        known = getattr(value, FIELDS, None)
        if known is None:
            from dataclasses import replace as standard

            return standard(value, **changes)
        for item in known.values():
            if item.init and item.name not in changes:
                changes[item.name] = getattr(value, item.name)
        return value.__class__(**changes)

    def asdict(value):
        from dataclasses import asdict as standard

        return standard(value)
