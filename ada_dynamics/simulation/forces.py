# SPDX-License-Identifier: Apache-2.0
"""Forces in a simulation (contact, joint stops, friction, external wrenches, servos), and their inputs over time.

External wrenches on links are impacts (half-sine, rectangle), constants, and pushes that begin during the simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.applied_wrench import PARAMETERS, AppliedWrench, on_body, profile_wrench
from ada_dynamics.algorithms.kinematics import poses, transforms
from ada_dynamics.arrays import Array
from ada_dynamics.contact import stops as joint_stops
from ada_dynamics.contact.contact import Contact, contact_rate
from ada_dynamics.contact.stops import FRICTION_SPEED, JointStops
from ada_dynamics.errors import InputError, invalid, unknown_name
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree
from ada_dynamics.simulation.control import CompiledController, Controller
from ada_dynamics.simulation.methods import Rates
from ada_dynamics.simulation.options import as_tuple, finite_array, is_positive
from ada_dynamics.simulation.servos import JointServos, ServoBank
from ada_dynamics.simulation.state_equations import Loads
from ada_dynamics.simulation.system import System, has_friction
from ada_dynamics.spatial.vector import Vec3

TURNING = 5e-3  # [s] for which a push in world axes is constant in the axes of a rotating link
_SAME_TIME = 1e-9  # [s], tolerance of equal times


# --- external wrenches over time --------------------------------------------------------------------------------------
Axes: TypeAlias = Literal["link", "world"]
FRAMES: tuple[Axes, ...] = get_args(Axes)


@dataclass(frozen=True)
class WrenchProfile:
    """Wrench on a link over time, created by `half_sine`, `rectangle` or `constant`.

    Between its breaks the wrench is w(t) = c0 + c1 sin(ω (t - t0)); the integrator steps from one break to the next, so
    that no step contains a discontinuity.

    Attributes:
        link: name of the link.
        wrench: [fx, fy, fz, nx, ny, nz], the peak of a half-sine.
        start: time from which the wrench acts [s].
        duration: duration [s]; infinite for a constant wrench.
        is_half_sine: whether the wrench is half a sine wave over time; it is constant otherwise.
        frame: axes of the wrench, "link" or "world".
        point: point of application in the link frame [m].

    Raises:
        InputError: a value is invalid.
    """

    link: str
    wrench: Sequence[float]
    start: float = -np.inf
    duration: float = np.inf
    is_half_sine: bool = False
    frame: str = "link"
    point: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        """Check the values."""
        facts: dict[str, Any] = {"where": f"wrench profile of link {self.link!r}: ", "link": self.link}
        if self.frame not in FRAMES:
            raise invalid("frame", self.frame, f"one of {', '.join(FRAMES)}", allowed=FRAMES, **facts)
        for field, name, count in (("wrench", "wrench", 6), ("point", "at", 3)):
            values = finite_array(name, getattr(self, field), (count,), **facts)
            object.__setattr__(self, field, tuple(values.tolist()))
        if self.breaks():
            object.__setattr__(self, "start", float(finite_array("start", self.start, (), **facts)))
            if not is_positive(self.duration):
                raise invalid("duration", self.duration, "positive, in seconds", **facts)

    @property
    def end(self) -> float:
        """Time at which the wrench ends [s]."""
        return self.start + self.duration

    def breaks(self) -> tuple[float, ...]:
        """Times at which the wrench starts and ends [s]."""
        return () if self.start == -np.inf else (self.start, self.end)

    def parameters(self, t: float) -> tuple[float, ...]:
        """Return the parameters of `applied_wrench.profile_wrench` at a time; at a break those from there on."""
        zero = (0.0,) * 6
        if not self.breaks():
            return (0.0, 0.0, *self.wrench, *zero)
        if not self.start <= t < self.end:
            return (0.0,) * PARAMETERS
        if self.is_half_sine:
            return (self.start, float(np.pi) / self.duration, *zero, *self.wrench)
        return (self.start, 0.0, *self.wrench, *zero)

    def at(self, t: float) -> Array:
        """Return the wrench at a time, (6,)."""
        return np.array(profile_wrench(self.parameters(t), float(t)), dtype=np.float64)

    def resolve(self, model: Model, tree: Tree | None = None) -> AppliedWrench:
        """Return the point of application for `algorithms.applied_wrench`.

        Args:
            model: model that contains the link.
            tree: tree in whose body axes the result is expressed; `model.tree` by default.

        Raises:
            InputError: the link is unknown.
        """
        if self.link not in model.links:
            raise unknown_name("link", self.link, model.links)
        frame = (tree or model.tree).frames[self.link]
        axes, point = frame.pose.rotation.matrix(), frame.pose.point(Vec3(*self.point))
        return AppliedWrench(frame.body, axes, point, self.frame == "world")


def half_sine(
    link: str,
    wrench: ArrayLike,
    start: float,
    duration: float,
    *,
    frame: str = "link",
    at: Sequence[float] = (0.0, 0.0, 0.0),
) -> WrenchProfile:
    """Return an impact: half a sine wave with the peak `wrench`.

    Args:
        link: name of the link.
        wrench: [fx, fy, fz, nx, ny, nz].
        start: start time [s].
        duration: duration [s].
        frame: axes of the wrench, "link" or "world".
        at: point of application in the link frame [m].

    Raises:
        InputError: an argument is invalid.
    """
    return WrenchProfile(link, wrench, start, duration, True, frame, at)  # type: ignore[arg-type]


def rectangle(
    link: str,
    wrench: ArrayLike,
    start: float,
    duration: float,
    *,
    frame: str = "link",
    at: Sequence[float] = (0.0, 0.0, 0.0),
) -> WrenchProfile:
    """Return a constant wrench from start to start + duration; arguments and errors as for `half_sine`."""
    return WrenchProfile(link, wrench, start, duration, False, frame, at)  # type: ignore[arg-type]


def constant(
    link: str, wrench: ArrayLike, *, frame: str = "link", at: Sequence[float] = (0.0, 0.0, 0.0)
) -> WrenchProfile:
    """Return a constant wrench; arguments and errors as for `half_sine`."""
    return WrenchProfile(link, wrench, frame=frame, point=at)  # type: ignore[arg-type]


# --- all forces -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Forces:
    """Forces of a simulation in addition to weight and joint torques.

    Attributes:
        contact: contact with the ground and between links.
        stops: joint stops at the position limits.
        friction_speed: velocity below which Coulomb friction in joints is regularized [rad/s, m/s].
        external: external wrenches over time.
        servos: servos of the actuated joints.
        pushable: True if `Simulation.push` is available.
    """

    contact: Contact | None = None
    stops: JointStops | None = None
    friction_speed: float = FRICTION_SPEED
    external: Sequence[WrenchProfile] = ()
    servos: JointServos | None = None
    pushable: bool = False

    def __post_init__(self) -> None:
        """Check the types."""
        profiles = as_tuple("external", self.external, WrenchProfile, "a profile, such as half_sine(...)")
        object.__setattr__(self, "external", profiles)
        wanted: list[tuple[str, object, type, str]] = [
            ("contact", self.contact, Contact, "a Contact, such as Contact.of_soles(model)"),
            ("stops", self.stops, JointStops, "JointStops"),
            ("servos", self.servos, JointServos, "JointServos"),
        ]
        for name, given, kind, requirement in wanted:
            if given is not None and not isinstance(given, kind):
                raise invalid(name, given, requirement)
        if not is_positive(self.friction_speed):
            raise invalid("friction_speed", self.friction_speed, "a positive velocity [rad/s, m/s]")

    def loads(self, model: Model, tree: Tree, bank: ServoBank | None, law: CompiledController | None) -> Loads:
        """Return the loads on a tree as the equations of motion use them, with a control law that acts continuously."""
        return Loads(
            contacts=() if self.contact is None else self.contact.resolve(model, tree),
            applied=tuple(profile.resolve(model, tree) for profile in self.external),
            pushes=self.pushable,
            stops=() if self.stops is None else self.stops.resolve(model, tree),
            friction_speed=self.friction_speed if has_friction(model) else None,
            servos=() if bank is None else bank.resolve(tree),
            law=None if law is None else law.law,
            tag="" if law is None else law.kernel(model).key,
        )

    def rates(self, model: Model, q: Array, bank: ServoBank | None = None) -> Rates:
        """Return the rates of contacts, of joint stops and friction, and of servos in a configuration [1/s]."""
        return [
            ("contacts", 0.0 if self.contact is None else contact_rate(model, self.contact, q)),
            ("joint stops and friction", joint_stops.stop_rate(model, self.stops, self.friction_speed, q)),
            ("servos", 0.0 if bank is None else bank.fastest_rate),
        ]

    def info(self, model: Model) -> dict[str, Any]:
        """Return the settings that an energy balance of the log needs."""
        friction = {"friction_speed": self.friction_speed} if has_friction(model) else {}
        return friction | ({} if self.stops is None else {"stops": asdict(self.stops)})


class Inputs:
    """Input u of a system: constant between two discontinuities, except for the profiles, which depend on time."""

    def __init__(
        self,
        system: System,
        profiles: Sequence[WrenchProfile],
        tau: Array,
        servos: ServoBank | None = None,
        controller: Controller | None = None,
        period: float = np.inf,
    ) -> None:
        """Initialize the inputs.

        Args:
            system: the system.
            profiles: external wrenches over time.
            tau: constant joint torques, which a controller replaces.
            servos: servos of the simulation.
            controller: controller, see `checked_controller`.
            period: time between two calls of the controller [s].
        """
        self._system = system
        self._model = system.model
        self._profiles = profiles
        self._controller, self._period = controller, period
        self.servos = servos
        self._constant = tau
        self._breaks = sorted({time for profile in profiles for time in profile.breaks()})
        self.restart()

    @property
    def changes(self) -> bool:
        """True if u changes without a call from outside."""
        return self._controller is not None or self.servos is not None or bool(self._profiles)

    def restart(self) -> None:
        """Discard the calls of the controller and all pushes."""
        self.tau = self._constant.copy()
        self._next_call: float | None = None
        self._kept: Array | None = None
        self._kept_kind: tuple[int, float | None, int] = (0, None, 0)
        self._pushes: list[tuple[WrenchProfile, AppliedWrench]] = []  # that began during the simulation

    def push(self, link: str, wrench: ArrayLike, t: float, duration: float, frame: str, replaces: bool) -> None:
        """Apply a wrench at the origin of a link from t on; it replaces earlier pushes or is added to them."""
        if not self._system.equations.loads.pushes:
            raise InputError("pushes are disabled; create the simulation with pushable=True.", field="pushable")
        profile = rectangle(link, wrench, t, duration, frame=frame)
        where = profile.resolve(self._model, self._system.equations.tree)
        if replaces:
            self._pushes = [push for push in self._pushes if push[0].link != link]
        self._pushes.append((profile, where))

    # --- over time ----------------------------------------------------------------------------------------------
    @property
    def is_steady(self) -> bool:
        """True if u is constant until it is changed from outside."""
        return self._controller is None and not self._profiles and not self._pushes

    def at(self, t: float, q: Array, v: Array) -> Array:
        """Return u from time t on; the controller is called if it is due."""
        if self._controller is not None and (self._next_call is None or t >= self._next_call - _SAME_TIME):
            self.tau = self._controller(t, q, v)
            self._next_call = t + self._period
        if self._pushes:
            self._pushes = [push for push in self._pushes if push[0].end > t + _SAME_TIME]
        kind = (self.servos.changes if self.servos else 0, self._next_call, len(self._pushes))
        if self._kept is not None and not self._pushes and not self._profiles and kind == self._kept_kind:
            return self._kept
        self._kept_kind = kind
        parameters = [x for profile in self._profiles for x in profile.parameters(t + _SAME_TIME)]
        commands = None if self.servos is None else self.servos.commands
        self._kept = self._system.inputs(self.tau, parameters, self._pushed(q), commands)
        return self._kept

    def pushes_end(self, t: float) -> bool:
        """Return True if a push ends at t."""
        return any(profile.end <= t + _SAME_TIME for profile, _ in self._pushes)

    def next_break(self, t: float) -> float:
        """Return the time of the next discontinuity of u."""
        times = [end for end in self._breaks if end > t + _SAME_TIME][:1]
        if self._next_call is not None:
            times.append(self._next_call)
        times += [min(push.end, t + TURNING) if where.is_world else push.end for push, where in self._pushes]
        return min(times, default=np.inf)

    def timing(self, t: float) -> dict[str, object]:
        """Return the control period and its start, and the times at which wrenches start and end, for the log."""
        times = {time for time in self._breaks if time > t}.union(push.end for push, _ in self._pushes)
        found: dict[str, object] = {"wrench_breaks": sorted(times)} if times else {}
        if self._controller is not None:
            found["control_period"] = self._period
            found["control_start"] = t if self._next_call is None else float(self._next_call)
        return found

    def _pushed(self, q: Array) -> Array | None:
        if not self._pushes:
            return None
        tree = self._system.equations.tree
        at = q.tolist()
        world = poses(tree, transforms(tree, at))
        wrenches = np.zeros((len(tree.bodies), 6))
        for push, where in self._pushes:
            if where.body >= 0:
                local = on_body(where, world[where.body], push.wrench)
                wrenches[where.body] += [*local.force, *local.moment]
        return wrenches.ravel()

    # --- for the log --------------------------------------------------------------------------------------------
    def external(self, t: Array, q: Array, u: Array) -> dict[str, Array]:
        """Return the wrenches of profiles and pushes on each link, at its origin in its axes, for rows of states."""
        total: dict[str, Array] = {}
        nv = self._model.nv
        for i, profile in enumerate(self._profiles):
            parameters = list(u[:, nv + PARAMETERS * i : nv + PARAMETERS * (i + 1)].T)
            rows = np.array([np.broadcast_to(x, t.shape) for x in profile_wrench(parameters, t)], dtype=float).T
            self._add(total, profile, rows, q)
        for push, _ in self._pushes:
            self._add(total, push, np.tile(push.wrench, (len(t), 1)), q)
        return total

    def _add(self, total: dict[str, Array], profile: WrenchProfile, rows: Array, q: Array) -> None:
        link = profile.link
        if profile.frame == "world":
            R = self._system.dynamics.pose(link, q)[:, :3, :3]
            rows = np.hstack([np.einsum("nji,nj->ni", R, rows[:, :3]), np.einsum("nji,nj->ni", R, rows[:, 3:])])
        rows = np.hstack([rows[:, :3], rows[:, 3:] + np.cross(profile.point, rows[:, :3])])
        total[link] = total[link] + rows if link in total else rows
