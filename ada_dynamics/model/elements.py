# SPDX-License-Identifier: Apache-2.0
"""Links, joints and shapes in the frames of the robot description.

They can be changed while a description is read or built, and are read-only once checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError, unknown_name
from ada_dynamics.model.joints import JOINT_TYPES, JointType, Spherical
from ada_dynamics.model.joints.base import NO_LIMIT
from ada_dynamics.model.rotations import UNIT
from ada_dynamics.spatial.vector import Scalar

SHAPE_SIZES: Mapping[str, tuple[str, ...]] = {  # names of the sizes of each kind of shape
    "box": ("x", "y", "z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "mesh": ("scale x", "scale y", "scale z"),
}
PLAIN = (0.7, 0.7, 0.72, 1.0)  # default colour
_TINY = 1e-300  # under the square root, against division by zero
LOADS = ("damping", "friction", "armature", "stiffness")  # of a joint


def read_only(values: ArrayLike) -> Array:
    """Return a read-only array: the argument if it is one, else a copy."""
    array = np.asarray(values, dtype=np.float64)
    if not array.flags.writeable and array.base is None:
        return array
    array = array.copy()
    array.flags.writeable = False
    return array


def _freeze(values: dict[str, Any]) -> None:
    """Make arrays read-only and convert lists to tuples, in place."""
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            values[name] = read_only(value)
        elif isinstance(value, list):
            values[name] = tuple(value)


_ZEROS3, _ZEROS33, _X = read_only(np.zeros(3)), read_only(np.zeros((3, 3))), read_only([1.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class Shape:
    """A primitive shape or a mesh for display and contact, without mass.

    Example::

        Shape("box", (0.1, 0.2, 0.3), xyz=(0, 0, 0.15), rgba=(0.8, 0.2, 0.2, 1))
        Shape("cylinder", (0.05, 0.4))                      # radius, length; along z, about its middle
        Shape("mesh", mesh="package://robot/arm.stl")

    Raises:
        ModelError: the kind is unknown or a value is invalid.
    """

    kind: str  # a key of SHAPE_SIZES
    size: tuple[float, ...] = ()  # [m], see SHAPE_SIZES; the length of a capsule is the distance between its centres
    xyz: Array = field(default_factory=lambda: _ZEROS3)  # centre (of a mesh: origin) in the link frame [m]
    rotation: Array = field(default_factory=lambda: UNIT)  # orientation in the link frame
    rgba: tuple[float, ...] = PLAIN  # red, green, blue and opacity, from 0 to 1
    mesh: str | None = None  # path or URI of the mesh file as written in the description
    description_file: str | None = None  # file to which relative paths refer; None for a description given as text
    friction: float | None = None  # Coulomb friction coefficient on the ground; None where the description has none
    margin: float = 0.0  # distance from the ground at which contact begins [m]

    def __post_init__(self) -> None:
        """Check the values and convert them to arrays and tuples of floats."""
        if self.kind not in SHAPE_SIZES:
            raise ModelError(str(unknown_name("kind of shape", self.kind, SHAPE_SIZES)))
        if (self.kind == "mesh") != bool(self.mesh):
            raise ModelError(f"a {self.kind} has mesh={self.mesh!r}; only a mesh has a file, and it needs one.")
        size = self.size if self.size or self.kind != "mesh" else (1.0, 1.0, 1.0)
        names = SHAPE_SIZES[self.kind]
        sizes = self._numbers("size", size, (len(names),), f"{len(names)} numbers ({', '.join(names)})")
        if self.kind != "mesh" and (sizes < 0.0).any():  # negative scales mirror a mesh
            raise ModelError(f"a {self.kind} has size={tuple(size)}; none may be negative.")
        colour = self._numbers("rgba", self.rgba, (4,), "4 numbers from 0 to 1")
        xyz = self._numbers("xyz", self.xyz, (3,), "3 numbers")
        R = self._numbers("rotation", self.rotation, (3, 3), "a 3x3 rotation matrix")
        if float(np.max(np.abs(R @ R.T - np.eye(3)))) > 1e-9 or float(np.linalg.det(R)) < 0.0:
            raise ModelError(f"a {self.kind} has rotation={R.tolist()}; it must be a 3x3 rotation matrix.")
        if not (0.0 <= (self.friction or 0.0) < np.inf and 0.0 <= self.margin < np.inf):
            raise ModelError(f"a {self.kind} has friction={self.friction}, margin={self.margin}; give 0 or more.")
        own = {"size": tuple(sizes.tolist()), "xyz": xyz, "rotation": R}
        own["rgba"] = tuple(np.clip(colour, 0.0, 1.0).tolist())
        for name, value in own.items():
            object.__setattr__(self, name, value)
        _freeze(vars(self))

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        _freeze(vars(self))

    def _numbers(self, name: str, value: object, shape: tuple[int, ...], wanted: str) -> Array:
        try:
            numbers = np.array(value, dtype=float)
        except (TypeError, ValueError):
            numbers = np.full(1, np.nan)
        if numbers.shape != shape or not np.isfinite(numbers).all():
            raise ModelError(f"a {self.kind} has {name}={value!r}; it must be {wanted}, all finite.")
        return numbers


class RobotPart:
    """Base class of links, joints and loop joints."""

    name: str
    _word: ClassVar[str] = ""
    _read_from: ClassVar[Mapping[str, object]] = {"element": None}  # fields reset when sealed
    _is_sealed = False

    @property
    def where(self) -> str:
        """Kind and name, for messages."""
        return f"{self._word} {self.name!r}"

    @property
    def label(self) -> dict[str, str]:
        """Name by kind: attributes of errors."""
        return {self._word: self.name}

    @property
    def source(self) -> str | None:
        """Included file or file of a loop that contains the part, if it is not the description itself."""
        element = vars(self).get("element")
        return vars(self).get("file") or (None if element is None else element.file)

    @property
    def is_sealed(self) -> bool:
        """Return True if the part is checked and read-only."""
        return self._is_sealed

    def sealed(self, **checked: object) -> Any:
        """Return a read-only copy with checked values and without the XML element."""
        copy = object.__new__(type(self))
        own = vars(copy)
        for values in (vars(self), self._read_from, checked):
            own.update(values)
        own["_is_sealed"] = True
        return copy

    def __setattr__(self, name: str, value: object) -> None:
        if self._is_sealed:
            raise FrozenInstanceError(f"{self.where} is read-only; make a changed copy with dataclasses.replace.")
        object.__setattr__(self, name, value)

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        if self._is_sealed:
            _freeze(vars(self))

    @property
    def line(self) -> int | None:
        """Line in the file; None if the part was not read from a file."""
        element = vars(self).get("element")  # None for parts of a Builder
        return None if element is None else int(element.line)


@dataclass(eq=False)
class Link(RobotPart):
    """A rigid body; its frame is the frame of its parent joint."""

    name: str
    mass: float = 0.0  # [kg]
    com: Array = field(default_factory=lambda: _ZEROS3)  # in the link's frame [m]
    inertia: Array = field(default_factory=lambda: _ZEROS33)  # about the CoM, in the link's axes [kg m²]
    has_inertial: bool = True  # the description has an inertial element
    visuals: Sequence[Shape] = ()  # for display
    collisions: Sequence[Shape] = ()  # for contact
    visuals_collide: bool = True  # use visual shapes for contact if there are no collision shapes
    element: Any = field(default=None, repr=False)  # XML element, until sealed

    _word = "link"


@dataclass(frozen=True)
class Limits:
    """Limits of a joint; infinite: unlimited. `upper` of a spherical joint limits its total rotation angle."""

    lower: float = -np.inf  # [rad] or [m]
    upper: float = np.inf  # [rad] or [m]
    velocity: float = np.inf  # [rad/s] or [m/s]
    effort: float = np.inf  # [N m] or [N]


NO_LIMITS = Limits()


class Bound(NamedTuple):
    """Lower and upper limit of one quantity of a joint; None: unlimited."""

    lower: float | None  # [rad] or [m]
    upper: float | None
    is_total: bool = False  # of the total rotation angle of a spherical joint; else of the joint's one position

    @property
    def ends(self) -> tuple[float, float]:
        """Both limits; infinite where unlimited."""
        return -np.inf if self.lower is None else self.lower, np.inf if self.upper is None else self.upper

    def __str__(self) -> str:
        lower, upper = self.ends
        return f"total rotation up to {upper:g}" if self.is_total else f"[{lower:g}, {upper:g}]"

    def value(self, q: Sequence[Scalar]) -> Scalar:
        """The quantity at the position of the joint; a total rotation is between 0 and π."""
        if not self.is_total:
            return q[0]
        x, y, z, w = q
        return 2.0 * expr.atan2(expr.sqrt(x * x + y * y + z * z + _TINY), expr.absolute(w))

    def excess(self, q: Sequence[Scalar]) -> Scalar:
        """Excess of the quantity over a limit; at most zero within the limits."""
        at, (lower, upper) = self.value(q), self.ends
        return expr.maximum(lower - at, at - upper)

    def directions(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Derivative with respect to each velocity of the joint: the axis of a total rotation, zero at its zero."""
        if not self.is_total:
            return (1.0,)
        x, y, z, w = q
        scale = expr.select(w, 0.0, -1.0, 1.0) / expr.sqrt(x * x + y * y + z * z + _TINY)
        return (scale * x, scale * y, scale * z)


@dataclass(frozen=True)
class Mimic:
    """q = multiplier * q(joint) + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(eq=False)
class LoopJoint(RobotPart):
    """A joint that closes a loop between two links of the tree, without coordinates of its own.

    At its zero position its two frames coincide.
    """

    name: str
    kind: str  # one of LOOP_KINDS
    parent: str  # link, or "world"
    child: str
    parent_xyz: Array = field(default_factory=lambda: _ZEROS3)  # position of the joint in the parent link frame [m]
    parent_rotation: Array = field(default_factory=lambda: UNIT)  # orientation of the joint in that frame
    child_xyz: Array = field(default_factory=lambda: _ZEROS3)  # position in the child link frame [m]
    child_rotation: Array = field(default_factory=lambda: UNIT)
    axis: Array = field(default_factory=lambda: _X)  # in the joint's frame, unit length
    axis2: Array | None = None  # second axis of a universal joint, in the child-side frame
    constants: Mapping[str, float] = field(default_factory=dict)  # parameters of its kind, such as the pitch
    file: str = field(default="", repr=False)  # of the description, until sealed
    line: int | None = field(default=None, repr=False)

    _word = "loop"
    _read_from: ClassVar[Mapping[str, object]] = {"file": "", "line": None}

    @property
    def location(self) -> str:
        """File and line for messages."""
        return self.file if self.line is None else f"{self.file}, line {self.line}"

    @property
    def type(self) -> type[JointType]:
        """Joint type of its kind."""
        return JOINT_TYPES[self.kind]


@dataclass(eq=False)
class Joint(RobotPart):
    """A joint between two links. At its zero position the child frame coincides with the joint frame."""

    name: str
    kind: str  # a key of JOINT_TYPES
    parent: str
    child: str
    xyz: Array = field(default_factory=lambda: _ZEROS3)  # position of the joint in the parent link frame [m]
    rotation: Array = field(default_factory=lambda: UNIT)  # orientation of the joint in that frame
    axis: Array = field(default_factory=lambda: _X)  # in the joint's frame, unit length
    axis2: Array | None = None  # second axis of a universal joint
    limits: Limits = NO_LIMITS
    damping: float = 0.0  # [N m s/rad] or [N s/m], for each velocity of the joint
    friction: float = 0.0  # Coulomb friction [N m] or [N]
    armature: float = 0.0  # reflected rotor inertia [kg m²] or [kg]
    mimic: Mimic | None = None
    stiffness: float = 0.0  # of a spring towards `rest` [N m/rad] or [N/m]; kinds in SPRUNG only
    rest: float = 0.0  # rest position of the spring [rad] or [m]
    constants: Mapping[str, float] = field(default_factory=dict)  # parameters of its kind, such as the pitch
    home: tuple[float, ...] | None = None  # initial position defined by the file; None: neutral
    element: Any = field(default=None, repr=False)  # XML element, until sealed

    _word = "joint"

    @property
    def type(self) -> type[JointType]:
        """Joint type of its kind."""
        return JOINT_TYPES[self.kind]

    @property
    def nq(self) -> int:
        """Number of position variables; 0 for a mimic joint."""
        return 0 if self.mimic else self.type.nq

    @property
    def nv(self) -> int:
        """Number of velocities; 0 for a mimic joint."""
        return 0 if self.mimic else self.type.nv

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Limits of the position, or of the total rotation of a spherical joint; none if it is unlimited."""
        if self.type.has_limits():
            bound = Bound(_end(self.limits.lower), _end(self.limits.upper))
        elif self.kind == Spherical.kind:
            bound = Bound(None, _end(self.limits.upper), is_total=True)
        else:
            return ()
        return () if bound.lower is None and bound.upper is None else (bound,)

    @property
    def range(self) -> tuple[float, float]:
        """Limits of the one position; infinite for other joints."""
        return next((bound.ends for bound in self.bounds if not bound.is_total), (-np.inf, np.inf))


def _end(limit: float) -> float | None:
    return float(limit) if abs(limit) < NO_LIMIT else None
