# SPDX-License-Identifier: Apache-2.0
"""Checks before a simulation: numbers, the start, and whether the step can follow what is stiff."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.contact import stops as joint_stops
from ada_dynamics.contact.contact import Contact
from ada_dynamics.contact.rates import fastest_rate
from ada_dynamics.contact.stops import JointStops
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.kernels import tree_fingerprint
from ada_dynamics.errors import InputError
from ada_dynamics.loops.assemble import assemble
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.control import CompiledController
from ada_dynamics.simulation.events import Event
from ada_dynamics.simulation.methods import Method
from ada_dynamics.simulation.profiles import WrenchProfile
from ada_dynamics.simulation.servos import JointServos, ServoBank
from ada_dynamics.simulation.system import frictionless

AUTO = "auto"  # integrator: the one that suits
AT_REST = 1e-9  # [m/s, rad/s]
RESOLVED = 1.0  # step times rate up to which an explicit step follows a decay closely
OPEN = 1e-6  # gap [m, rad] or velocity across loops [m/s, rad/s] that is no rounding of a closed start
# Times that gap by the fastest velocity: how far the velocities of linkages next to a dead point (conditions down to a
# hundredth of the strongest) are turned by it.
TURNED_BY_GAP = 100.0
BEYOND_ROUNDING = 3.0  # times the gap that rounded numbers in a file leave in the nearest pose: that much is no mistake


class StiffStepWarning(UserWarning):
    """The step is too long for an explicit integrator to follow the stiffest contact, stop, friction or servo."""


def checked_times(
    step: float, control_period: float | None, log_every: int, tolerance: float
) -> tuple[float, float | None, int]:
    """Step, control period and rows of the log, or an InputError."""
    if not is_positive(step):
        raise InputError(f"step is {step!r}; it must be a positive number of seconds, such as 1e-3.")
    if control_period is not None and not is_positive(control_period):
        raise InputError(f"control_period is {control_period!r}; it must be a positive number of seconds, or None.")
    if not is_positive(log_every) or int(log_every) != log_every:
        raise InputError(f"log_every is {log_every!r}; it must be a whole number of steps, 1 or more.")
    if not is_positive(tolerance) or not 1e-15 <= tolerance <= 1.0:
        raise InputError(f"tolerance is {tolerance!r}; it must be between 1e-15 and 1.")
    return float(step), None if control_period is None else float(control_period), int(log_every)


def checked_parts(
    controller: object,
    contact: object,
    stops: object,
    external: Sequence[object],
    events: Sequence[object],
    servos: object,
) -> None:
    """Refuse parts of the wrong kind by name."""
    wanted: list[tuple[str, object, type, str]] = []
    if contact is not None:
        wanted.append(("contact", contact, Contact, "a Contact, such as Contact.of_soles(model) gives"))
    if stops is not None:
        wanted.append(("stops", stops, JointStops, "JointStops"))
    if servos is not None:
        wanted.append(("servos", servos, JointServos, "JointServos"))
    wanted += [(f"external[{i}]", x, WrenchProfile, "made by half_sine, table, ...") for i, x in enumerate(external)]
    wanted += [(f"events[{i}]", x, Event, "an Event(name, function)") for i, x in enumerate(events)]
    for name, given, kind, words in wanted:
        if not isinstance(given, kind):
            raise InputError(f"{name} is {given!r:.80}; it must be {words}.")
    if controller is not None and not callable(controller) and not isinstance(controller, CompiledController):
        raise InputError(
            f"controller is {controller!r:.80}; it must be a function of t, q and v, or a CompiledController."
        )


def checked_dynamics(dynamics: Dynamics, model: Model) -> Dynamics:
    """Dynamics that were given, of the model without its joint friction; the simulation brings that along."""
    given, own = dynamics.model, frictionless(model)
    if given.joint_names != own.joint_names or tree_fingerprint(given.tree) != tree_fingerprint(own.tree):
        raise InputError(
            f"dynamics is of another model than {model.name!r}: other joints, masses, gravity or loops, or with "
            "friction in its joints, which the simulation brings along. Leave it out and give algorithm= instead."
        )
    return dynamics


def is_positive(value: object) -> bool:
    """True if it is a finite number above zero."""
    return isinstance(value, int | float | np.number) and 0.0 < float(value) < np.inf


def start_state(model: Model, q: ArrayLike | None, v: ArrayLike | None) -> tuple[Array, Array]:
    """Positions and velocities to start with, as they were given.

    Raises:
        InputError: a vector has the wrong length or is not finite, or a quaternion is no rotation.
    """
    if q is None:
        q0 = np.array(assemble(model)) if model.loops else model.neutral()
    else:
        q0 = _vector("q", q, model.nq, model)
    v0 = np.zeros(model.nv) if v is None else _vector("v", v, model.nv, model)
    problems = model.position_problems(q0)
    if problems:
        raise InputError(f"q cannot be a start of model {model.name!r}: {'; '.join(problems)}.")
    return q0, v0


def _vector(name: str, given: ArrayLike, size: int, model: Model) -> Array:
    try:
        x = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {given!r:.100}; it must be {size} numbers.") from None
    if x.shape != (size,):
        raise InputError(f"{name} has shape {x.shape}; model {model.name!r} needs ({size},).")
    if not np.isfinite(x).all():
        raise InputError(f"{name}[{int(np.argmin(np.isfinite(x)))}] is not finite: {x}.")
    return x


def on_loops(model: Model, dynamics: Dynamics, q: Array, v: Array) -> tuple[Array, Array]:
    """The state with rounding taken off its loops.

    Raises:
        InputError: it is off by more than rounding.
    """
    closed = dynamics.kernels.closed
    if closed is None:
        return q, v
    nearest, allowed = dynamics.project(q, v)
    gap, left = (float(np.max(np.abs(closed.gap(at)), initial=0.0)) for at in (q, nearest))
    if gap > max(OPEN, BEYOND_ROUNDING * left):
        state = dynamics.loop_state(q)
        gaps = {name: float(np.max(np.abs(g))) for name, g in state.gap.items()}
        shown = ", ".join(f"{name!r} by {gap:.3g}" for name, gap in gaps.items() if gap > 0.1 * OPEN)
        raise InputError(
            f"the start leaves loops of model {model.name!r} open: {shown} [m, rad]. Close them: "
            "q = ada.assemble(model, q)."
        )
    change = float(np.max(np.abs(allowed - v), initial=0.0))
    if change > max(OPEN, TURNED_BY_GAP * left * float(np.max(np.abs(v), initial=0.0))):
        raise InputError(
            f"the velocities given tear the loops of model {model.name!r} apart (they change by {change:.3g} to keep "
            "them closed). Take those that do not: q, v = Dynamics(model, pose=q).project(q, v)."
        )
    return nearest, allowed


def refuse_undetermined(model: Model, dynamics: Dynamics, q: Array, v: Array) -> None:
    """Refuse to go on where nothing can move, or where it is not determined which way."""
    closed = dynamics.kernels.closed
    if closed is None:
        return
    if closed.study.mobility == 0:
        raise InputError(f"model {model.name!r}: its loops leave nothing to move (see: ada check); remove one of them.")
    if np.any(np.abs(v) > AT_REST):
        return
    if dynamics.loop_state(q).is_singular:
        ways = dynamics.tangents(q)
        shown = "; ".join(np.array2string(way, precision=4, separator=", ", suppress_small=True) for way in ways)
        raise InputError(
            f"model {model.name!r} is at rest in a singular pose, where its motion is not determined"
            + (f": it could go along {shown}" if ways else "")
            + ". Start it beside that pose, or with a velocity."
        )


class Stiffness(NamedTuple):
    """The fastest reaction in a simulation: its name and rate [1/s]."""

    what: str
    rate: float


def stiffest(
    model: Model,
    contact: Contact | None,
    stops: JointStops | None,
    friction_speed: float,
    servos: ServoBank | None,
    q: Array,
) -> list[Stiffness]:
    """How fast contacts, joint stops, damping and friction, and servos react in a pose, each kind by its fastest."""
    return [
        Stiffness("contacts", 0.0 if contact is None else fastest_rate(model, contact, q)),
        Stiffness("joint stops and friction", joint_stops.fastest_rate(model, stops, friction_speed, q)),
        Stiffness("servos", 0.0 if servos is None else servos.fastest_rate),
    ]


def suitable_method(stiff: Sequence[Stiffness], step: float, has_contact: bool) -> tuple[str, str]:
    """The integrator for `integrator="auto"`, and why.

    Explicit steps resolve what reacts within a step or slower. Impacts are faster than contacts at rest, so that
    contacts ask for implicit steps whatever their rate.
    """
    fastest = max(stiff, key=lambda one: one.rate)
    if fastest.rate * step > RESOLVED:
        return "semi_implicit", f"the {fastest.what} react within {1.0 / fastest.rate:.2g} s, the step is {step:g} s"
    if has_contact:
        return "semi_implicit", f"impacts on contacts are faster than the step of {step:g} s"
    if fastest.rate:
        return (
            "rkf45",
            f"the {fastest.what} react within {1.0 / fastest.rate:.2g} s, which a step of {step:g} s follows",
        )
    return "rkf45", "nothing is stiff"


def warn_if_too_stiff(model: Model, method: Method, step: float, stiff: Sequence[Stiffness]) -> None:
    """Warn where an explicit method cannot follow contacts, stops, joint friction or servos."""
    if method.is_direct or method.is_adaptive:
        return
    for what, rate in stiff:
        if rate * step > method.stable_to:
            warnings.warn(
                f"the {what} of model {model.name!r} react within {1.0 / rate:.2g} s, which integrator "
                f"{method.name!r} cannot follow with a step of {step:g} s. Use integrator='semi_implicit', a step of "
                f"{method.stable_to / rate:.2g} s, or softer ones.",
                StiffStepWarning,
                stacklevel=3,
            )
