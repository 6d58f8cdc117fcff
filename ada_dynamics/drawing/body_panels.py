# SPDX-License-Identifier: Apache-2.0
"""Panels of the whole robot: energy, power, momentum, center of mass, loops, contact, balance (figs. 3.17, 3.22)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ada_dynamics.analysis.balance import balance_of, fixed_feet_of, fixing_joints
from ada_dynamics.analysis.motion import dynamics_of, energy_of, mass_of
from ada_dynamics.analysis.power import power_balance
from ada_dynamics.analysis.singularity import constraint_conditioning, loop_singularity_measure, singularity_times
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel, Series, panel
from ada_dynamics.spatial.orientation import to_rpy

_XYZ = ("x", "y", "z")
_TRUNK = "body"
_POSES = 600  # largest number of configurations for slow measures
ROUNDING = 1e-12  # [N, N m], below which components of a rotated wrench are zero
SMALLEST = 1e-18  # replaces zeros on a logarithmic axis


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


@panel("com")
def com(motion: Any) -> list[Panel]:
    """Center of mass."""
    return _vector("CoM position", "m", motion.t, dynamics_of(motion).com(motion.q))


@panel("com_velocity")
def com_velocity(motion: Any) -> list[Panel]:
    """Velocity of the center of mass."""
    dynamics = dynamics_of(motion)
    return _vector("CoM velocity", "m/s", motion.t, _momentum(motion)[:, :3] / mass_of(dynamics))


@panel("momentum")
def momentum(motion: Any) -> list[Panel]:
    """Linear momentum."""
    return _vector("Linear momentum", "kg m/s", motion.t, _momentum(motion)[:, :3])


@panel("angular_momentum")
def angular_momentum(motion: Any) -> list[Panel]:
    """Angular momentum about the center of mass."""
    return _vector("Angular momentum", "kg m²/s", motion.t, _momentum(motion)[:, 3:])


def _momentum(motion: Any) -> Array:
    own = getattr(motion, "momentum", None)
    return np.asarray(dynamics_of(motion).momentum(motion.q, motion.v) if own is None else own, dtype=np.float64)


def _vector(title: str, unit: str, t: Array, rows: Array) -> list[Panel]:
    return [Panel.of(title, f"[{unit}]", t, {label: rows[:, i] for i, label in enumerate(_XYZ)})]


def link_panel(motion: Any, name: str) -> Panel:
    """Panel "link_position:NAME" or "link_velocity:NAME" of a motion (figs. 7.4 e, f).

    Raises:
        InputError: the link does not exist.
    """
    what, _, link = name.partition(":")
    if what == "link_position":
        rows = np.asarray(dynamics_of(motion).pose(link, motion.q))[:, :3, 3]
        return _vector(f"Position of {link}", "m", motion.t, rows)[0]
    rows = np.asarray(dynamics_of(motion).velocity(link, motion.q, motion.v))[:, :3]
    return _vector(f"Velocity of {link}", "m/s", motion.t, rows)[0]


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
