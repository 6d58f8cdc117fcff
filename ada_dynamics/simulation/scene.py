# SPDX-License-Identifier: Apache-2.0
"""How a robot is set up for a simulation where nobody says: its pose, the ground under it, stops at its limits."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.kinematics import poses, transforms
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import ClosedConfiguration, close_loops
from ada_dynamics.contact.contact import Contact
from ada_dynamics.contact.material import Material
from ada_dynamics.contact.shape_contacts import HullContacts, Vertices, hull_contacts, lowest_height
from ada_dynamics.contact.stops import SHARE_OF_STEP, JointStops, limit_violations, limited_joints
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.kernels import tree_fingerprint
from ada_dynamics.errors import InputError
from ada_dynamics.model.bounds import bounds_of, within_limits
from ada_dynamics.model.joints import Prismatic
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.forces import Forces
from ada_dynamics.simulation.methods import IntegratorName
from ada_dynamics.simulation.options import AUTO, IntegrationOptions, Stiffness
from ada_dynamics.simulation.system import frictionless

GroundMode: TypeAlias = Literal["auto", "on", "off"]
_SUNK = 1e-3  # [m] that a given start may be in the ground, as what stands on it is
_ROUNDING = 1e-6  # [rad, m] beyond a limit
_SHOWN = 3  # names in a note


class Scene(NamedTuple):
    """A robot's default start: arguments of `Simulation` by name, and remarks about them.

    Attributes:
        q: positions, with the feet on the ground where there is one.
        contact: with the ground, or None.
        stops: at the limits of joints, or None.
        integrator: that can follow what is stiff.
        why: it was chosen.
        moved: by which closing its loops moved a given pose at most [rad, m].
        notes: what a user should know, a line each.
    """

    q: Array
    contact: Contact | None
    stops: JointStops | None
    integrator: IntegratorName
    why: str
    moved: float
    notes: tuple[str, ...]


def scene_for(
    model: Model,
    start: ArrayLike | None = None,
    *,
    step: float = 1e-3,
    ground: GroundMode = "auto",
    stops: bool = True,
    integrator: IntegratorName = AUTO,
    is_given: bool = True,
    vertices: Vertices | None = None,
) -> Scene:
    """A scene that makes sense: feet on the ground, limits kept.

    Example::

        scene = scene_for(model)
        Simulation(model, scene.q, contact=scene.contact, stops=scene.stops, integrator=scene.integrator)

    Args:
        model: the robot.
        start: positions, or a pose that selects the way of assembly; see `start_pose`.
        step: of the integrator, which bounds how stiff stops are [s].
        ground: "auto" puts one under floating robots with weight that no loop joins to the world; "off" none.
        stops: whether joints have stops at their limits.
        integrator: that is wanted; "auto" chooses by what is stiff (see `Simulation`).
        is_given: whether a user gave the start: it stays where it is but for what is in the ground. Otherwise the
            robot is put on the ground.
        vertices: reads meshes, for contact; see `hull_contacts`.

    Raises:
        InputError: a joint of a given start is beyond its limits.
    """
    is_given = is_given and start is not None
    pose = start_pose(model, None if start is None else np.asarray(start, dtype=np.float64))
    q, notes = np.array(pose), []
    if start is None and model.has_home:
        moved = _moved(model, model.home(), q)
        if moved:
            why = "limits are kept" + (" and loops are closed" if model.loops else "")
            notes.append(f"start: that of the file, but for {_named(moved)}, so that {why}")
    contact, more = ground_under(model, ground, q, vertices=vertices)
    notes += more
    stiff = Forces(contact).stiffest(model, q)
    if stops:
        depth = max(limit_violations(model, q).values(), default=0.0)
        stiff.append(Stiffness("stops of joints that start beyond their limits", depth * (SHARE_OF_STEP / step) ** 2))
    method, why = IntegrationOptions(integrator, step).chosen(stiff, contact is not None)
    own: JointStops | None = None
    if stops:
        own, more = _stops_from(model, q, step, is_given, method.is_direct)
        notes += more
    if contact is not None:
        height, is_free = lowest_height(model, q, [*contact.points, *contact.spheres]), _is_free(model)
        is_sunk = height < -_SUNK
        if is_free and (is_sunk or not is_given):
            _shift(model, q, -height)
        if is_sunk and (is_given or not is_free):
            notes.append(f"start: {'lifted by' if is_free else 'in the ground by'} {-height:.3g} m")
    return Scene(q, contact, own, method.name, why, pose.moved, tuple(notes))


def start_pose(model: Model, guess: Array | None = None) -> ClosedConfiguration:
    """A pose to start from: a guess with its loops closed; without one, within the limits.

    That is the pose in which the robot's file starts it; where the file has none, arms are bent so that they can fall.

    Args:
        model: the robot.
        guess: such as `catalogue.start_of` gives.
    """
    if guess is None and not model.loops:
        guess = model.home()
        turning = [name for name in model.joint_names if model.joints[name].type.turns()]
        if not floats(model) and not model.has_home and len(turning) > 1:
            guess[model.q_index(turning[1])] = np.pi / 4
        guess = within_limits(model, guess)
    return close_loops(model, guess)


def _shift(model: Model, q: Array, height: float) -> None:
    """Move a floating robot upwards [m]."""
    lift = _lift(model)
    assert lift is not None
    name, way = lift
    q[model.q_index(name)][: len(way)] += height * way


def _lift(model: Model) -> tuple[str, Array] | None:
    """The joint by which a robot rises and falls as a whole, and its positions per metre; None where it is held.

    That is the floating joint, or a vertical slide without limits and mass: planar robots of MJCF have such.
    """
    if model.floating_joint is not None:
        return model.floating_joint, model.joints[model.floating_joint].rotation[2]
    world = poses(model.tree, transforms(model.tree, model.neutral().tolist()))
    for body in model.tree.bodies:
        joint = model.joints[body.name]
        is_free = joint.kind == Prismatic.kind and not bounds_of(joint) and joint.stiffness == 0.0
        if body.parent != body.index - 1 or not is_free or float(body.inertia.mass) > 0.0:
            return None
        rise = float(np.array(world[body.index].rotation.matrix(), dtype=float)[2] @ joint.axis)
        if abs(rise) > 1.0 - _ROUNDING:
            return joint.name, np.array([np.sign(rise)])
    return None


def floats(model: Model) -> bool:
    """True if no joint holds the robot up in the world."""
    return _lift(model) is not None


def _is_free(model: Model) -> bool:
    """True if the root link can be put anywhere: it floats, and no loop joins the robot to the world."""
    return floats(model) and not model.tree.grounded_loops


class GroundFound(NamedTuple):
    """Contact with the ground or None, and what to say about it."""

    contact: Contact | None
    notes: list[str]


def ground_under(
    model: Model,
    wanted: GroundMode = "auto",
    q: Array | None = None,
    *,
    vertices: Vertices | None = None,
) -> GroundFound:
    """Contact of a robot with a plane at height 0.

    Args:
        model: the robot.
        wanted: "auto" puts robots on the ground that would fall: free ones with weight.
        q: pose in which it stands; neutral by default.
        vertices: reads meshes; see `hull_contacts`.

    Raises:
        InputError: a ground is wanted, and nothing of the robot can touch it.
    """
    falls = _is_free(model) and np.linalg.norm(model.gravity) > 0.0
    if wanted == "off" or (wanted == "auto" and not falls):
        return GroundFound(None, [])
    found = hull_contacts(model, model.neutral() if q is None else q, vertices)
    notes = [f"ground: {found.note}"] if found.inertia_boxes else []
    if not found.points and not found.spheres:
        reason = _untouchable(model, found)
        if wanted == "on":
            raise InputError(f"ground: nothing of model {model.name!r} can touch it: {reason}.")
        return GroundFound(None, [f"ground: none, for nothing can touch it: {reason}"])
    material = Material.for_weight(model.total_mass)
    return GroundFound(Contact(found.points, found.spheres, material=material), notes)


def _untouchable(model: Model, found: HullContacts) -> str:
    if found.missing:
        return f"the meshes of {_named(found.missing)} cannot be read, and these links have no inertia"
    return "its links have neither collision shapes nor others, or none of those that have some can move"


def _named(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _moved(model: Model, before: Array, after: Array) -> list[str]:
    """Joints that are elsewhere than before."""
    way = np.abs(model.difference(before, after))
    return [name for name in model.joint_names if np.max(way[model.v_index(name)], initial=0.0) > _ROUNDING]


# --- limits -----------------------------------------------------------------------------------------------------------
def _stops_from(
    model: Model, q: Array, step: float, is_given: bool, is_implicit: bool
) -> tuple[JointStops | None, list[str]]:
    """Stops of all joints with limits, and a note on those that start beyond them."""
    beyond = {name: over for name, over in limit_violations(model, q).items() if over > _ROUNDING}
    notes = []
    if beyond:
        shown = ", ".join(
            f"{name!r} by {over:.3g} ({', '.join(map(str, bounds_of(model.joints[name])))})"
            for name, over in list(beyond.items())[:_SHOWN]
        )
        if is_given:
            raise InputError(
                f"the start of model {model.name!r} is beyond limits of its joints [rad, m]: {shown}. Start within "
                "them, or leave the stops out (--no-stops; joint_stops: false).",
                joint=next(iter(beyond)),
                field="start",
                value=float(q[model.q_index(next(iter(beyond)))][0]),
            )
        notes.append(f"limits: joints start beyond theirs, and their stops push them back: {shown} [rad, m]")
    if not limited_joints(model):
        return None, notes
    return JointStops.for_model(model, step, q=q, is_implicit=is_implicit), notes


AT_REST = 1e-9  # [m/s, rad/s]
OPEN = 1e-6  # gap [m, rad] or velocity across loops [m/s, rad/s] that is no rounding of a closed start
# Times that gap by the fastest velocity: how far the velocities of linkages next to a dead point (conditions down to a
# hundredth of the strongest) are turned by it.
TURNED_BY_GAP = 100.0
BEYOND_ROUNDING = 3.0  # times the gap that rounded numbers in a file leave in the nearest pose: that much is no mistake


def checked_dynamics(dynamics: Dynamics, model: Model) -> Dynamics:
    """Dynamics that were given, of the model without its joint friction; the simulation brings that along."""
    given, own = dynamics.model, frictionless(model)
    if given.joint_names != own.joint_names or tree_fingerprint(given.tree) != tree_fingerprint(own.tree):
        raise InputError(
            f"dynamics is of another model than {model.name!r}: other joints, masses, gravity or loops, or with "
            "friction in its joints, which the simulation brings along. Leave it out and give algorithm= instead."
        )
    return dynamics


def checked_start(model: Model, q: ArrayLike | None, v: ArrayLike | None) -> tuple[Array, Array]:
    """Positions and velocities to start with, as they were given.

    Raises:
        InputError: a vector has the wrong length or is not finite, or a quaternion is no rotation.
    """
    q0 = np.array(close_loops(model)) if q is None else _finite("q", model.as_positions(q))
    v0 = np.zeros(model.nv) if v is None else _finite("v", model.as_velocities(v))
    problems = model.position_problems(q0)
    if problems:
        raise InputError(f"q cannot be a start of model {model.name!r}: {'; '.join(problems)}.")
    return q0, v0


def _finite(name: str, x: Array) -> Array:
    if not np.isfinite(x).all():
        raise InputError(f"{name}[{int(np.argmin(np.isfinite(x)))}] is not finite: {x}.")
    return x.copy()


def closed_start(model: Model, dynamics: Dynamics, q: Array, v: Array) -> tuple[Array, Array]:
    """The state with rounding taken off its loops.

    Raises:
        InputError: it is off by more than rounding.
    """
    closed = dynamics.kernels.closed
    if closed is None:
        return q, v
    nearest, allowed = dynamics.project_to_constraints(q, v)
    gap, left = (float(np.max(np.abs(closed.gap(at)), initial=0.0)) for at in (q, nearest))
    if gap > max(OPEN, BEYOND_ROUNDING * left):
        state = dynamics.loop_state(q)
        gaps = {name: float(np.max(np.abs(g))) for name, g in state.violation.items()}
        shown = ", ".join(f"{name!r} by {gap:.3g}" for name, gap in gaps.items() if gap > 0.1 * OPEN)
        raise InputError(
            f"the start leaves loops of model {model.name!r} open: {shown} [m, rad]. Close them: "
            "q = ada.close_loops(model, q)."
        )
    change = float(np.max(np.abs(allowed - v), initial=0.0))
    if change > max(OPEN, TURNED_BY_GAP * left * float(np.max(np.abs(v), initial=0.0))):
        raise InputError(
            f"the velocities given tear the loops of model {model.name!r} apart (they change by {change:.3g} to keep "
            "them closed). Take those that do not: q, v = Dynamics(model, q0=q).project_to_constraints(q, v)."
        )
    return nearest, allowed


def require_determinate(model: Model, dynamics: Dynamics, q: Array, v: Array) -> None:
    """Refuse to go on where nothing can move, or where it is not determined which way."""
    closed = dynamics.kernels.closed
    if closed is None:
        return
    if closed.analysis.mobility == 0:
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
