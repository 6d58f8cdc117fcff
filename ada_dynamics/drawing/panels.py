# SPDX-License-Identifier: Apache-2.0
"""Panels of a figure as data: curves with a title and units, and the named panels of a motion.

panels_of(log, ["position", "velocity", "energy"])

Angles are in degrees, other quantities in SI units, as in the figures of Takahashi 2012.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.kinematics import position_rates
from ada_dynamics.analysis.balance import balance_of, fixed_feet_of, fixing_joints
from ada_dynamics.analysis.motion import LoopJointMotion, dynamics_of, energy_of, motion_array, revolute_loops
from ada_dynamics.analysis.power import power_balance
from ada_dynamics.analysis.singularity import loop_singularity_measure, singularity_times
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, check_name
from ada_dynamics.model.model import Model
from ada_dynamics.spatial.orientation import to_rpy

TIME = "Time [s]"
_XYZ = ("x", "y", "z")
_TRUNK = "body"
ROUNDING = 1e-12  # [N, N m], below which components of a rotated wrench are zero
SMALLEST = 1e-18  # replaces zeros on a logarithmic axis


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve.

    Attributes:
        label: label in the legend; empty for a single curve named by the title.
        x: abscissae, usually times, (N,).
        y: values, (N,).
        style: dashes ("-", "--", ":"), or a marker such as "o"; empty for the default of the palette.
        joint: name of the joint of the curve, or empty.
    """

    label: str
    x: Array
    y: Array
    style: str = ""
    joint: str = ""

    def __post_init__(self) -> None:
        """Convert x and y to arrays and check their shapes."""
        for name in ("x", "y"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        if self.x.ndim != 1 or self.x.shape != self.y.shape:
            text = (
                f"curve {self.label!r} has x of shape {self.x.shape} and y of shape {self.y.shape}; "
                "both must be one-dimensional and of equal length."
            )
            raise InputError(text, field="y", value=self.y.shape, allowed=self.x.shape)


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes.

    Attributes:
        title: title, such as "Joint angle"; figures prepend "(a)" etc.
        ylabel: label with unit, such as "[deg]".
        curves: the curves.
        xlabel: label with unit.
        marks: values of x of events, such as singular configurations.
        is_logarithmic: True for a logarithmic y axis, which omits values that are not positive.
        is_plane: True if x and y are lengths in a plane, drawn at equal scale.
        note: remark next to the title, such as the number of omitted curves.
    """

    title: str
    ylabel: str
    curves: Sequence[Curve]
    xlabel: str = TIME
    marks: Sequence[float] = ()
    is_logarithmic: bool = False
    is_plane: bool = False
    note: str = ""

    @classmethod
    def of(cls, title: str, ylabel: str, x: ArrayLike, curves: Mapping[str, ArrayLike], **more: Any) -> Panel:
        """Create a panel of curves over a common x.

        Args:
            title: title.
            ylabel: label with unit.
            x: abscissae, usually times.
            curves: values by label.
            more: xlabel, marks, is_logarithmic, is_plane.
        """
        xs = np.asarray(x, dtype=np.float64)
        return cls(title, ylabel, tuple(Curve(label, xs, np.asarray(y)) for label, y in curves.items()), **more)


Maker = Callable[[Any], list[Panel]]
PANELS: dict[str, Maker] = {}  # functions of a motion, by name of the panel


def panel(name: str) -> Callable[[Maker], Maker]:
    """Register the function that creates the panels of a name."""

    def register(maker: Maker) -> Maker:
        PANELS[name] = maker
        return maker

    return register


def panels_of(motion: Any, names: Sequence[str | Panel]) -> list[Panel]:
    """Create panels of a motion by name; given panels are kept.

    Args:
        motion: a `Log`, or a motion with model, t, q, v (a, tau, ...).
        names: keys of `PANELS`, "signal:NAME" or "signal:NAME [UNIT]" for a controller signal,
            "link_position:NAME" and "link_velocity:NAME" for a link, or panels.

    Raises:
        InputError: a panel is unknown, or the motion lacks its data.
    """
    found: list[Panel] = []
    for name in names:
        if isinstance(name, Panel):
            found.append(name)
            continue
        prefix, colon, rest = name.partition(":")
        if colon and prefix in _PREFIXED:
            found.append(_PREFIXED[prefix](motion, rest))
            continue
        check_name("panel", name, PANELS)
        made = PANELS[name](motion)
        if not made:
            raise InputError(f"panel {name!r} has no data for model {motion.model.name!r}.", field="panels", value=name)
        found.extend(made)
    return found


def _signal(motion: Any, name: str) -> Panel:
    """Panel of a controller signal "NAME" or "NAME [UNIT]"."""
    name, _, unit = name.partition(" ")
    signals = getattr(motion, "signals", {})
    check_name("signal of the controller", name, signals)
    rows = signals[name].reshape(len(motion.signal_times), -1)
    curves = {"" if rows.shape[1] == 1 else str(i + 1): column for i, column in enumerate(rows.T)}
    return Panel.of(name.replace("_", " "), unit, motion.signal_times, curves)


def _link_position(motion: Any, link: str) -> Panel:
    """Position of a link (figs. 7.4 e, f); an InputError if it does not exist."""
    places = dynamics_of(motion).pose(link, motion.q)[:, :3, 3]
    return Panel.of(f"Position of {link}", "[m]", motion.t, _xyz(places))


def _link_velocity(motion: Any, link: str) -> Panel:
    velocities = dynamics_of(motion).velocity(link, motion.q, motion.v)[:, :3]
    return Panel.of(f"Velocity of {link}", "[m/s]", motion.t, _xyz(velocities))


_PREFIXED = {"signal": _signal, "link_position": _link_position, "link_velocity": _link_velocity}


# --- joints (Takahashi 2012, figs. 3.3, 3.21, 3.22) ------------------------------------------------------------------
def _columns(model: Model, unit: str, of_velocities: bool = False) -> Iterator[tuple[str, str, int]]:
    """Joint, label and column of all coordinates of a unit, except those of a floating base."""
    for name in model.joint_names:
        joint = model.joints[name].type
        if joint.leaves_free():
            continue
        first = (model.v_index(name) if of_velocities else model.q_index(name)).start
        for i, own in enumerate(joint.rates if of_velocities else joint.coordinates):
            if own.unit == unit:
                yield name, f"{name} {own.label}".rstrip(), first + i


def angle_columns(model: Model) -> list[int]:
    """Indices of all angles in q."""
    base = base_of(model)
    first = model.q_index(base).start + 3 if base and _has_angles(model) else None
    of_base = () if first is None else range(first, first + 3)
    return [*of_base, *(column for *_, column in _columns(model, "rad"))]


def _by_unit(
    motion: Any, rows: Array, kinds: Sequence[tuple[str, str, str]], of_velocities: bool = True
) -> list[Panel]:
    """Panels of joint coordinates: unit, title and shown unit of each; panels without coordinates are omitted."""
    found = []
    for unit, title, shown in kinds:
        scale = np.degrees(1.0) if shown == "deg" else 1.0
        columns = _columns(motion.model, unit, of_velocities)
        curves = [Curve(label, motion.t, scale * rows[:, i], joint=joint) for joint, label, i in columns]
        found += [Panel(title, f"[{shown}]", tuple(curves))] if curves else []
    return found


@panel("position")
def positions(motion: Any) -> list[Panel]:
    """Joint angles [deg], positions [m] and quaternions, in separate panels."""
    kinds = (("rad", "Joint angle", "deg"), ("m", "Joint position", "m"), ("1", "Joint quaternion", "-"))
    found = _by_unit(motion, motion.q, kinds, of_velocities=False)
    return _with_loops(motion, found, lambda joint: np.degrees(joint.angle(motion.q)))


@panel("velocity")
def velocities(motion: Any) -> list[Panel]:
    """Joint velocities."""
    kinds = (("rad", "Joint velocity", "rad/s"), ("m", "Joint velocity (slides)", "m/s"))
    return _with_loops(motion, _by_unit(motion, motion.v, kinds), lambda joint: joint.rate(motion.q, motion.v))


@panel("acceleration")
def accelerations(motion: Any) -> list[Panel]:
    """Joint accelerations."""
    rows = motion_array(motion, "a", "accelerations")
    kinds = (("rad", "Joint acceleration", "rad/s²"), ("m", "Joint acceleration (slides)", "m/s²"))
    return _with_loops(motion, _by_unit(motion, rows, kinds), lambda j: j.acceleration(motion.q, motion.v, rows))


def _with_loops(motion: Any, panels: list[Panel], curve: Callable[[LoopJointMotion], Array]) -> list[Panel]:
    """Add the curves of revolute loop joints to the first panel if it contains angles."""
    loops = revolute_loops(motion.model)
    if not loops or not any(_columns(motion.model, "rad")):
        return panels
    dynamics = dynamics_of(motion)
    more = [Curve(name, motion.t, curve(LoopJointMotion(dynamics, name)), joint=name) for name in loops]
    return [replace(panels[0], curves=(*panels[0].curves, *more)), *panels[1:]]


@panel("effort")
def efforts(motion: Any) -> list[Panel]:
    """Joint torques and forces."""
    kinds = (("rad", "Joint torque", "N m"), ("m", "Joint force", "N"))
    return _by_unit(motion, motion_array(motion, "tau", "joint efforts"), kinds)


def _joint_loads(motion: Any, title: str, unit: str, part: slice) -> list[Panel]:
    """Magnitude of the uniquely determined force or moment in each joint, also of loops."""
    curves, note = [], ""
    for name, wrench in (getattr(motion, "wrenches", None) or {}).items():
        unique = np.asarray(motion.wrenches_unique[name][part])
        note = note if unique.all() else "without indeterminate components"
        joint = name if name in motion.model.joint_names else ""
        curves.append(Curve(name, motion.t, np.linalg.norm(wrench[:, part] * unique, axis=1), joint=joint))
    return [Panel(title, f"[{unit}]", tuple(curves), note=note)] if curves else []


panel("joint_force")(partial(_joint_loads, title="Joint force (magnitude)", unit="N", part=slice(0, 3)))
panel("joint_moment")(partial(_joint_loads, title="Joint moment (magnitude)", unit="N m", part=slice(3, 6)))


# --- floating base --------------------------------------------------------------------------------------------------
_EULER = ("z", "y'", "x''")
_QUATERNION = ("$q_1$", "$q_2$", "$q_3$", "$q_4$")
_BASE = {  # name -> rows, description, first of them, title, unit; rates in base axes, or those of Euler angles
    "base_position": ("q", "positions", 0, "Base position", "m"),  # in the world frame
    "base_orientation": ("q", "positions", 3, "Base quaternion", "-"),  # eq. 3.32
    "base_velocity": ("v", "velocities", 0, "Base velocity", "m/s"),
    "base_angular_velocity": ("v", "velocities", 3, "Base angular velocity", "rad/s"),
    "base_acceleration": ("a", "accelerations", 0, "Base acceleration", "m/s²"),
    "base_angular_acceleration": ("a", "accelerations", 3, "Base angular acceleration", "rad/s²"),
    "base_force": ("tau", "joint efforts", 0, "Base force", "N"),  # of a motor; zero for a floating base
    "base_torque": ("tau", "joint efforts", 3, "Base torque", "N m"),
}


def base_of(model: Model) -> str:
    """Name of the first floating joint, or an empty string."""
    return next((name for name in model.joint_names if model.joints[name].type.leaves_free()), "")


def _has_angles(model: Model) -> bool:
    """Return True if the orientation of the floating base is given by Euler angles."""
    return model.joints[base_of(model)].type.quaternion_at() is None


def _base(motion: Any, name: str) -> list[Panel]:
    """Panel of an entry of `_BASE`."""
    attribute, what, offset, title, unit = _BASE[name]
    rows, base = motion_array(motion, attribute, what), base_of(motion.model)
    if not base:
        return []
    first = (motion.model.q_index(base) if attribute == "q" else motion.model.v_index(base)).start + offset
    labels: Sequence[str] = _EULER if offset and _has_angles(motion.model) else _XYZ
    if name == "base_orientation" and _has_angles(motion.model):
        rows, title, unit = np.degrees(rows), "Base angle", "deg"
    elif name == "base_orientation":
        labels = _QUATERNION
    return [Panel.of(title, f"[{unit}]", motion.t, {label: rows[:, first + i] for i, label in enumerate(labels)})]


@panel("base_orientation_rate")
def base_orientation_rate(motion: Any) -> list[Panel]:
    """Rate of the quaternion of the floating base (eq. 3.34); empty for Euler angles."""
    base = base_of(motion.model)
    if not base or _has_angles(motion.model):
        return []
    rates = position_rates(motion.model.tree, list(motion.q.T), list(motion.v.T))
    curves = zip(_QUATERNION, rates[motion.model.q_index(base)][3:], strict=True)
    named = {label.replace("q", r"\dot{q}"): rate for label, rate in curves}
    return [Panel.of("Rate of base quaternion", "[1/s]", motion.t, named)]


for _name in _BASE:
    panel(_name)(partial(_base, name=_name))


# --- the whole robot (figs. 3.17, 3.22) -------------------------------------------------------------------------------
Curves = Mapping[str, Array]


def _energies(motion: Any) -> Curves:
    kinetic, potential = energy_of(motion)
    return {"K.E.": kinetic, "P.E.": potential, "K.E. + P.E.": kinetic + potential}


def _energy_error(motion: Any) -> Curves:
    total = np.add(*energy_of(motion))
    return {"": np.maximum(np.abs(total - total[:1]), SMALLEST)}


def _powers(motion: Any) -> Curves:
    found = power_balance(motion)
    names = ("input", "external", "contact")
    powers = {name: getattr(found, name) for name in names} | {"dissipated": -found.dissipated}
    return {label: values for label, values in powers.items() if np.any(values)} or {"input": found.input}


def _work(motion: Any) -> Curves:
    """Change of energy, the work by source, and the residual."""
    found = power_balance(motion)
    work = {label: -w if label == "dissipated" else w for label, w in found.work.items() if np.any(w)}
    return {"energy": found.total - found.total[:1], **work, "unexplained": found.residual}


def _loop_gap(motion: Any) -> Curves:
    """Largest closure error of all loops."""
    if not motion.model.loops:
        return {}
    own = getattr(motion, "loop_gap", None)
    gaps = dynamics_of(motion).constraints.closure_error(motion.q) if own is None else own
    return {"": np.maximum(gaps, SMALLEST)}


def _xyz(rows: Array) -> Curves:
    return dict(zip(_XYZ, rows.T, strict=True))


def _momentum(motion: Any) -> Array:
    """Centroidal momentum [linear, angular]."""
    own = getattr(motion, "momentum", None)
    return np.asarray(dynamics_of(motion).momentum(motion.q, motion.v) if own is None else own, dtype=np.float64)


def _contact_wrenches(motion: Any) -> dict[str, Array]:
    return {name: np.asarray(w) for name, w in (getattr(motion, "contact_wrenches", None) or {}).items()}


def _contact_force(motion: Any) -> Curves:
    """Sum of all contact forces, in world axes."""
    wrenches = _contact_wrenches(motion)
    return _xyz(np.sum([w[:, :3] for w in wrenches.values()], axis=0)) if wrenches else {}


def _zmp(motion: Any) -> Curves:
    found, com = balance_of(motion).zmp, dynamics_of(motion).com(motion.q)
    return {"ZMP x": found[:, 0], "ZMP y": found[:, 1], "CoM x": com[:, 0], "CoM y": com[:, 1]}


def _trunk_angles(motion: Any) -> Curves:
    """Roll, pitch and yaw of the link `body` (figs. 6.6, 6.8)."""
    if _TRUNK not in motion.model.links:
        return {}
    return _xyz(np.degrees([to_rpy(pose[:3, :3]) for pose in dynamics_of(motion).pose(_TRUNK, motion.q)]))


# Title, label of the ordinate, and curves over time by name of the panel; without curves a motion has no such panel.
_OVER_TIME: dict[str, tuple[str, str, Callable[[Any], Curves]]] = {
    "energy": ("Mechanical energy", "[J]", _energies),
    "energy_error": ("Energy error", "|E − E₀| [J]", _energy_error),
    "loop_gap": ("Loop gap", "[m, rad]", _loop_gap),
    "power": ("Power", "[W]", _powers),
    "work": ("Energy and work", "[J]", _work),
    "com": ("CoM position", "[m]", lambda motion: _xyz(dynamics_of(motion).com(motion.q))),
    "com_velocity": (
        "CoM velocity",
        "[m/s]",
        lambda motion: _xyz(dynamics_of(motion).com_velocity(motion.q, motion.v)),
    ),
    "momentum": ("Linear momentum", "[kg m/s]", lambda motion: _xyz(_momentum(motion)[:, :3])),
    "angular_momentum": ("Angular momentum", "[kg m²/s]", lambda motion: _xyz(_momentum(motion)[:, 3:])),
    "contact": ("Contact force", "[N]", _contact_force),
    "contact_forces": (
        "Vertical contact force",
        "[N]",
        lambda motion: {name: w[:, 2] for name, w in _contact_wrenches(motion).items()},
    ),
    "zmp": ("Zero-moment point", "[m]", _zmp),
    "support_margin": ("Stability margin", "[m]", lambda motion: {"": _finite(balance_of(motion).margin)}),
    "trunk_angles": ("Upper body angle", "[deg]", _trunk_angles),
}
_ERRORS = ("energy_error", "loop_gap")  # with a logarithmic ordinate


def _over_time(motion: Any, name: str) -> list[Panel]:
    """Panel of an entry of `_OVER_TIME`."""
    title, ylabel, curves = _OVER_TIME[name]
    found = curves(motion)
    return [Panel.of(title, ylabel, motion.t, found, is_logarithmic=name in _ERRORS)] if found else []


for _name in _OVER_TIME:
    panel(_name)(partial(_over_time, name=_name))


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, np.nan)


# --- loops ----------------------------------------------------------------------------------------------------------
@panel("singularity")
def singularity(motion: Any) -> list[Panel]:
    """det(J Jᵀ) of the cut ends of the loops (fig. 3.17 f), with marks at its zeros."""
    loops = motion.model.loop_names
    if not loops:
        return []
    curves = {loop: loop_singularity_measure(dynamics_of(motion), loop, motion.q) for loop in loops}
    shown = curves if len(loops) > 1 else {"": curves[loops[0]]}
    passed = sorted({time for curve in curves.values() for time in singularity_times(motion.t, curve).tolist()})
    return [Panel.of("Determinant $JJ^T$", "det($JJ^T$)", motion.t, shown, marks=tuple(passed))]


# --- surroundings ---------------------------------------------------------------------------------------------------
def _external(motion: Any, in_world: bool) -> list[Panel]:
    """External forces and moments by link, in link axes or in world axes."""
    found = []
    wrenches = {link: np.asarray(w) for link, w in (getattr(motion, "external", None) or {}).items()}
    for link, w in wrenches.items() if in_world else ():
        rotation = dynamics_of(motion).pose(link, motion.q)[:, :3, :3]
        turned = np.einsum("tij,tkj->tki", rotation, w.reshape(-1, 2, 3)).reshape(-1, 6)
        wrenches[link] = np.where(np.abs(turned) < ROUNDING, 0.0, turned)
    for first, kind, unit in ((0, "force", "N"), (3, "moment", "N m")):
        curves = {
            f"{link} {axis}": w[:, first + i]
            for link, w in wrenches.items()
            for i, axis in enumerate(_XYZ)
            if np.any(w[:, first + i])
        }
        if curves:
            found.append(Panel.of(f"External {kind}", f"[{unit}]", motion.t, curves))
    return found


panel("external")(partial(_external, in_world=False))
panel("external_in_world")(partial(_external, in_world=True))


def _from_above(zmp: Array, outlines: Mapping[str, Array]) -> Panel:
    """Zero-moment point from above, with outlines of the support."""
    curves = [Curve("ZMP", zmp[:, 0], zmp[:, 1])]
    for label, corners in outlines.items():
        closed = np.vstack([corners, corners[:1]])
        curves.append(Curve(label, closed[:, 0], closed[:, 1], "--"))
    return Panel("ZMP and support polygon", "y [m]", curves, xlabel="x [m]", is_plane=True)


@panel("zmp_path")
def zmp_path(motion: Any) -> list[Panel]:
    """Zero-moment point from above, with the first and last support polygon."""
    found = balance_of(motion)
    polygons = {"support at the start": found.polygon(0), "support at the end": found.polygon(len(motion.t) - 1)}
    return [_from_above(found.zmp, {label: hull for label, hull in polygons.items() if len(hull)})]


@panel("fixed_feet_zmp")
def fixed_feet_zmp(motion: Any) -> list[Panel]:
    """Zero-moment point of fixed feet from above with the hull of the soles, and its margin (figs. 6.6, 6.8)."""
    if not fixing_joints(motion.model):
        return []
    found = fixed_feet_of(motion)
    margin = {"": _finite(found.margin)}
    return [_from_above(found.zmp, {"soles": found.soles}), Panel.of("Stability margin", "[m]", motion.t, margin)]
