# SPDX-License-Identifier: Apache-2.0
"""Checks of the values of links and joints: numbers, vectors, orientations, inertias, axes, whole parts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import isfinite, isnan, nan, sqrt
from numbers import Real
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError, unknown_name
from ada_dynamics.model.elements import LOADS, NO_LIMITS, Joint, Limits, Link, LoopJoint, Mimic, RobotPart, Shape
from ada_dynamics.model.joints import JOINT_TYPES, LOOP_KINDS, SPRUNG, Spherical, joint_kind, loop_kind
from ada_dynamics.model.joints.base import NO_LIMIT
from ada_dynamics.model.rotations import UNIT, dot, length
from ada_dynamics.spatial.rotation import from_rpy

P = TypeVar("P", bound=RobotPart)

MOST_SHARED = 256  # converted arrays
NO_TURN = (0.0, 0.0, 0.0)  # default roll, pitch and yaw
BOUNDED = (*(kind for kind, cls in JOINT_TYPES.items() if cls.has_limits()), Spherical.kind)  # see `Joint.bounds`


# The checks use Python floats: five times faster than arrays for the few numbers of one part.
def _all_finite(x: Array) -> bool:
    numbers = x.ravel().tolist()
    return isfinite(sum(numbers)) or all(map(isfinite, numbers))  # a sum of finite numbers may overflow


def _is_rotation(R: Array) -> bool:
    """Return True if the rows form a right-handed orthonormal frame."""
    if R.shape != (3, 3):
        return False
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    across = (a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i)
    along = (a * a + b * b + c * c - 1.0, d * d + e * e + f * f - 1.0, g * g + h * h + i * i - 1.0)
    handed = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return all(-1e-9 < x < 1e-9 for x in (*across, *along)) and handed > 0.0


def _across(first: Array, second: Array) -> Array:
    """Second axis made exactly perpendicular to the first."""
    along = dot(first, second)
    if abs(along) < 1e-15:
        return second
    across = second - along * first
    return _frozen(across / length(across))


def _frozen(x: Array) -> Array:
    x.setflags(write=False)
    return x


def _key(what: object, value: object) -> object | None:
    """Key under which the converted value is shared by equal parts of a robot; None for other types."""
    if isinstance(value, np.ndarray):
        return (what, value.shape, value.tobytes()) if value.dtype == np.float64 else None
    return (what, value) if type(value) is tuple and all(type(x) is float for x in value) else None


class CheckedValues:
    """Convert user input to arrays; invalid input raises a ModelError that names the place."""

    def __init__(self, where: str) -> None:
        """Initialize with the source of the values (a file), for messages."""
        self.where = where
        self._shared: dict[object, Array] = {}
        self._part: RobotPart | None = None  # that is being checked

    def _error(self, message: str) -> ModelError:
        if self._part is None or self._part.line is None:
            return ModelError(f"{self.where}: {message}")
        file, line = self._part.source or self.where, self._part.line
        return ModelError(f"{file}, line {line}: {message}", file=file, line=line, **self._part.label)

    def finite(self, value: float, what: str) -> float:
        """Check a finite number."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = nan
        if not isfinite(number):
            raise self._error(f"{what} is {value!s:.100}; it must be a finite number.")
        return number

    def vector(self, value: ArrayLike, size: int, what: str) -> Array:
        """Check a vector of finite numbers."""
        key = _key(size, value)
        if key in self._shared:
            return self._shared[key]
        try:
            x = np.array(value, dtype=float)
        except (TypeError, ValueError):
            raise self._error(f"{what} is {value!r}; it must be {size} numbers.") from None
        if x.shape != (size,) or not _all_finite(x):
            raise self._error(f"{what} is {value!r}; it must be {size} finite numbers.")
        return self._share(key, x)

    def _share(self, key: object, value: Array) -> Array:
        if key is not None and len(self._shared) < MOST_SHARED:
            self._shared[key] = value
        return _frozen(value)

    def orientation(self, rpy: ArrayLike, rotation: ArrayLike | None, where: str) -> Array:
        """Return the rotation matrix, or that of roll-pitch-yaw angles."""
        angles = (0.0, 0.0, 0.0) if rpy is NO_TURN else self.vector(rpy, 3, f"rpy of {where}").tolist()
        if rotation is None:
            return np.array(from_rpy(*angles)) if any(angles) else UNIT
        if any(angles):
            raise self._error(f"rotation of {where} must be given without rpy.")
        return self.rotation(rotation, where)

    def rotation(self, rotation: ArrayLike, where: str) -> Array:
        """Check a rotation matrix."""
        if rotation is UNIT:
            return UNIT
        R = np.array(rotation, dtype=float)
        if not _is_rotation(R):
            raise self._error(f"rotation of {where} must be a 3x3 rotation matrix.")
        return _frozen(R)

    def inertia(self, value: ArrayLike, what: str) -> Array:
        """Return a symmetric 3x3 matrix from 9 or 6 entries or its diagonal."""
        key = _key("inertia", value)
        if key in self._shared:
            return self._shared[key]
        x = np.array(value, dtype=float)
        if x.shape == (3,):
            x = np.diag(x)
        elif x.shape == (6,):
            x = np.array([[x[0], x[3], x[4]], [x[3], x[1], x[5]], [x[4], x[5], x[2]]])
        if x.shape != (3, 3) or not _all_finite(x):
            raise self._error(f"{what} must be 3x3, 3 or 6 finite numbers, not {value!r}.")
        if x.tolist() != x.T.tolist() and (np.abs(x - x.T) > 1e-9 * np.abs(x)).any():
            raise self._error(f"{what} is not symmetric: {x.tolist()}.")
        return self._share(key, x)

    def shapes(self, value: Iterable[Shape], what: str) -> tuple[Shape, ...]:
        """Check that all are shapes."""
        given: object = value
        if isinstance(given, tuple) and not given:
            return ()
        found = tuple(given) if isinstance(given, Iterable) else (given,)
        for one in found:
            if not isinstance(one, Shape):
                raise self._error(f"{what} have {one!r}; they must be a sequence of `Shape`s.")
        return found

    def axes(
        self, kind: str, axis: ArrayLike | None, axis2: ArrayLike | None, where: str
    ) -> tuple[Array, Array | None]:
        """Return the axes of a joint with unit length; a universal joint has two."""
        count = JOINT_TYPES[kind].axes
        if count == 0:
            return _frozen(np.array([1.0, 0.0, 0.0])), None
        usual = (0.0, 0.0, 1.0) if count == 2 else (1.0, 0.0, 0.0)
        first = self.direction(usual if axis is None else axis, f"axis of {where}")
        if count == 1:
            return first, None
        second = self.direction((0.0, 1.0, 0.0) if axis2 is None else axis2, f"axis2 of {where}")
        if abs(dot(first, second)) > 1e-9:
            raise self._error(f"the two axes of {kind} {where} must be perpendicular.")
        return first, _across(first, second)

    def spring(self, kind: str, stiffness: float, rest: float, where: str) -> None:
        """Check that the kind of joint can have this spring."""
        if stiffness and kind not in SPRUNG:
            raise self._error(
                f"{where} is {kind} and has a spring; joints with springs are {', '.join(SPRUNG)}. "
                "Write it as several joints, or give its effort as tau."
            )
        if rest and JOINT_TYPES[kind].nq > 1:
            raise self._error(
                f"rest of {kind} {where} is {rest}; its spring rests at the zero position: rotate the "
                "joint frame instead."
            )

    def limits(self, kind: str, limits: Limits, where: str) -> None:
        """Check the order of limits, and that the kind of joint can have position limits."""
        if limits is NO_LIMITS:
            return
        self._of_type(limits, Limits, f"limits of {where}", "Limits(lower=-1.0, upper=1.0)")
        for what in ("lower", "upper", "velocity", "effort"):
            value = getattr(limits, what)
            if not isinstance(value, Real) or isnan(value):
                raise self._error(f"{what} limit of {where} is {value!r:.100}; it must be a number, or inf.")
            if what in ("velocity", "effort") and value < 0.0:
                raise self._error(f"{what} limit of {where} is {value:g}; it must not be negative.")
        ends = f"[{limits.lower:g}, {limits.upper:g}]"
        if limits.lower > limits.upper:
            raise self._error(f"limits of {where} are {ends}; exchange them.")
        is_bounded = abs(limits.lower) < NO_LIMIT or abs(limits.upper) < NO_LIMIT
        if is_bounded and kind not in BOUNDED and JOINT_TYPES[kind].nv:
            instead = "make it revolute" if JOINT_TYPES[kind].is_endless else "write it as several joints"
            raise self._error(
                f"{where} is {kind} and has the limits {ends}; positions of {', '.join(BOUNDED)} joints "
                f"have limits: leave out lower and upper, or {instead}."
            )

    def mimic(self, mimic: Mimic | None, where: str) -> None:
        """Check the mimic of a joint."""
        if mimic is not None:
            self._of_type(mimic, Mimic, f"mimic of {where}", "Mimic('other_joint', multiplier=2.0)")
            self.finite(mimic.multiplier, f"multiplier of the mimic of {where}")
            self.finite(mimic.offset, f"offset of the mimic of {where}")

    def _of_type(self, value: object, wanted: type, what: str, example: str) -> None:
        if not isinstance(value, wanted):
            raise self._error(f"{what} is {value!r:.100}; use a {wanted.__name__}, such as {example}.")

    def total_rotation(self, kind: str, limits: Limits, where: str) -> None:
        """Check the limits of a spherical joint, which are those of its total rotation."""
        least, most = limits.lower, limits.upper
        if kind == Spherical.kind and ((np.isfinite(least) and least != 0.0) or least > 0.0 or not most > 0.0):
            raise self._error(
                f"{where} is spherical and has the limits [{least:g}, {most:g}]; its total "
                "rotation angle has the lower limit 0 and a positive upper limit."
            )

    def constants(self, kind: str, given: Mapping[str, float], where: str) -> dict[str, float]:
        """Check the constants of a joint type: all of them and no others."""
        names = JOINT_TYPES[kind].constants
        if not names and not given:
            return {}
        if set(given) != set(names):
            needs = f"needs {', '.join(names)}" if names else "has no constants"
            raise self._error(f"{where} is {kind}, which {needs}; given: {', '.join(given) or 'none'}.")
        values = {name: self.finite(given[name], f"{name} of {where}") for name in names}
        problem = JOINT_TYPES[kind].constants_problem(**values)
        if problem:
            raise self._error(f"{where}: {problem}")
        return values

    def loads(self, given: Mapping[str, float], where: str) -> dict[str, float]:
        """Check that damping, friction, armature and stiffness are finite and not negative."""
        loads = {what: self.finite(value, f"{what} of {where}") for what, value in given.items()}
        for what, value in loads.items():
            if value < 0.0:
                raise self._error(f"{what} of {where} is {value:g}; it must not be negative.")
        return loads

    def _kind(self, kind: str, known: Collection[str], where: str, what: str) -> str:
        if kind not in known:
            raise ModelError(f"{self.where}, {where}: {unknown_name(what, kind, known)}")
        return kind

    def link(self, link: Link) -> Link:
        """Check a link."""
        self._part, where = link, link.where
        mass = self.finite(link.mass, f"mass of {where}")
        if mass < 0.0:
            raise self._error(f"the mass of {where} is {mass:g} kg; it must not be negative: correct its sign.")
        return link.sealed(  # type: ignore[no-any-return]
            mass=mass,
            com=self.vector(link.com, 3, f"com of {where}"),
            inertia=self.inertia(link.inertia, f"inertia of {where}"),
            visuals=self.shapes(link.visuals, f"visuals of {where}"),
            collisions=self.shapes(link.collisions, f"collisions of {where}"),
        )

    def joint(self, joint: Joint) -> Joint:
        """Check a joint of the tree."""
        self._part, where = joint, joint.where
        kind = self._kind(joint_kind(joint.kind), JOINT_TYPES, where, "joint type")
        loads = self.loads({name: getattr(joint, name) for name in LOADS}, where)
        rest = self.finite(joint.rest, f"rest of {where}")
        self.spring(kind, loads["stiffness"], rest, where)
        self.limits(kind, joint.limits, where)
        self.mimic(joint.mimic, where)
        self.total_rotation(kind, joint.limits, where)
        axis, axis2 = self.axes(kind, joint.axis, joint.axis2, where)
        return joint.sealed(  # type: ignore[no-any-return]
            kind=kind,
            xyz=self.vector(joint.xyz, 3, f"xyz of {where}"),
            rotation=self.rotation(joint.rotation, where),
            axis=axis,
            axis2=axis2,
            rest=rest,
            constants=self.constants(kind, joint.constants, where),
            **loads,
        )

    def loop(self, loop: LoopJoint) -> LoopJoint:
        """Check a loop joint."""
        self._part, where = loop, loop.where
        kind = self._kind(loop_kind(loop.kind), LOOP_KINDS, where, "type of loop joint")
        axis, axis2 = self.axes(kind, loop.axis, loop.axis2, where)
        return loop.sealed(  # type: ignore[no-any-return]
            kind=kind,
            parent_xyz=self.vector(loop.parent_xyz, 3, f"parent xyz of {where}"),
            parent_rotation=self.rotation(loop.parent_rotation, f"{where} in its parent"),
            child_xyz=self.vector(loop.child_xyz, 3, f"child xyz of {where}"),
            child_rotation=self.rotation(loop.child_rotation, f"{where} in its child"),
            axis=axis,
            axis2=axis2,
            constants=self.constants(kind, loop.constants, where),
        )

    def direction(self, value: ArrayLike, what: str) -> Array:
        """Scale a vector to unit length."""
        key = _key("direction", value)
        if key in self._shared:
            return self._shared[key]
        x = self.vector(value, 3, what)
        a, b, c = x.tolist()
        length = sqrt(a * a + b * b + c * c)
        if length < 1e-9:
            raise self._error(f"{what} has length zero; give a direction such as 0 0 1.")
        # Unit vectors printed in files are not changed.
        return self._share(key, x if abs(length - 1.0) < 1e-15 else x / length)


# --- whole parts ------------------------------------------------------------------------------------------------
def checked(part: P, where: str) -> P:
    """Check all values of a part and return it read-only.

    Args:
        part: a link or joint; one that is read-only is returned unchanged.
        where: source of the part (a file), for messages.

    Raises:
        ModelError: a value is invalid.
    """
    if part.is_sealed:
        return part
    values = CheckedValues(where)
    if isinstance(part, Link):
        return values.link(part)  # type: ignore[return-value]
    return values.joint(part) if isinstance(part, Joint) else values.loop(part)  # type: ignore[return-value,arg-type]
