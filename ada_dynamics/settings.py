# SPDX-License-Identifier: Apache-2.0
"""Typed settings of a node or a controller: a frozen dataclass whose fields say their range, unit and meaning; no ROS.

    @dataclass(frozen=True)
    class Rates:
        physics_rate: float = setting(1000.0, "steps of the physics", unit="Hz", lower=1.0, upper=1e5)
        integrator: str = setting("auto", "method of the steps", choices=("auto", "rk4"))

    checked(Rates, {"physics_rate": 500})      # Rates(physics_rate=500.0, integrator="auto")
    checked(Rates, {"physics_rate": "fast"})   # InputError that names the field, its range and unit

Rules between fields stand in the class' `__post_init__`, which raises InputError.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from ada_dynamics.errors import InputError, unknown_name

S = TypeVar("S")
Value: TypeAlias = "bool | int | float | str | tuple[float, ...] | tuple[str, ...]"
Kind: TypeAlias = Literal["bool", "int", "float", "str", "floats", "strs"]

_KEY = "ada_dynamics setting"
_SCALARS: dict[object, Kind] = {bool: "bool", int: "int", float: "float", str: "str"}
_LISTS: dict[object, Kind] = {float: "floats", str: "strs"}
_NOUNS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "floats": "a list of numbers",
    "strs": "a list of texts",
}


class Setting(NamedTuple):
    """One field of a settings class.

    Attributes:
        name: as users write it.
        kind: "bool", "int", "float", "str", "floats" (a tuple) or "strs" (a tuple).
        default: value where the user gives none.
        description: what it does, for users.
        unit: such as "Hz"; empty where there is none.
        lower: least value, of each number of a list; None: no bound.
        upper: largest value.
        choices: allowed values (of each item of a list); empty: any.
        read_only: fixed after the start.
        field: name of the dataclass' field.
    """

    name: str
    kind: Kind
    default: Value
    description: str
    unit: str
    lower: float | None
    upper: float | None
    choices: tuple[Value, ...]
    read_only: bool
    field: str

    @property
    def allowed(self) -> str:
        """The allowed values in words, such as "a number from 1 to 1000 [Hz]"."""
        if self.choices:
            one = "one of " + ", ".join(repr(choice) for choice in self.choices)
            return one if self.kind not in _LISTS.values() else f"a list, each item {one}"
        text = _NOUNS[self.kind] + (", each" if self.kind == "floats" and self._bounds else "") + self._bounds
        return text + (f" [{self.unit}]" if self.unit else "")

    @property
    def _bounds(self) -> str:
        if self.lower is not None and self.upper is not None:
            return f" from {self.lower:g} to {self.upper:g}"
        if self.lower is not None:
            return f" of at least {self.lower:g}"
        return "" if self.upper is None else f" of at most {self.upper:g}"


def setting(
    default: Value,
    description: str,
    *,
    unit: str = "",
    lower: float | None = None,
    upper: float | None = None,
    choices: Iterable[Value] = (),
    read_only: bool = False,
    name: str | None = None,
) -> Any:
    """A field of a settings class; see `Setting` for the arguments.

    Args:
        default: value where the user gives none.
        description: what it does, for users.
        unit: of numbers.
        lower: bound, itself allowed.
        upper: bound, itself allowed.
        choices: allowed values.
        read_only: fixed after the start.
        name: as users write it, where that is no Python name; the field's own by default.
    """
    about = {
        "description": description,
        "unit": unit,
        "lower": lower,
        "upper": upper,
        "choices": tuple(choices),
        "read_only": read_only,
        "name": name,
    }
    return dataclasses.field(default=default, metadata={_KEY: about})


def fields_of(cls: type[Any]) -> tuple[Setting, ...]:
    """The settings of a class, in its order.

    Raises:
        TypeError: the class is not a frozen dataclass of `setting` fields of the six kinds.
    """
    if not dataclasses.is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise TypeError(f"{cls.__name__} is no frozen dataclass")
    hints = get_type_hints(cls)
    found = []
    for field in dataclasses.fields(cls):
        if _KEY not in field.metadata:
            raise TypeError(f"field {field.name} of {cls.__name__} is no setting(...)")
        about: dict[str, Any] = dict(field.metadata[_KEY])
        about["name"] = about["name"] or field.name
        kind = _kind(hints[field.name], f"{cls.__name__}.{field.name}")
        default: Any = field.default
        one = Setting(kind=kind, default=default, field=field.name, **about)
        try:
            _converted(one, one.default, one.name)
        except InputError as problem:
            raise TypeError(f"default of {cls.__name__}.{field.name}: {problem}") from None
        found.append(one)
    return tuple(found)


def _kind(hint: object, where: str) -> Kind:
    if hint in _SCALARS:
        return _SCALARS[hint]
    arguments = get_args(hint)
    if get_origin(hint) is tuple and len(arguments) == 2 and arguments[1] is Ellipsis and arguments[0] in _LISTS:
        return _LISTS[arguments[0]]
    raise TypeError(f"{where} is a {hint}; settings are bool, int, float, str, tuple[float, ...] or tuple[str, ...]")


def checked(cls: type[S], values: Mapping[str, object], *, prefix: str = "") -> S:
    """Settings from values by name, as a user gave them; the others keep their defaults.

    Args:
        cls: settings class.
        values: whole numbers may stand for numbers, lists for tuples.
        prefix: what stands before each name where the user sees it, with its dot: "servo.s1.".

    Raises:
        InputError: an unknown name, or a value that is not allowed.
    """
    settings = {one.name: one for one in fields_of(cls)}
    for name in values:
        if name not in settings:
            raise unknown_name("parameter", prefix + str(name), [prefix + known for known in settings])
    fields = {settings[name].field: _converted(settings[name], value, prefix + name) for name, value in values.items()}
    return cls(**fields)


def as_mapping(settings: object) -> dict[str, Value]:
    """The values of settings by the names that users write; `checked` makes the same settings of them."""
    return {one.name: getattr(settings, one.field) for one in fields_of(type(settings))}


def _converted(one: Setting, value: object, name: str) -> Value:
    """The value in the setting's own type.

    Raises:
        InputError: it is of another kind, out of range, or not among the choices.
    """
    items: list[Any] | None = None
    if one.kind in _LISTS.values():
        # A `str` is a sequence too, but the user of `wrenches: all` meant one item, and the error says so.
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            raise _refused(one, name, value)
        items = [_item(one, item) for item in value]
    result = [_item(one, value)] if items is None else items
    if any(item is None or not _is_allowed(one, item) for item in result):
        raise _refused(one, name, value)
    value_in_kind: Value = result[0] if items is None else tuple(items)  # type: ignore[assignment]
    return value_in_kind


def _item(one: Setting, value: object) -> bool | int | float | str | None:
    """A scalar in the wanted type, None if it is of another."""
    is_bool = isinstance(value, (bool, np.bool_))
    if one.kind == "bool":
        return bool(value) if is_bool else None
    if one.kind in ("str", "strs"):
        if is_bool and one.choices:  # YAML reads the words on and off as booleans
            value = "on" if value else "off"
        return str(value) if isinstance(value, str) else None
    if one.kind == "int":
        return int(value) if isinstance(value, Integral) and not is_bool else None
    if not isinstance(value, Real) or is_bool:
        return None
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all floats
        return math.inf


def _is_allowed(one: Setting, item: bool | int | float | str) -> bool:
    if one.choices and item not in one.choices:
        return False
    if isinstance(item, (bool, str)):
        return True
    is_finite = isinstance(item, int) or math.isfinite(item)  # of a large whole number this cannot be asked
    return is_finite and (one.lower is None or item >= one.lower) and (one.upper is None or item <= one.upper)


def _refused(one: Setting, name: str, value: object) -> InputError:
    shown = "not set" if value is None else f"{_shown(value):.80}"
    hint = ""
    if one.kind == "str" and not one.choices and isinstance(value, (bool, int, float)):
        hint = f" Put it in quotes, in a shell in two pairs of them: {name}:=\"'{value}'\"."
    if one.kind == "floats" and isinstance(value, str):
        hint = " Write [0.0, 1.5]."
    if one.kind == "strs" and isinstance(value, str):
        hint = f" Write [{value}]."
    return InputError(
        f"parameter {name} is {shown}; it must be {one.allowed} ({one.description}).{hint}",
        field=name,
        value=value,
        allowed=one.allowed,
    )


def _shown(value: object) -> str:
    if isinstance(value, (str, bytes, Mapping, types.GeneratorType)) or not isinstance(value, Iterable):
        return repr(value)
    return repr(list(value))
