# SPDX-License-Identifier: Apache-2.0
"""Errors of the library: each says what is wrong, where, which values are allowed, and the fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

LONGEST = 4000  # characters of a message


class AdaError(Exception):
    """Base of every error that this library raises on purpose.

    Facts of an error are attributes; one that does not apply is None. Of a very long word in the message, which may
    come from a hostile file, the middle is left out.

    Attributes:
        joint: name of the joint.
        link: name of the link.
        loop: name of the loop joint.
        file: path of the file, as the caller wrote it.
        line: line in that file, from 1.
        field: name of the argument, parameter, attribute or element.
        value: the value that is not usable.
        allowed: the values that are: names, a range, or a type.
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
        """Args: the message, and the facts in it."""
        super().__init__(*(_without_middle(word) if isinstance(word, str) else word for word in words))
        self.joint, self.link, self.loop = joint, link, loop
        self.file, self.line = None if file is None else str(file), line
        self.field, self.value, self.allowed = field, value, allowed


def _without_middle(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2 - 50
    return f"{text[:half]} [... {len(text) - 2 * half} characters ...] {text[-half:]}"


class InputError(AdaError, ValueError):
    """A value given by the caller is unusable: wrong name, length, type, range or not finite."""


class UnknownNameError(InputError, KeyError):
    """No link, joint, loop or choice has this name; the message has the nearest ones. Also a KeyError."""

    __str__ = Exception.__str__  # KeyError's shows the message in quotes


class WrongTypeError(InputError, TypeError):
    """A value is of another kind than wanted, as where two arguments were swapped. Also a TypeError."""


class ReadOnlyError(AdaError, AttributeError, TypeError):
    """Something that cannot be changed in place was assigned to; the message names what makes a changed copy."""


class ModelError(AdaError, ValueError):
    """A robot description is unusable; the message names the file, link, joint or field."""


class SingularPoseError(InputError):
    """A question without an answer in a singular pose; the message says which loops or joints make it so."""


class EventError(InputError):
    """An event of a motion has no derivatives, or stands in the way of them; the message names it."""


class CompileError(AdaError, RuntimeError):
    """A kernel could not be compiled or loaded."""


class DeviceError(AdaError, RuntimeError):
    """A graphics processor cannot be used, or failed; the message has the driver's reason."""


class NoDeviceError(DeviceError):
    """There is no driver, or no graphics processor of that number."""


class DriverTooOldError(DeviceError):
    """The driver of the graphics processor is too old; the message has its version and the one that is needed."""


class DeviceMemoryError(DeviceError, MemoryError):
    """A graphics processor has too little memory; the message says how much was asked for and how much is free."""


class RecordingError(AdaError, RuntimeError):
    """A recording cannot be written or read; the message names the file and the reason."""


def unknown_name(what: str, name: object, allowed: Iterable[str]) -> UnknownNameError:
    """An error for a name that is not among the allowed ones, with the nearest of them suggested."""
    names = list(allowed)
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    shown = ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    message = f"no {what} is named {name!r}.{hint} Known: {shown or 'none'}."
    error = UnknownNameError(message, field=what, value=name, allowed=tuple(names))
    if what in ("joint", "link", "loop"):
        setattr(error, what, str(name))
    return error


class LoopWarning(UserWarning):
    """Base of warnings about the loops of a mechanism in the states given.

    Attributes:
        loops: names of the loop joints.
        states: numbers of the states of a batch; empty for a single state, and where a batch is looked at one by one.
    """

    def __init__(self, *words: object, loops: tuple[str, ...] = (), states: tuple[int, ...] = ()) -> None:
        """Args: the message, and the facts in it."""
        super().__init__(*words)
        self.loops, self.states = loops, states


class SingularPoseWarning(LoopWarning):
    """A mechanism is in a pose in which its loops lose rank; the message says which loops."""


class BifurcationWarning(SingularPoseWarning):
    """A mechanism is at rest in a singular pose: its motion is not determined."""


class OpenLoopWarning(LoopWarning):
    """Loops are open in a state given to a mechanism; the message says which, and by how much."""


class BeyondLimitsWarning(LoopWarning):
    """No configuration was found that closes all loops within the limits of the joints.

    Attributes:
        joints: how far each is beyond its limits in the configuration that was taken [rad, m].
    """

    def __init__(self, *words: object, loops: tuple[str, ...] = (), joints: Mapping[str, float] = MappingProxyType({})):
        """Args: the message, and the facts in it."""
        super().__init__(*words, loops=loops)
        self.joints = dict(joints)


class LostDigitsWarning(LoopWarning):
    """Results next to a singular configuration have lost digits.

    Attributes:
        error: estimate of the relative error.
    """

    def __init__(
        self, *words: object, loops: tuple[str, ...] = (), states: tuple[int, ...] = (), error: float = 0.0
    ) -> None:
        """Args: the message, and the facts in it."""
        super().__init__(*words, loops=loops, states=states)
        self.error = error


class UnexplainedMotionWarning(UserWarning):
    """A simulation moved otherwise than its accelerations say; the message names step and joint."""


class UnknownWorkWarning(UserWarning):
    """The rows of a log do not tell what work was done between them; the message says whose, and what would."""


class LoopVelocityWarning(OpenLoopWarning):
    """Velocities given to a mechanism open its loops; the message says which, and how fast."""


class RecordingCutShortWarning(UserWarning):
    """A recording has no proper end: what was read is all that reached the disk; the message says up to when."""


class LittleExcitationWarning(UserWarning):
    """A motion does not show some parameters of a robot; the message names the combinations."""


class PoorFitWarning(UserWarning):
    """Identified parameters leave much of the measured efforts unexplained; the message says how much, by joint."""
