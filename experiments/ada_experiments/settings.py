# SPDX-License-Identifier: Apache-2.0
"""Settings of an experiment, read from its scenario into a named tuple.

The fields are the keys of the scenario, with their units:

    class PushSettings(NamedTuple):
        points: tuple[str, ...]
        largest: Annotated[float, "N s"]            # greater than 0
        offset: Annotated[float, "m", OR_ZERO]      # any number
        delays: Annotated[tuple[float, ...], "s"]
        gains: Gains                                # a nested mapping
        whole: bool = True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from ada_tools.scenario.fields import Part
from ada_tools.scenario.scenario import Scenario, settings_of

S = TypeVar("S", bound=tuple[Any, ...])
OR_ZERO = "or zero"


def read_settings(scenario: Scenario, cls: type[S], also: Sequence[str] = ()) -> S:
    """Settings of a scenario as a named tuple; missing ones have their defaults.

    Args:
        scenario: scenario of the experiment.
        cls: named tuple with units.
        also: other keys that the experiment reads itself.

    Raises:
        ScenarioError: a key is unknown or missing, or a value has a wrong unit or is out of range.
    """
    return _read(settings_of(scenario, (*_fields(cls), *also)), cls)


def _fields(cls: type[Any]) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def _read(part: Part, cls: type[S]) -> S:
    defaults: dict[str, Any] = getattr(cls, "_field_defaults", {})
    wanted = {name: hint for name, hint in _fields(cls).items() if part.has(name) or name not in defaults}
    make: Any = cls
    return make(**{name: _value(part, name, hint) for name, hint in wanted.items()})  # type: ignore[no-any-return]


def _value(part: Part, name: str, hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        kind, unit, *more = get_args(hint)
        if kind is not float:
            return part.vector(name, (unit,) * max(1, len(part.items(name))))
        return part.quantity(name, unit) if more else part.positive(name, unit)
    if hint is bool:
        return part.flag(name)
    if hint is int:
        return part.whole(name)
    if hint is str:
        return part.text(name)
    return part.texts(name) if get_origin(hint) is tuple else _read(part.part(name, list(_fields(hint))), hint)
