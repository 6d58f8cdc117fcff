# SPDX-License-Identifier: Apache-2.0
"""Panels of a figure as data: curves with a title and units, and the named panels of a motion.

panels_of(log, ["position", "velocity", "energy"])

Angles are in degrees, other quantities in SI units, as in the figures of Takahashi 2012.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.analysis.balance import balance_of, fixed_feet_of, fixing_joints
from ada_dynamics.analysis.motion import (
    LoopJointMotion,
    dynamics_of,
    energy_of,
    mass_of,
    motion_array,
    revolute_loops,
)
from ada_dynamics.analysis.power import power_balance
from ada_dynamics.analysis.singularity import constraint_conditioning, loop_singularity_measure, singularity_times
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model
from ada_dynamics.spatial.orientation import to_rpy

TIME = "Time [s]"
_SIGNAL = "signal:"  # prefix of a controller signal
_LINK = ("link_position:", "link_velocity:")  # prefixes of a link
_XYZ = ("x", "y", "z")
_TRUNK = "body"
_POSES = 600  # largest number of configurations for slow measures
ROUNDING = 1e-12  # [N, N m], below which components of a rotated wrench are zero
SMALLEST = 1e-18  # replaces zeros on a logarithmic axis


@dataclass(frozen=True, eq=False)
class Series:
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
        series: curves.
        xlabel: label with unit.
        marks: values of x of events, such as singular configurations.
        is_logarithmic: True for a logarithmic y axis, which omits values that are not positive.
        is_plane: True if x and y are lengths in a plane, drawn at equal scale.
        note: remark next to the title, such as the number of omitted curves.
    """

    title: str
    ylabel: str
    series: Sequence[Series]
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
        return cls(title, ylabel, tuple(Series(label, xs, np.asarray(y)) for label, y in curves.items()), **more)


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
        if name.startswith(_SIGNAL):
            found.append(_signal_panel(motion, name.removeprefix(_SIGNAL)))
            continue
        if name.startswith(_LINK):
            found.append(_link_panel(motion, name))
            continue
        if name not in PANELS:
            raise unknown_name("panel", name, PANELS)
        made = PANELS[name](motion)
        if not made:
            raise InputError(f"panel {name!r} has no data for model {motion.model.name!r}.", field="panels", value=name)
        found.extend(made)
    return found


def _signal_panel(motion: Any, name: str) -> Panel:
    """Panel of a controller signal "NAME" or "NAME [UNIT]"."""
    name, _, unit = name.partition(" ")
    signals = getattr(motion, "signals", {})
    if name not in signals:
        raise unknown_name("signal of the controller", name, signals)
    rows = signals[name].reshape(len(motion.signal_times), -1)
    curves = {"" if rows.shape[1] == 1 else str(i + 1): column for i, column in enumerate(rows.T)}
    return Panel.of(name.replace("_", " "), unit, motion.signal_times, curves)


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


def _panel(
    motion: Any, rows: Array, columns: Iterable[tuple[str, str, int]], title: str, unit: str, scale: float = 1.0
) -> list[Panel]:
    """Panel of some joint coordinates; empty without coordinates."""
    series = [Series(label, motion.t, scale * rows[:, column], joint=joint) for joint, label, column in columns]
    return [Panel(title, f"[{unit}]", tuple(series))] if series else []


@panel("position")
def positions(motion: Any) -> list[Panel]:
    """Joint angles [deg], positions [m] and quaternions, in separate panels."""
    sorts = (("rad", "Joint angle", "deg"), ("m", "Joint position", "m"), ("1", "Joint quaternion", "-"))
    found = []
    for sort, title, unit in sorts:
        scale = np.degrees(1.0) if sort == "rad" else 1.0
        found += _panel(motion, motion.q, _columns(motion.model, sort), title, unit, scale)
    return _with_loops(motion, found, lambda joint: np.degrees(joint.angle(motion.q)))


@panel("velocity")
def velocities(motion: Any) -> list[Panel]:
    """Joint velocities."""
    found = _rates(motion, motion.v, "velocity", "s")
    return _with_loops(motion, found, lambda joint: joint.rate(motion.q, motion.v))


@panel("acceleration")
def accelerations(motion: Any) -> list[Panel]:
    """Joint accelerations."""
    rows = motion_array(motion, "a", "accelerations")
    found = _rates(motion, rows, "acceleration", "s²")
    return _with_loops(motion, found, lambda joint: joint.acceleration(motion.q, motion.v, rows))


def _with_loops(motion: Any, panels: list[Panel], curve: Callable[[LoopJointMotion], Array]) -> list[Panel]:
    """Add the curves of revolute loop joints to the first panel if it contains angles."""
    loops = revolute_loops(motion.model)
    if not loops or not any(_columns(motion.model, "rad")):
        return panels
    dynamics = dynamics_of(motion)
    more = [Series(name, motion.t, curve(LoopJointMotion(dynamics, name)), joint=name) for name in loops]
    return [replace(panels[0], series=(*panels[0].series, *more)), *panels[1:]]


def _rates(motion: Any, rows: Array, what: str, per: str) -> list[Panel]:
    turning, sliding = (_columns(motion.model, unit, of_velocities=True) for unit in ("rad", "m"))
    turns = _panel(motion, rows, turning, f"Joint {what}", f"rad/{per}")
    return [*turns, *_panel(motion, rows, sliding, f"Joint {what}{' (slides)' if turns else ''}", f"m/{per}")]


@panel("effort")
def efforts(motion: Any) -> list[Panel]:
    """Joint torques and forces."""
    rows = motion_array(motion, "tau", "joint efforts")
    turning, sliding = (_columns(motion.model, unit, of_velocities=True) for unit in ("rad", "m"))
    return [*_panel(motion, rows, turning, "Joint torque", "N m"), *_panel(motion, rows, sliding, "Joint force", "N")]


def _joint_loads(motion: Any, title: str, unit: str, part: slice) -> list[Panel]:
    """Magnitude of the uniquely determined force or moment in each joint, also of loops."""
    series, note = [], ""
    for name, wrench in (getattr(motion, "wrenches", None) or {}).items():
        unique = np.asarray(motion.wrenches_unique[name][part])
        note = note if unique.all() else "without indeterminate components"
        joint = name if name in motion.model.joint_names else ""
        series.append(Series(name, motion.t, np.linalg.norm(wrench[:, part] * unique, axis=1), joint=joint))
    return [Panel(title, f"[{unit}]", tuple(series), note=note)] if series else []


panel("joint_force")(partial(_joint_loads, title="Joint force (magnitude)", unit="N", part=slice(0, 3)))
panel("joint_moment")(partial(_joint_loads, title="Joint moment (magnitude)", unit="N m", part=slice(3, 6)))


# --- floating base --------------------------------------------------------------------------------------------------
_EULER = ("z", "y'", "x''")
_BASE = {  # name -> rows, description, first of six, title, unit; in base axes, or rates of Euler angles
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


def _of_base(motion: Any, rows: Array, first: int, labels: Sequence[str], title: str, unit: str) -> list[Panel]:
    return [Panel.of(title, f"[{unit}]", motion.t, {label: rows[:, first + i] for i, label in enumerate(labels)})]


@panel("base_position")
def base_position(motion: Any) -> list[Panel]:
    """Position of the floating base in the world frame."""
    base = base_of(motion.model)
    return _of_base(motion, motion.q, motion.model.q_index(base).start, _XYZ, "Base position", "m") if base else []


@panel("base_orientation")
def base_orientation(motion: Any) -> list[Panel]:
    """Quaternion or z-y-x Euler angles of the floating base."""
    base = base_of(motion.model)
    if not base:
        return []
    first = motion.model.q_index(base).start + 3
    if _has_angles(motion.model):
        return _of_base(motion, np.degrees(1.0) * motion.q, first, _EULER, "Base angle", "deg")
    quaternion = [f"$q_{i}$" for i in range(1, 5)]  # eq. 3.32
    return _of_base(motion, motion.q, first, quaternion, "Base quaternion", "-")


@panel("base_orientation_rate")
def base_orientation_rate(motion: Any) -> list[Panel]:
    """Rate of the quaternion of the floating base (eq. 3.34); empty for Euler angles."""
    base = base_of(motion.model)
    if not base or _has_angles(motion.model):
        return []
    at, rate = motion.model.q_index(base), motion.model.v_index(base)
    x, y, z, w = motion.q[:, at.start + 3 : at.start + 7].T
    p, q, r = motion.v[:, rate.start + 3 : rate.start + 6].T
    rates = 0.5 * np.column_stack(
        [w * p - z * q + y * r, z * p + w * q - x * r, -y * p + x * q + w * r, -x * p - y * q - z * r]
    )
    labels = [f"$\\dot{{q}}_{i}$" for i in range(1, 5)]
    return _of_base(motion, rates, 0, labels, "Rate of base quaternion", "1/s")


def _base_rates(motion: Any, name: str) -> list[Panel]:
    """Panel of an entry of `_BASE`."""
    attribute, what, offset, title, unit = _BASE[name]
    rows, base = motion_array(motion, attribute, what), base_of(motion.model)
    if not base:
        return []
    labels = _EULER if offset and _has_angles(motion.model) else _XYZ
    return _of_base(motion, rows, motion.model.v_index(base).start + offset, labels, title, unit)


for _name in _BASE:
    panel(_name)(partial(_base_rates, name=_name))


# --- the whole robot (figs. 3.17, 3.22) -------------------------------------------------------------------------------
@panel("energy")
def energy(motion: Any) -> list[Panel]:
    """Kinetic, potential and total energy."""
    kinetic, potential = energy_of(motion)
    curves = {"K.E.": kinetic, "P.E.": potential, "K.E. + P.E.": kinetic + potential}
    return [Panel.of("Mechanical energy", "[J]", motion.t, curves)]


@panel("energy_error")
def energy_error(motion: Any) -> list[Panel]:
    """Change of the total energy since the start."""
    kinetic, potential = energy_of(motion)
    total = kinetic + potential
    curves = {"": np.maximum(np.abs(total - total[:1]), SMALLEST)}
    return [Panel.of("Energy error", "|E − E₀| [J]", motion.t, curves, is_logarithmic=True)]


@panel("power")
def power(motion: Any) -> list[Panel]:
    """Power of motors, external wrenches and contacts, and dissipated power."""
    found = power_balance(motion)
    named = {
        "input": found.input,
        "external": found.external,
        "contact": found.contact,
        "dissipated": -found.dissipated,
    }
    acting = {label: values for label, values in named.items() if np.any(values)}
    return [Panel.of("Power", "[W]", motion.t, acting or {"input": found.input})]


@panel("work")
def work(motion: Any) -> list[Panel]:
    """Change of energy, the work by source, and the residual."""
    found = power_balance(motion)
    curves = {"energy": found.total - found.total[:1]}
    curves |= {label: -w if label == "dissipated" else w for label, w in found.work.items() if np.any(w)}
    return [Panel.of("Energy and work", "[J]", motion.t, {**curves, "unexplained": found.residual})]


def _momentum(motion: Any) -> Array:
    own = getattr(motion, "momentum", None)
    return np.asarray(dynamics_of(motion).momentum(motion.q, motion.v) if own is None else own, dtype=np.float64)


def _vector(title: str, unit: str, t: Array, rows: Array) -> list[Panel]:
    return [Panel.of(title, f"[{unit}]", t, {label: rows[:, i] for i, label in enumerate(_XYZ)})]


_VECTORS: dict[str, tuple[str, str, Callable[[Any], Array]]] = {  # name -> title, unit, rows; about the CoM
    "com": ("CoM position", "m", lambda motion: dynamics_of(motion).com(motion.q)),
    "com_velocity": ("CoM velocity", "m/s", lambda motion: _momentum(motion)[:, :3] / mass_of(dynamics_of(motion))),
    "momentum": ("Linear momentum", "kg m/s", lambda motion: _momentum(motion)[:, :3]),
    "angular_momentum": ("Angular momentum", "kg m²/s", lambda motion: _momentum(motion)[:, 3:]),
}


def _vector_of(motion: Any, name: str) -> list[Panel]:
    """Panel of an entry of `_VECTORS`."""
    title, unit, rows = _VECTORS[name]
    return _vector(title, unit, motion.t, rows(motion))


for _name in _VECTORS:
    panel(_name)(partial(_vector_of, name=_name))


def _link_panel(motion: Any, name: str) -> Panel:
    """Panel "link_position:NAME" or "link_velocity:NAME" of a motion (figs. 7.4 e, f).

    Raises:
        InputError: the link does not exist.
    """
    what, _, link = name.partition(":")
    dynamics = dynamics_of(motion)
    if what == "link_position":
        return _vector(f"Position of {link}", "m", motion.t, dynamics.pose(link, motion.q)[:, :3, 3])[0]
    return _vector(f"Velocity of {link}", "m/s", motion.t, dynamics.velocity(link, motion.q, motion.v)[:, :3])[0]


# --- loops ----------------------------------------------------------------------------------------------------------
@panel("loop_gap")
def loop_gap(motion: Any) -> list[Panel]:
    """Largest closure error of all loops."""
    if not motion.model.loops:
        return []
    own = getattr(motion, "loop_gap", None)
    rows = slice(None) if own is not None else _sample_rows(len(motion.t))
    dynamics = dynamics_of(motion)
    gaps = own if own is not None else [dynamics.constraints.state(q).largest_violation for q in motion.q[rows]]
    curves = {"": np.maximum(np.asarray(gaps, dtype=np.float64), SMALLEST)}
    return [Panel.of("Loop gap", "[m, rad]", motion.t[rows], curves, is_logarithmic=True)]


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


@panel("conditioning")
def conditioning(motion: Any) -> list[Panel]:
    """Ratio of the smallest and largest singular value of the constraint Jacobian."""
    if not motion.model.loops:
        return []
    rows = _sample_rows(len(motion.t))
    curves = {"": np.maximum(constraint_conditioning(dynamics_of(motion), motion.q[rows]), SMALLEST)}
    return [Panel.of("Condition of the closing solve", "σ [-]", motion.t[rows], curves, is_logarithmic=True)]


def _sample_rows(rows: int) -> slice:
    return slice(None, None, max(1, rows // _POSES))


# --- surroundings ---------------------------------------------------------------------------------------------------
@panel("external")
def external(motion: Any) -> list[Panel]:
    """External forces and moments by link, in link axes."""
    return _wrenches(motion.t, "External", getattr(motion, "external", None) or {})


@panel("external_in_world")
def external_in_world(motion: Any) -> list[Panel]:
    """External forces and moments by link, in world axes."""
    wrenches = getattr(motion, "external", None) or {}
    turned = {}
    for link, w in wrenches.items():
        rotation = dynamics_of(motion).pose(link, motion.q)[:, :3, :3]
        turned[link] = np.einsum("tij,tkj->tki", rotation, np.asarray(w).reshape(-1, 2, 3)).reshape(-1, 6)
    return _wrenches(motion.t, "External", {link: np.where(np.abs(w) < ROUNDING, 0.0, w) for link, w in turned.items()})


@panel("contact")
def contact(motion: Any) -> list[Panel]:
    """Sum of all contact forces, in world axes."""
    wrenches = getattr(motion, "contact_wrenches", None) or {}
    if not wrenches:
        return []
    total = np.sum([np.asarray(w)[:, :3] for w in wrenches.values()], axis=0)
    return _vector("Contact force", "N", motion.t, total)


@panel("contact_forces")
def contact_forces(motion: Any) -> list[Panel]:
    """Vertical force of each contact."""
    wrenches = getattr(motion, "contact_wrenches", None) or {}
    curves = {name: np.asarray(w)[:, 2] for name, w in wrenches.items()}
    return [Panel.of("Vertical contact force", "[N]", motion.t, curves)] if curves else []


@panel("zmp")
def zmp(motion: Any) -> list[Panel]:
    """Zero-moment point of the contacts, and horizontal position of the center of mass."""
    found, com_ = balance_of(motion).zmp, dynamics_of(motion).com(motion.q)
    curves = {"ZMP x": found[:, 0], "ZMP y": found[:, 1], "CoM x": com_[:, 0], "CoM y": com_[:, 1]}
    return [Panel.of("Zero-moment point", "[m]", motion.t, curves)]


@panel("zmp_path")
def zmp_path(motion: Any) -> list[Panel]:
    """Zero-moment point from above, with the first and last support polygon."""
    found = balance_of(motion)
    series = [Series("ZMP", found.zmp[:, 0], found.zmp[:, 1])]
    for label, row in (("support at the start", 0), ("support at the end", len(motion.t) - 1)):
        hull = found.polygon(row)
        if len(hull):
            closed = np.vstack([hull, hull[:1]])
            series.append(Series(label, closed[:, 0], closed[:, 1], "--"))
    return [Panel("ZMP and support polygon", "y [m]", series, xlabel="x [m]", is_plane=True)]


@panel("support_margin")
def support_margin(motion: Any) -> list[Panel]:
    """Signed distance of the zero-moment point to the border of the support polygon."""
    margin = balance_of(motion).margin
    return [Panel.of("Stability margin", "[m]", motion.t, {"": np.where(np.isfinite(margin), margin, np.nan)})]


def _wrenches(t: Array, what: str, wrenches: dict[str, Any]) -> list[Panel]:
    found = []
    for first, kind, unit in ((0, "force", "N"), (3, "moment", "N m")):
        curves = {
            f"{link} {axis}": np.asarray(w)[:, first + i]
            for link, w in wrenches.items()
            for i, axis in enumerate(_XYZ)
            if np.any(np.asarray(w)[:, first + i])
        }
        if curves:
            found.append(Panel.of(f"{what} {kind}", f"[{unit}]", t, curves))
    return found


# --- fixed feet (Takahashi 2012, figs. 6.6 and 6.8) ----------------------------------------------------------------
@panel("trunk_angles")
def trunk_angles(motion: Any) -> list[Panel]:
    """Roll, pitch and yaw of the link `body`."""
    if _TRUNK not in motion.model.links:
        return []
    poses = dynamics_of(motion).pose(_TRUNK, motion.q)
    angles = np.degrees([to_rpy(pose[:3, :3]) for pose in poses])
    return [Panel.of("Upper body angle", "[deg]", motion.t, dict(zip("xyz", angles.T, strict=True)))]


@panel("fixed_feet_zmp")
def fixed_feet_zmp(motion: Any) -> list[Panel]:
    """Zero-moment point of fixed feet from above with the hull of the soles, and its margin."""
    if not fixing_joints(motion.model):
        return []
    found = fixed_feet_of(motion)
    closed = np.vstack([found.soles, found.soles[:1]])
    above = [Series("ZMP", found.zmp[:, 0], found.zmp[:, 1]), Series("soles", closed[:, 0], closed[:, 1], "--")]
    inside = np.where(np.isfinite(found.margin), found.margin, np.nan)
    return [
        Panel("ZMP and support polygon", "y [m]", above, xlabel="x [m]", is_plane=True),
        Panel.of("Stability margin", "[m]", motion.t, {"": inside}),
    ]
