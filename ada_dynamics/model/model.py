# SPDX-License-Identifier: Apache-2.0
"""Model of a robot: links, joints, their order in q and v, and the configuration space."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.display import NotebookDisplay, View, open_page
from ada_dynamics.errors import CHANGED_COPIES, FrozenNameDict, InputError, ReadOnlyError, check_name, unknown_name
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.model.elements import Joint, Link, LoopJoint, read_only
from ada_dynamics.model.joints import JOINT_TYPES, JointType
from ada_dynamics.model.rotations import NO_MOVE, Pose, compose, inverse, to_vec3
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.model.tree_building import tree_parts
from ada_dynamics.spatial.orientation import pose_of
from ada_dynamics.spatial.transform import Transform

STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # [m/s²]


class Model(NotebookDisplay):
    """A mechanism of links and joints, made by `load`, a `Builder` or the catalogue.

    It is read-only, including its arrays, since code is compiled for it; `ada_dynamics.model.edit` makes copies.

    Joints are in depth-first order, children in the order of the description. The first joint of a floating base is
    `root_joint`. q and v stack the variables of the joints in that order.
    """

    def __init__(
        self,
        name: str,
        root: str,
        links: Sequence[Link],
        joints: Sequence[Joint],
        gravity: Sequence[float] = STANDARD_GRAVITY,
        source: str | None = None,
        loops: Sequence[LoopJoint] = (),
        actuated: Sequence[str] | None = None,
    ) -> None:
        """Store parts without checking them; use `Builder.build` to check them.

        Args:
            name: name of the robot.
            root: name of the root link.
            links: all links.
            joints: all joints in depth-first order, fixed ones too.
            gravity: gravity vector in the world's axes [m/s²].
            source: text of the description.
            loops: joints that close loops.
            actuated: joints with a motor; all joints of the tree by default.
        """
        self.name = name
        self.root = root
        self.links = FrozenNameDict("link", ((link.name, link) for link in links))
        self.joints = FrozenNameDict("joint", ((joint.name, joint) for joint in joints))
        self.loops = FrozenNameDict("loop", ((loop.name, loop) for loop in loops))
        self.gravity = tuple(float(g) for g in gravity)
        self.source = source
        self._q: dict[str, slice] = {}
        self._v: dict[str, slice] = {}
        nq = nv = 0
        for joint in joints:
            own_q, own_v = joint.nq, joint.nv
            if own_v:
                self._q[joint.name] = slice(nq, nq + own_q)
                self._v[joint.name] = slice(nv, nv + own_v)
                nq, nv = nq + own_q, nv + own_v
        self.nq, self.nv = nq, nv
        self.actuated = tuple(self._v) if actuated is None else tuple(actuated)
        self._is_complete = True

    def __setattr__(self, name: str, value: object) -> None:
        if "_is_complete" in self.__dict__:
            self._refuse(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse(name)

    def _refuse(self, name: str) -> NoReturn:
        raise ReadOnlyError(f"model {self.name!r} is read-only: its {name} cannot be set. {CHANGED_COPIES}")

    # --- names --------------------------------------------------------------------------------------------------
    @property
    def link_names(self) -> list[str]:
        """Names of all links."""
        return list(self.links)

    @property
    def joint_names(self) -> list[str]:
        """Names of joints with coordinates, in the order of q and v."""
        return list(self._v)

    @property
    def loop_names(self) -> list[str]:
        """Names of loop joints."""
        return list(self.loops)

    def q_index(self, joint: str) -> slice:
        """Slice of the positions of a joint in q."""
        return self._lookup(self._q, joint)

    def v_index(self, joint: str) -> slice:
        """Slice of the velocities of a joint in v."""
        return self._lookup(self._v, joint)

    def joint_of_velocity(self, place: int) -> str:
        """Name of the joint of an entry of v."""
        return next(name for name, own in self._v.items() if own.start <= place < own.stop)

    def joint_of_position(self, place: int) -> str:
        """Name of the joint of an entry of q."""
        return next(name for name, own in self._q.items() if own.start <= place < own.stop)

    def _lookup(self, table: dict[str, slice], joint: str) -> slice:
        if joint in table:
            return table[joint]
        found = self.joints.get(joint)
        if found is not None and found.mimic is not None:
            raise InputError(f"joint {joint!r} has no coordinates of its own: it mimics {found.mimic.joint!r}.")
        if found is not None:
            raise InputError(f"joint {joint!r} is fixed and has no coordinates.")
        raise unknown_name("joint", joint, table)

    # --- properties per coordinate ------------------------------------------------------------------------------
    def _per_velocity(self, value: Callable[[Joint], float]) -> Array:
        return read_only([value(self.joints[n]) for n in self._v for _ in range(self.joints[n].nv)])

    def _per_position(self, value: Callable[[Joint], float]) -> Array:
        return read_only([value(self.joints[n]) for n in self._q for _ in range(self.joints[n].nq)])

    @cached_property
    def lower(self) -> Array:
        """Lower position limits, (nq,); -inf: unlimited. Limits of spherical joints: see `Joint.bounds`."""
        return self._per_position(lambda j: j.range[0])

    @cached_property
    def upper(self) -> Array:
        """Upper position limits, (nq,)."""
        return self._per_position(lambda j: j.range[1])

    @cached_property
    def velocity_limit(self) -> Array:
        """Velocity limits, (nv,)."""
        return self._per_velocity(lambda j: j.limits.velocity)

    @cached_property
    def effort_limit(self) -> Array:
        """Effort limits, (nv,)."""
        return self._per_velocity(lambda j: j.limits.effort)

    @cached_property
    def armature(self) -> Array:
        """Reflected rotor inertia, (nv,)."""
        return self._per_velocity(lambda j: j.armature)

    @cached_property
    def damping(self) -> Array:
        """Viscous damping, (nv,)."""
        return self._per_velocity(lambda j: j.damping)

    @cached_property
    def friction(self) -> Array:
        """Coulomb friction, (nv,)."""
        return self._per_velocity(lambda j: j.friction)

    @cached_property
    def stiffness(self) -> Array:
        """Stiffness of joint springs, (nv,)."""
        return self._per_velocity(lambda j: j.stiffness)

    # --- configuration space ------------------------------------------------------------------------------------
    @cached_property
    def _additive_and_others(self) -> tuple[NDArray[np.intp], NDArray[np.intp], list[tuple[JointType, slice, slice]]]:
        """Indices into q and v of joints whose steps are added (q + v dt), and the other joints with their slices."""
        q_places: list[int] = []
        v_places: list[int] = []
        others = []
        for kind, i, j in self._space:
            if type(kind).integrate is JointType.integrate:
                q_places += range(i.start, i.stop)
                v_places += range(j.start, j.stop)
            else:
                others.append((kind, i, j))
        return np.array(q_places, dtype=np.intp), np.array(v_places, dtype=np.intp), others

    @cached_property
    def _space(self) -> list[tuple[JointType, slice, slice]]:
        columns = self.tree.columns
        kinds = {carrier.name: kind for carrier, kind in zip(columns.carriers, columns.kinds, strict=True)}
        return [(kinds[name], self._q[name], self._v[name]) for name in self._q]

    def neutral(self) -> Array:
        """The zero configuration."""
        return np.concatenate([np.zeros(0), *(t.neutral() for t, _, _ in self._space)])

    @property
    def has_home(self) -> bool:
        """Return True if the file defines an initial configuration."""
        return any(len(joint.home or ()) == joint.nq > 0 for joint in self.joints.values())

    def home(self) -> Array:
        """Initial configuration defined by the file (MJCF: keyframe or `ref`); neutral where it defines none."""
        q = self.neutral()
        for name in self.joint_names:
            own = self.joints[name].home
            if own is not None and len(own) == self.joints[name].nq:
                q[self.q_index(name)] = own
        return q

    def random_state(self, rng: np.random.Generator | int | None = None) -> tuple[Array, Array]:
        """Random q within finite limits, and v with normally distributed entries.

        Loops are not closed: see `ada.close_loops` and `Dynamics.project_to_constraints`.

        Args:
            rng: random number generator or seed.
        """
        rng = np.random.default_rng(rng)
        parts = [t.random(rng, self.lower[q], self.upper[q]) for t, q, _ in self._space]
        return np.concatenate([np.zeros(0), *parts]), rng.normal(size=self.nv)

    def integrate(self, q: Array, v: Array, dt: float = 1.0) -> Array:
        """Configuration after moving from q with v for the time dt; 2-D arrays are batches of rows."""
        if np.ndim(q) != 2:
            return np.asarray(self.integrate(self.as_positions(q)[None], self.as_velocities(v)[None], dt)[0])
        flat_q, flat_v, others = self._additive_and_others
        q, v = self._as_rows(q, self.nq, "q"), self._as_rows(v, self.nv, "v", len(q))
        moved = np.array(q)
        moved[:, flat_q] += v[:, flat_v] * dt
        for t, i, j in others if len(q) else ():
            moved[:, i] = [t.integrate(a, b) for a, b in zip(q[:, i], v[:, j] * dt, strict=True)]
        return moved

    def difference(self, q0: Array, q1: Array) -> Array:
        """Velocity that moves q0 to q1 in unit time: integrate(q0, difference(q0, q1)) = q1."""
        if np.ndim(q0) != 2:
            return np.asarray(self.difference(self.as_positions(q0)[None], self.as_positions(q1)[None])[0])
        flat_q, flat_v, others = self._additive_and_others
        q0, q1 = self._as_rows(q0, self.nq, "q0"), self._as_rows(q1, self.nq, "q1", len(q0))
        step = np.empty((len(q0), self.nv))
        step[:, flat_v] = q1[:, flat_q] - q0[:, flat_q]
        for t, i, j in others if len(q0) else ():
            step[:, j] = [t.difference(a, b) for a, b in zip(q0[:, i], q1[:, i], strict=True)]
        return step

    def interpolate(self, q0: Array, q1: Array, t: float) -> Array:
        """Configuration at the fraction t of the way from q0 to q1 at constant velocity; 2-D arrays are batches."""
        return self.integrate(q0, self.difference(q0, q1), t)

    def add_frame(
        self, name: str, link: str, xyz: ArrayLike = (0.0, 0.0, 0.0), rpy: ArrayLike = (0.0, 0.0, 0.0)
    ) -> Model:
        """Return a model with a named frame on a link, which is accepted wherever a link is.

        Args:
            name: name of the frame.
            link: link or frame that carries it.
            xyz: position in the link frame [m].
            rpy: roll, pitch and yaw in the link frame [rad].

        Raises:
            InputError: a link has that name already, or the link is unknown.
        """
        check_name("link", link, self.links)
        if name in self.links:
            raise InputError(f"model {self.name!r} has a link {name!r} already.", field="name", value=name)
        pose = pose_of(xyz, rpy)
        if not np.isfinite(pose).all():
            raise InputError(f"frame {name!r}: xyz and rpy must be finite.", field="xyz", allowed="finite")
        joints = list(self.joints.values())
        place = next((k for k, joint in enumerate(joints, 1) if joint.child == link), 0)
        own = next(n for n in (f"{name}{'_' * k}joint" for k in count(1)) if n not in self.joints)
        xyz, rotation = read_only(pose[:3, 3]), read_only(pose[:3, :3])
        joints.insert(place, Joint(own, "fixed", link, name, xyz, rotation).sealed())
        links = [*self.links.values(), Link(name, has_inertial=False).sealed()]
        return Model(self.name, self.root, links, joints, self.gravity, None, [*self.loops.values()], self.actuated)

    def as_positions(self, q: ArrayLike | Mapping[str, ArrayLike], name: str = "q") -> Array:
        """Convert an argument to a configuration (nq,); InputError names the argument if it is invalid.

        Positions by the name of the joint leave the others in the home configuration.
        """
        if not isinstance(q, Mapping):
            return self._as_vector(q, self.nq, name)
        found = self.home()
        for joint, value in q.items():
            place = self.q_index(joint)
            if np.size(value) != place.stop - place.start:
                text = f"{name}[{joint!r}] is {value!r:.80}; it must be {place.stop - place.start} numbers."
                raise InputError(text, joint=joint, field=name, value=value)
            found[place] = value
        return found

    def as_velocities(self, v: ArrayLike, name: str = "v") -> Array:
        """Convert an argument to a vector of velocities, accelerations or efforts (nv,)."""
        return self._as_vector(v, self.nv, name)

    def _as_rows(self, values: Array, size: int, name: str, count: int | None = None) -> Array:
        x = np.asarray(values, dtype=np.float64)
        wanted = (len(x) if count is None else count, size)
        if x.shape != wanted:
            raise self._wrong_shape(name, x.shape, wanted)
        return x

    def _as_vector(self, values: ArrayLike, size: int, name: str) -> Array:
        try:
            x = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            text = f"{name} is {values!r:.100}; it must be {size} numbers."
            raise InputError(text, field=name, value=values, allowed=(size,)) from None
        if x.shape != (size,):
            raise self._wrong_shape(name, x.shape, (size,))
        return x

    def _wrong_shape(self, name: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> InputError:
        text = f"{name} has shape {shape}; model {self.name!r} needs {wanted}."
        return InputError(text, field=name, value=shape, allowed=wanted)

    @cached_property
    def floating_joint(self) -> str | None:
        """Joint with six degrees of freedom between the world and the first moving link; None if the base is fixed.

        It is `root_joint` in models loaded with base="floating"; MJCF files define its name.
        """
        for name, joint in self.joints.items():
            if joint.nv and (joint.parent not in self.links or joint.parent == self.root == "world"):
                return name if joint.type.leaves_free() else None
        return None

    @cached_property
    def has_mimics(self) -> bool:
        """Return True if the model has mimic joints."""
        return any(joint.mimic for joint in self.joints.values())

    @cached_property
    def has_manifold_coordinates(self) -> bool:
        """Return True if some positions are quaternions or singular Euler angles."""
        return any(JOINT_TYPES[self.joints[n].kind].problem is not JointType.problem for n in self._q)

    def position_problems(self, q: Array) -> list[str]:
        """Problems of q by joint: quaternions without unit length, Euler angles at their singularity."""
        found = []
        for (kind, own, _), name in zip(self._space, self._q, strict=True):
            problem = kind.problem(q[own])
            if problem:
                found.append(f"joint {name!r}: {problem}")
        return found

    # --- trees for the algorithms ----------------------------------------------------------------------------
    @cached_property
    def tree(self) -> Tree:
        """Tree of moving bodies with joint axes on the nearest coordinate axes."""
        return self._build_tree()

    @cached_property
    def full_tree(self) -> Tree:
        """Tree with a body for each link, including links on fixed joints."""
        return self._build_tree(keep_fixed=True)

    @cached_property
    def uniform_tree(self) -> Tree:
        """Tree with all joint axes on z, for generic kernels."""
        return self._build_tree(onto=2)

    @pause_garbage_collection()
    def _build_tree(self, onto: int | None = None, keep_fixed: bool = False) -> Tree:
        """Build a tree with the options of `tree_parts`."""
        parts = self.root, self.links, [*self.joints.values()], self.loops.values(), self._q, self._v
        bodies, frames, loops = tree_parts(*parts, onto=onto, keep_fixed=keep_fixed)
        return Tree(bodies, frames, to_vec3(np.array(self.gravity)), self.nq, self.nv, loops)

    # --- pictures -----------------------------------------------------------------------------------------------
    def view(self, q: Array | None = None, *, port: int = 8080, open_browser: bool = True, height: int = 480) -> View:
        """Show the robot with sliders in the browser, or inline in a notebook; returns at once.

        Example::

            page = ada.load("stewart").view()
            page.close()

        Args:
            q: initial configuration; loops are closed from it.
            port: of the page; the next free one if it is taken.
            open_browser: open the page if there is a display; its address is printed in any case.
            height: of the frame in a notebook [px].

        Raises:
            InputError: the extra `view` is not installed.
        """
        return open_page("pose_page.pose", self, q, port=port, open_browser=open_browser, height=height)

    @property
    def total_mass(self) -> float:
        """Mass of all links [kg]."""
        return float(sum(link.mass for link in self.links.values()))

    def __repr__(self) -> str:
        order = ", ".join(self.joint_names[:SHOWN]) + (", ..." if len(self.joint_names) > SHOWN else "")
        loops = f", loops: {', '.join(self.loops)}" if self.loops else ""
        return f"<Model {self.name!r}: {len(self.links)} links, nq={self.nq}, nv={self.nv}, joints: {order}{loops}>"


SHOWN = 12  # joints in the representation of a model, in the order of q and v


def motor_joints(model: Model) -> list[str]:
    """Names of actuated joints with one position and one velocity."""
    return [
        name
        for name in model.actuated
        if name != model.floating_joint and model.joints[name].nq == 1 and model.joints[name].nv == 1
    ]


def reach_of(model: Model) -> float:
    """Reach of the stretched robot from its root [m]; 1 if it has no extent."""
    reach = {model.root: 0.0}
    for joint in model.joints.values():  # parents before children
        reach[joint.child] = reach.get(joint.parent, 0.0) + float(np.linalg.norm(joint.xyz))
    tips = [reach.get(link.name, 0.0) + 2.0 * float(np.linalg.norm(link.com)) for link in model.links.values()]
    return max(tips) or 1.0


def within_limits(model: Model, q: Array) -> Array:
    """Nearest configuration in which all joints, including mimic joints, are within their limits."""
    low, high = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
    for body in model.tree.bodies:
        joint = model.joints[body.name]
        if not joint.type.has_limits() or not joint.bounds or not body.multiplier:
            continue
        limits = joint.limits
        ends = sorted((x - body.offset) / body.multiplier for x in (limits.lower, limits.upper))
        low[body.q], high[body.q] = np.maximum(low[body.q], ends[0]), np.minimum(high[body.q], ends[1])
    return np.where(low <= high, np.clip(q, low, np.maximum(low, high)), q)


# --- poses of links, on numbers ------------------------------------------------------------------------------------
def numbers(pose: Transform) -> Pose:
    """Convert a constant transform to arrays."""
    return np.array(pose.rotation.matrix(), dtype=float), np.array(pose.position, dtype=float)


def link_poses(model: Model, q: Array) -> dict[str, Pose]:
    """Pose of every link in the world."""
    values: list[float] = q.tolist()
    bodies = {WORLD: NO_MOVE}
    for body in model.tree.bodies:
        bodies[body.index] = compose(bodies[body.parent], numbers(body.transform(body.positions(values))))
    return {name: compose(bodies[frame.body], numbers(frame.pose)) for name, frame in model.tree.frames.items()}


def displaced(model: Model, joint: str, own: Array) -> Pose:
    """Pose of the child link of a joint in its parent link at a joint position."""
    description, tree = model.joints[joint], model.full_tree
    body = next(b for b in tree.bodies if b.name == joint)
    parent, child = tree.frames[description.parent], tree.frames[description.child]
    inside = compose(numbers(body.transform(own.tolist())), numbers(child.pose))
    return compose(inverse(numbers(parent.pose)), inside)
