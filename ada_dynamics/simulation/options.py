# SPDX-License-Identifier: Apache-2.0
"""Options of the integration, checks of arguments, and the choice of a method by stiffness."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn, SupportsIndex

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.methods import METHODS, IntegratorName, Method


def is_positive(value: object) -> bool:
    """Return True if the value is a finite number greater than zero."""
    return isinstance(value, int | float | np.number) and 0.0 < float(value) < np.inf


def invalid(field: str, value: object, requirement: str, where: str = "", **facts: Any) -> InputError:
    """Return the error for an argument that does not meet a requirement.

    Args:
        field: name of the argument.
        value: its value.
        requirement: what it must be.
        where: beginning of the message, such as the name of an event.
        facts: further attributes of the error.
    """
    return InputError(f"{where}{field} is {value!r:.100}; it must be {requirement}.", field=field, value=value, **facts)


def whole_steps(name: str, value: float) -> int:
    """Return a number of steps after a check."""
    if not is_positive(value) or int(value) != value:
        raise invalid(name, value, "a whole number of steps, 1 or more")
    return int(value)


def finite_time(t: object) -> float:
    """Return a time [s] after a check."""
    if not isinstance(t, int | float | np.number) or not np.isfinite(t):
        raise invalid("t", t, "a finite number of seconds")
    return float(t)


def as_tuple(name: str, given: object) -> tuple[object, ...]:
    """Return a sequence as a tuple; a single object is rejected."""
    if not isinstance(given, Iterable):
        raise invalid(name, given, f"a list: {name}=[...]")
    return tuple(given)


class NotCopyable:
    """Base of classes whose state compiled code addresses; copying and pickling are rejected."""

    _alternative: ClassVar[str]

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raise an InputError that names the alternative."""
        raise InputError(
            f"a {type(self).__name__} cannot be copied or pickled because compiled code addresses its state; "
            f"{self._alternative}."
        )


AUTO: Literal["auto"] = "auto"  # choice of the integrator by stiffness
RESOLVED = 1.0  # step times rate up to which an explicit step resolves a decay


class StiffStepWarning(UserWarning):
    """The step is too long for an explicit integrator and the stiffest contact, joint stop, friction or servo."""


class Stiffness(NamedTuple):
    """Rate of the fastest response of a kind of force [1/s]."""

    what: str
    rate: float


@dataclass(frozen=True)
class IntegrationOptions:
    """Method, step and tolerance of an integration.

    Attributes:
        integrator: method, name of a method, or "auto".
        step: step length [s].
        tolerance: tolerance of adaptive methods.
        log_every: number of steps between two rows of the log.
    """

    integrator: IntegratorName | Method
    step: float
    tolerance: float = 1e-10
    log_every: int = 1

    def __post_init__(self) -> None:
        """Check the values."""
        known = (*METHODS, AUTO)
        if not isinstance(self.integrator, Method) and self.integrator not in known:
            raise invalid("integrator", self.integrator, f"one of {', '.join(known)}", allowed=known)
        if not is_positive(self.step):
            raise invalid("step", self.step, "a positive number of seconds, such as 1e-3")
        whole_steps("log_every", self.log_every)
        if not is_positive(self.tolerance) or not 1e-15 <= self.tolerance <= 1.0:
            raise invalid("tolerance", self.tolerance, "between 1e-15 and 1", allowed=(1e-15, 1.0))

    def chosen(self, stiff: Sequence[Stiffness], has_contact: bool) -> tuple[Method, str]:
        """Return the method, and the reason for an automatic choice.

        An explicit method resolves responses that take a step or longer. Impacts are faster than contacts at
        rest: contacts select the semi-implicit method at any rate.
        """
        if self.integrator != AUTO:
            return self.integrator if isinstance(self.integrator, Method) else METHODS[self.integrator], "selected"
        fastest = max(stiff, key=lambda one: one.rate)
        within = f"the {fastest.what} respond within {1.0 / fastest.rate:.2g} s" if fastest.rate else ""
        if fastest.rate * self.step > RESOLVED:
            return METHODS["semi_implicit"], f"{within}, the step is {self.step:g} s"
        if has_contact:
            return METHODS["semi_implicit"], f"impacts on contacts are faster than the step of {self.step:g} s"
        why = f"{within}, which a step of {self.step:g} s resolves" if within else "no force is stiff"
        return METHODS["rkf45"], why

    def chosen_for(self, model: Model, stiff: Sequence[Stiffness], has_contact: bool) -> tuple[Method, str]:
        """See `chosen`; warn if a given explicit method cannot integrate the forces with this step."""
        method, reason = self.chosen(stiff, has_contact)
        for what, rate in () if method.is_direct or method.is_adaptive else stiff:
            if rate * self.step > method.stable_to:
                warnings.warn(
                    f"the {what} of model {model.name!r} respond within {1.0 / rate:.2g} s; integrator "
                    f"{method.name!r} is unstable with a step of {self.step:g} s. Use integrator='semi_implicit', a "
                    f"step of {method.stable_to / rate:.2g} s, or lower stiffness.",
                    StiffStepWarning,
                    stacklevel=4,  # of the caller of Simulation
                )
        return method, reason
