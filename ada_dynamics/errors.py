# SPDX-License-Identifier: Apache-2.0
"""Errors and warnings of the library, dictionaries that raise them for unknown names, and exit codes of `ada` commands.

A message states the fault, its location, the allowed values and the fix.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

MAX_MESSAGE_LENGTH = 4000  # characters

# Exit codes of the `ada` commands.
USAGE_ERROR = 2
OUTPUT_LOST = 74  # EX_IOERR of sysexits.h, e.g. for a full disk or a closed terminal
INTERRUPTED = 130  # 128 + SIGINT
PIPE_CLOSED = 141  # 128 + SIGPIPE

T = TypeVar("T")


class AdaError(Exception):
    """Base class of the errors that this library raises.

    An attribute that does not apply to an error is None. Messages longer than `MAX_MESSAGE_LENGTH`, which malformed
    files can cause, are shortened in the middle.

    Attributes:
        joint: name of the joint.
        link: name of the link.
        loop: name of the loop joint.
        file: path of the file as given by the caller.
        line: line number in that file, starting at 1.
        field: name of the argument, parameter, attribute or element.
        value: the rejected value.
        allowed: the allowed values: names, a range, or a type.
    """

    def __init__(
        self,
        *words: object,
        joint: str | None = None,
        link: str | None = None,
        loop: str | None = None,
        file: object = None,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
        allowed: object = None,
    ) -> None:
        """Initialize with the message and the attributes of the error."""
        super().__init__(*(_shortened(word) if isinstance(word, str) else word for word in words))
        self.joint, self.link, self.loop = joint, link, loop
        self.file, self.line = None if file is None else str(file), line
        self.field, self.value, self.allowed = field, value, allowed


def _shortened(text: str) -> str:
    if len(text) <= MAX_MESSAGE_LENGTH:
        return text
    half = MAX_MESSAGE_LENGTH // 2 - 50
    return f"{text[:half]} [... {len(text) - 2 * half} characters ...] {text[-half:]}"


class InputError(AdaError, ValueError):
    """Invalid argument: unknown name, wrong length, wrong type, out of range, or not finite."""


class UnknownNameError(InputError, KeyError):
    """Unknown link, joint, loop or choice; the message suggests similar names. Also a KeyError."""

    __str__ = Exception.__str__  # KeyError.__str__ would put the message in quotes


class WrongTypeError(InputError, TypeError):
    """Argument of the wrong type, for example after swapping two arguments. Also a TypeError."""


class ReadOnlyError(AdaError, AttributeError, TypeError):
    """Assignment to a read-only attribute; the message names the function that makes a modified copy."""


class ModelError(AdaError, ValueError):
    """Invalid robot description; the message names the file, link, joint or field."""


class SingularConfigurationError(InputError):
    """The quantity is undefined at a singular configuration; the message names the loops or joints."""


class CompileError(AdaError, RuntimeError):
    """A kernel could not be compiled or loaded."""


class DeviceError(AdaError, RuntimeError):
    """A GPU is not usable or failed; the message includes the reason from the driver."""


class NoDeviceError(DeviceError):
    """No GPU driver, or no GPU of that number."""


class DriverTooOldError(DeviceError):
    """The GPU driver is too old; the message states its version and the required version."""


class DeviceMemoryError(DeviceError, MemoryError):
    """Out of GPU memory; the message states the requested and the free memory."""


class RecordingError(AdaError, RuntimeError):
    """A recording cannot be written or read; the message names the file and the reason."""


def unknown_name(what: str, name: object, allowed: Iterable[str]) -> UnknownNameError:
    """Return the error for a name of some kind, such as "joint", that is not allowed; it suggests similar names."""
    names = list(allowed)
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    shown = ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    message = f"no {what} is named {name!r}.{hint} Known: {shown or 'none'}."
    error = UnknownNameError(message, field=what, value=name, allowed=tuple(names))
    if what in ("joint", "link", "loop"):
        setattr(error, what, str(name))
    return error


def check_name(what: str, name: object, allowed: Collection[str]) -> None:
    """Raise the error `unknown_name` if a name is not among the allowed names."""
    if name not in allowed:
        raise unknown_name(what, name, allowed)


def invalid(field: str, value: object, requirement: object, where: str = "", **facts: Any) -> InputError:
    """Return the error for a value that does not meet a requirement.

    Args:
        field: name of the argument or parameter.
        value: its value.
        requirement: what it must be, such as "a positive number"; also the attribute `allowed`, unless that is given.
        where: beginning of the message, such as the name of an event.
        facts: further attributes of the error.
    """
    text = f"{where}{field} is {value!r:.100}; it must be {requirement}."
    return InputError(text, field=field, value=value, **{"allowed": requirement, **facts})


class NameDict(dict[str, T]):
    """Dictionary by name whose KeyError lists the known names and suggests similar ones."""

    def __init__(self, kind: str, items: Mapping[str, T] | Iterable[tuple[str, T]]) -> None:
        """Initialize with the kind of the items, such as "joint", and the items."""
        super().__init__(items)
        self.kind = kind

    def __missing__(self, name: object) -> NoReturn:
        raise unknown_name(self.kind, name, self)


CHANGED_COPIES = (
    "ada_dynamics.model.edit makes changed copies, such as with_gravity(model, (x, y, z)), open_loops, or "
    "with_parts(model, dataclasses.replace(model.links[NAME], mass=...), ...)."
)


class FrozenNameDict(NameDict[T]):
    """Read-only `NameDict` of the parts of a model."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ReadOnlyError(f"a model's {self.kind}s are read-only. {CHANGED_COPIES}")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, dict(self))


class LoopWarning(UserWarning):
    """Base class of warnings about the loops of a mechanism.

    Attributes:
        loops: names of the loop joints.
        states: indices of the states within the batch; empty for a single state.
        joints: violation of the limits by each joint in the returned configuration [rad, m].
        error: estimate of the relative error of the results.
    """

    def __init__(
        self,
        *words: object,
        loops: tuple[str, ...] = (),
        states: tuple[int, ...] = (),
        joints: Mapping[str, float] = MappingProxyType({}),
        error: float = 0.0,
    ) -> None:
        """Initialize with the message and the attributes of the warning."""
        super().__init__(*words)
        self.loops, self.states, self.joints, self.error = loops, states, dict(joints), error


class SingularConfigurationWarning(LoopWarning):
    """The constraint Jacobian is rank-deficient, or nearly, at the configuration; see `loops` and `error`."""


class BifurcationWarning(SingularConfigurationWarning):
    """A mechanism at rest in a singular configuration: its motion is not uniquely determined."""


class ConstraintViolationWarning(LoopWarning):
    """The configuration violates loop constraints; the message names the loops and the constraint violation."""


class BeyondLimitsWarning(LoopWarning):
    """No configuration was found that closes all loops within the limits of the joints; see `joints`."""


class DistantClosureWarning(LoopWarning):
    """The loops are closed far from the guess, perhaps in another assembly mode; see `joints`."""


class LostDigitsWarning(LoopWarning):
    """Results next to a singular configuration have lost digits; see `error`."""


class IntegrationAccuracyWarning(UserWarning):
    """Simulated motion that gains energy in excess of the work of its motors; the message names time and step."""


class UnknownWorkWarning(UserWarning):
    """The work between the rows of a log is unknown; the message names its source and the missing data."""


class LoopVelocityWarning(ConstraintViolationWarning):
    """The velocity violates loop constraints; the message names the loops and the rate of violation."""


class RecordingCutShortWarning(UserWarning):
    """A recording is truncated; the message states the time of its last row."""


class LittleExcitationWarning(UserWarning):
    """A motion does not excite some parameters of a robot; the message names the combinations."""


class PoorFitWarning(UserWarning):
    """Identified parameters leave a large residual effort; the message states it for each joint."""


__all__ = [name for name in globals() if name.endswith(("Error", "Warning"))]  # public as attributes of ada_dynamics
