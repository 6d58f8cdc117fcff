# SPDX-License-Identifier: Apache-2.0
"""Typed settings of nodes and controllers: frozen dataclasses whose fields have a range, a unit and a description.

    @dataclass(frozen=True)
    class Rates:
        physics_rate: float = setting(1000.0, "steps of the physics", unit="Hz", lower=1.0, upper=1e5)
        integrator: str = setting("auto", "method of the steps", choices=("auto", "rk4"))

    checked(Rates, {"physics_rate": 500})      # Rates(physics_rate=500.0, integrator="auto")
    checked(Rates, {"physics_rate": "fast"})   # InputError with the field, its range and unit

Constraints between fields are checked by `__post_init__` of the class, which raises InputError.
"""

from __future__ import annotations

import dataclasses
import json
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
    """One field of a settings class."""

    name: str  # name of the field
    kind: Kind  # "bool", "int", "float", "str", "floats" (a tuple) or "strs" (a tuple)
    default: Value  # default value
    description: str  # description for users
    unit: str  # such as "Hz", or empty
    lower: float | None  # lower bound of a number or of each number of a list; None for no bound
    upper: float | None  # upper bound
    choices: tuple[Value, ...]  # allowed values of a scalar or of each item of a list; empty for any
    read_only: bool  # True if the value is fixed after the start

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
) -> Any:
    """Field of a settings class; the arguments are those of `Setting`, with inclusive bounds."""
    numbers = {"unit": unit, "lower": lower, "upper": upper}
    about = {"description": description, **numbers, "choices": tuple(choices), "read_only": read_only}
    return dataclasses.field(default=default, metadata={_KEY: about})


def fields_of(cls: type[Any]) -> tuple[Setting, ...]:
    """Settings of a dataclass of `setting` fields, in the order of its fields.

    Raises:
        TypeError: a field has an unsupported type, or an invalid default.
    """
    hints = get_type_hints(cls)
    found = []
    for field in dataclasses.fields(cls):
        about: dict[str, Any] = dict(field.metadata[_KEY])
        kind = _kind(hints[field.name], f"{cls.__name__}.{field.name}")
        default: Any = field.default
        one = Setting(name=field.name, kind=kind, default=default, **about)
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
    """Create settings from the values given by a user; the other fields keep their defaults.

    Args:
        cls: settings class.
        values: values by name. Integers are accepted as floats, lists as tuples.
        prefix: prefix of the names in error messages, such as "servo.s1.".

    Raises:
        InputError: a name is unknown, or a value is not allowed.
    """
    settings = {one.name: one for one in fields_of(cls)}
    for name in values:
        if name not in settings:
            raise unknown_name("parameter", prefix + str(name), [prefix + known for known in settings])
    fields = {name: _converted(settings[name], value, prefix + name) for name, value in values.items()}
    return cls(**fields)


def as_mapping(settings: object) -> dict[str, Value]:
    """Values of settings by name; the inverse of `checked`."""
    return {one.name: getattr(settings, one.name) for one in fields_of(type(settings))}


def _converted(one: Setting, value: object, name: str) -> Value:
    """Convert a value to the type of the setting.

    Raises:
        InputError: the value has another type, is out of range, or is not among the choices.
    """
    is_list = one.kind in _LISTS.values()
    # a `str` is an iterable, too, but `wrenches: all` means one item
    if is_list and (isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable)):
        raise _refused(one, name, value)
    given: Any = value if is_list else (value,)
    items: Any = tuple(_item(one, item) for item in given)
    if any(item is None or not _is_allowed(one, item) for item in items):
        raise _refused(one, name, value)
    converted: Value = items if is_list else items[0]
    return converted


def _item(one: Setting, value: object) -> bool | int | float | str | None:
    """Convert a scalar to the type of the setting; None if it has another type."""
    is_bool = isinstance(value, (bool, np.bool_))
    if one.kind == "bool":
        return bool(value) if is_bool else None
    if one.kind in ("str", "strs"):
        if is_bool and one.choices:  # YAML reads `on` and `off` as booleans
            value = "on" if value else "off"
        return str(value) if isinstance(value, str) else None
    if one.kind == "int":
        return int(value) if isinstance(value, Integral) and not is_bool else None
    if not isinstance(value, Real) or is_bool:
        return None
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of floats
        return math.inf


def _is_allowed(one: Setting, item: bool | int | float | str) -> bool:
    if one.choices and item not in one.choices:
        return False
    if isinstance(item, (bool, str)):
        return True
    is_finite = isinstance(item, int) or math.isfinite(item)  # isfinite fails for large integers
    return is_finite and (one.lower is None or item >= one.lower) and (one.upper is None or item <= one.upper)


def _refused(one: Setting, name: str, value: object) -> InputError:
    shown = "not set" if value is None else repr(value)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping, types.GeneratorType)):
        shown = repr(list(value))
    hint = ""
    if one.kind == "str" and not one.choices and isinstance(value, (bool, int, float)):
        hint = f" Quote it, in a shell twice: {name}:=\"'{value}'\"."
    if one.kind == "floats" and isinstance(value, (str, int, float)):
        hint = " Write [0.0, 1.5]."
    if one.kind == "strs" and isinstance(value, str):
        hint = f" Write [{value}]."
    text = f"parameter {name} is {shown:.80}; it must be {one.allowed} ({one.description}).{hint}"
    return InputError(text, field=name, value=value, allowed=one.allowed)


def option_values(option: str, texts: Iterable[str]) -> dict[str, object]:
    """Parse repeated command-line options of the form `--setting period=0.004 --setting url=dry:`.

    Args:
        option: name of the option without dashes.
        texts: NAME=VALUE each. A value is parsed as JSON, or kept as text if it is not JSON.

    Raises:
        InputError: a text has no name or no "=", or a name is repeated.
    """
    found: dict[str, object] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            message = f"--{option} {text!r}: write NAME=VALUE, such as --{option} NAME=0.1."
            raise InputError(message, field=option, value=text)
        if name in found:
            raise InputError(f"--{option} {name} is given twice; give it once.", field=name)
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def option_numbers(option: str, texts: Iterable[str]) -> dict[str, float]:
    """Parse options as `option_values` does and require numbers.

    Raises:
        InputError: as for `option_values`, or a value is not a finite number.
    """
    found = {}
    for name, value in option_values(option, texts).items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            text = f"--{option} {name}={value}: it must be a number, such as --{option} {name}=0.1."
            raise InputError(text, field=name, value=value)
        found[name] = float(value)
    return found
