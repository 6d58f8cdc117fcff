# SPDX-License-Identifier: Apache-2.0
"""How a motion is integrated: the method, its step, and whether that step can follow what is stiff."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, NoReturn, SupportsIndex

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.methods import METHODS, IntegratorName, Method


def is_positive(value: object) -> bool:
    """True if it is a finite number above zero."""
    return isinstance(value, int | float | np.number) and 0.0 < float(value) < np.inf


def whole_steps(name: str, value: float) -> int:
    """A number of steps, checked."""
    if not is_positive(value) or int(value) != value:
        raise InputError(f"{name} is {value!r}; it must be a whole number of steps, 1 or more.")
    return int(value)


def finite_time(t: object) -> float:
    """A time [s], checked."""
    if not isinstance(t, int | float | np.number) or not np.isfinite(t):
        raise InputError(f"t is {t!r:.80}; it must be a finite number of seconds.")
    return float(t)


def as_tuple(name: str, given: object) -> tuple[object, ...]:
    """A list of parts; one that stands alone is refused."""
    if not isinstance(given, Iterable):
        raise InputError(f"{name} is {given!r:.80}; it must be a list: {name}=[...].")
    return tuple(given)


class NotCopyable:
    """Neither copied nor pickled: compiled code works on it where it lies."""

    _alternative: ClassVar[str]

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse, and say what to do instead."""
        raise InputError(
            f"a {type(self).__name__} cannot be copied or pickled: compiled code works on its state where it lies. "
            f"Instead, {self._alternative}."
        )


AUTO: Literal["auto"] = "auto"  # integrator: the one that suits
RESOLVED = 1.0  # step times rate up to which an explicit step follows a decay closely


class StiffStepWarning(UserWarning):
    """The step is too long for an explicit integrator to follow the stiffest contact, stop, friction or servo."""


class Stiffness(NamedTuple):
    """What reacts too fast for the step, and at which rate [1/s]."""

    what: str
    rate: float


@dataclass(frozen=True)
class IntegrationOptions:
    """The choices of a user, checked.

    Attributes:
        integrator: a method or its name, or "auto".
        step: [s].
        tolerance: of adaptive methods.
        log_every: a row of the log for every so many steps.
    """

    integrator: IntegratorName | Method
    step: float
    tolerance: float = 1e-10
    log_every: int = 1

    def __post_init__(self) -> None:
        """Check the values."""
        known = (*METHODS, AUTO)
        if not isinstance(self.integrator, Method) and self.integrator not in known:
            raise InputError(f"integrator is {self.integrator!r}; it must be one of {', '.join(known)}.")
        if not is_positive(self.step):
            raise InputError(f"step is {self.step!r}; it must be a positive number of seconds, such as 1e-3.")
        whole_steps("log_every", self.log_every)
        if not is_positive(self.tolerance) or not 1e-15 <= self.tolerance <= 1.0:
            raise InputError(f"tolerance is {self.tolerance!r}; it must be between 1e-15 and 1.")

    def chosen(self, stiff: Sequence[Stiffness], has_contact: bool) -> tuple[Method, str]:
        """The method, and what decided on it.

        Explicit steps resolve what reacts within a step or slower. Impacts are faster than contacts at rest, so that
        contacts ask for implicit steps whatever their rate.
        """
        if self.integrator != AUTO:
            return self.integrator if isinstance(self.integrator, Method) else METHODS[self.integrator], "asked for"
        fastest = max(stiff, key=lambda one: one.rate)
        within = f"the {fastest.what} react within {1.0 / fastest.rate:.2g} s" if fastest.rate else ""
        if fastest.rate * self.step > RESOLVED:
            return METHODS["semi_implicit"], f"{within}, the step is {self.step:g} s"
        if has_contact:
            return METHODS["semi_implicit"], f"impacts on contacts are faster than the step of {self.step:g} s"
        why = f"{within}, which a step of {self.step:g} s follows" if within else "nothing is stiff"
        return METHODS["rkf45"], why

    def warn_if_too_stiff(self, model: Model, method: Method, stiff: Sequence[Stiffness]) -> None:
        """Warn where an explicit method cannot follow contacts, stops, joint friction or servos."""
        if method.is_direct or method.is_adaptive:
            return
        for what, rate in stiff:
            if rate * self.step > method.stable_to:
                warnings.warn(
                    f"the {what} of model {model.name!r} react within {1.0 / rate:.2g} s, which integrator "
                    f"{method.name!r} cannot follow with a step of {self.step:g} s. Use integrator='semi_implicit', a "
                    f"step of {method.stable_to / rate:.2g} s, or softer ones.",
                    StiffStepWarning,
                    stacklevel=3,
                )
