# SPDX-License-Identifier: Apache-2.0
"""Build a model in code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.model.checked_values import NO_TURN, CheckedValues
from ada_dynamics.model.description import Description, LocatedName
from ada_dynamics.model.elements import NO_LIMITS, Joint, Limits, Link, LoopJoint, Mimic, RobotPart, Shape, read_only
from ada_dynamics.model.model import STANDARD_GRAVITY, Model

P = TypeVar("P", bound=RobotPart)


def _unchecked(kind: type[P], /, **values: Any) -> P:
    """Return an unchecked part with the given values."""
    part = object.__new__(kind)
    vars(part).update(values)
    return part


class Builder:
    """Collect links and joints in any order; `build` checks them and returns the model.

    Example::

        arm = Builder("pendulum")
        arm.link("base")
        arm.link("rod", mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 0))
        arm.joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0))
        model = arm.build()
    """

    def __init__(self, name: str) -> None:
        """Start an empty description of a robot with this name."""
        self._description = Description(name, f"model {name!r}")
        self._values = CheckedValues(self._description.file)

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self._description.name

    def __repr__(self) -> str:
        own = self._description
        count = f"{len(own.links)} links, {len(own.joints)} joints, {len(own.loops)} loops"
        return f"<Builder of {self.name!r}: {count}>"

    # --- adding -------------------------------------------------------------------------------------------------
    def link(
        self,
        name: str,
        mass: float = 0.0,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
        *,
        rod: ArrayLike | None = None,
        density: float | None = None,
        has_inertial: bool = True,
        visuals: Iterable[Shape] = (),
        collisions: Iterable[Shape] = (),
    ) -> Builder:
        """Add a link.

        Args:
            name: unique name.
            mass: [kg].
            com: centre of mass in the link's frame [m].
            inertia: about the CoM in the link's axes [kg m²]: 3x3, or (xx, yy, zz), or (xx, yy, zz, xy, xz, yz).
            rod: end of a thin rod from the link's origin [m], or its length along z, instead of com and inertia.
            density: mass of the rod per length [kg/m], instead of mass.
            has_inertial: False if mass and inertia are placeholders; `check` reports such links.
            visuals: shapes for display.
            collisions: shapes for contact.
        """
        if rod is not None:
            mass, com, inertia = self._thin_rod(name, mass, rod, density)
        elif density is not None:
            raise InputError(f"link {name!r}: density needs rod=.", link=name, field="density", value=density)
        looks = {"has_inertial": has_inertial, "visuals": visuals, "collisions": collisions}
        link = _unchecked(Link, name=name, mass=mass, com=com, inertia=inertia, **looks)
        self._description.links.append(self._values.link(link))
        return self

    def _thin_rod(self, name: str, mass: float, rod: ArrayLike, density: float | None) -> tuple[float, Array, Array]:
        """Mass, CoM and inertia of a thin rod from the origin: m (|r|² 1 - r rᵀ) / 12."""
        end = np.asarray(rod, dtype=float)
        if end.ndim == 0:
            end = np.array([0.0, 0.0, float(end)])
        if end.shape != (3,) or not end.any():
            message = f"link {name!r}: rod is {rod!r}; it must be a length or a point other than the origin."
            raise InputError(message, link=name, field="rod", value=rod)
        own = mass if density is None else density * float(np.linalg.norm(end))
        return own, 0.5 * end, own / 12.0 * (end @ end * np.eye(3) - np.outer(end, end))

    def joint(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        xyz: ArrayLike = (0.0, 0.0, 0.0),
        rpy: ArrayLike = NO_TURN,
        axis: ArrayLike | None = None,
        axis2: ArrayLike | None = None,
        *,
        rotation: ArrayLike | None = None,
        limits: Limits | None = None,
        damping: float = 0.0,
        friction: float = 0.0,
        armature: float = 0.0,
        stiffness: float = 0.0,
        rest: float = 0.0,
        mimic: Mimic | None = None,
        **constants: float,
    ) -> Builder:
        """Add a joint from link `parent` to link `child`.

        Args:
            name: unique name.
            kind: one of `JOINT_TYPES`: revolute, prismatic, spherical, ...
            parent: parent link.
            child: child link; its frame is the joint frame.
            xyz: position of the joint in the parent's frame [m].
            rpy: orientation of the joint in the parent's frame, roll-pitch-yaw [rad].
            axis: direction in the joint's frame (a planar joint's normal); (1, 0, 0) by default as in URDF.
            axis2: second axis of a universal joint, perpendicular to the first.
            rotation: orientation of the joint in the parent's frame as a 3x3 matrix, instead of rpy.
            limits: limits; lower and upper for revolute, prismatic, helical and spherical joints only.
            damping: viscous damping, on each velocity of the joint.
            friction: Coulomb friction.
            armature: reflected rotor inertia.
            stiffness: of a spring; for joints with one position and for spherical joints.
            rest: rest position of the spring; zero for a spherical joint.
            mimic: joint whose position determines this one.
            constants: parameters of the kind, such as the pitch [m/rad] of a helical joint.
        """
        joint = _unchecked(
            Joint,
            name=name,
            kind=kind,
            parent=parent,
            child=child,
            xyz=xyz,
            rotation=self._values.orientation(rpy, rotation, f"joint {name!r}"),
            axis=axis,
            axis2=axis2,
            limits=NO_LIMITS if limits is None else limits,
            damping=damping,
            friction=friction,
            armature=armature,
            mimic=mimic,
            stiffness=stiffness,
            rest=rest,
            constants=constants,
        )
        self._description.joints.append(self._values.joint(joint))
        return self

    def loop(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        parent_xyz: ArrayLike = (0.0, 0.0, 0.0),
        parent_rpy: ArrayLike = NO_TURN,
        child_xyz: ArrayLike = (0.0, 0.0, 0.0),
        child_rpy: ArrayLike = NO_TURN,
        axis: ArrayLike | None = None,
        axis2: ArrayLike | None = None,
        *,
        parent_rotation: ArrayLike | None = None,
        child_rotation: ArrayLike | None = None,
        **constants: float,
    ) -> Builder:
        """Close a loop by a joint between two links of the tree, or between a link and the world.

        The joint has a frame in each link; at its zero position they coincide.

        Args:
            name: unique name.
            kind: one of `LOOP_KINDS`: revolute, prismatic, spherical, ...
            parent: one link, or "world".
            child: the other link.
            parent_xyz: position of the joint in the parent's frame [m].
            parent_rpy: orientation of the joint in the parent frame, roll-pitch-yaw [rad].
            child_xyz: position of the joint in the child's frame [m].
            child_rpy: orientation of the joint in the child frame, roll-pitch-yaw [rad].
            axis: direction in the joint's frame (a planar joint's normal); (1, 0, 0) by default.
            axis2: second axis of a universal joint, in the child-side frame, perpendicular to the first at zero.
            parent_rotation: orientation in the parent's frame as a 3x3 matrix, instead of parent_rpy.
            child_rotation: orientation in the child's frame as a 3x3 matrix, instead of child_rpy.
            constants: parameters of the kind, such as the pitch [m/rad] of a helical joint.
        """
        loop = _unchecked(
            LoopJoint,
            name=name,
            kind=kind,
            parent=parent,
            child=child,
            parent_xyz=parent_xyz,
            parent_rotation=self._values.orientation(parent_rpy, parent_rotation, f"loop {name!r} in its parent"),
            child_xyz=child_xyz,
            child_rotation=self._values.orientation(child_rpy, child_rotation, f"loop {name!r} in its child"),
            axis=axis,
            axis2=axis2,
            constants=constants,
        )
        self._description.loops.append(self._values.loop(loop))
        return self

    def actuated(self, joints: Sequence[str]) -> Builder:
        """Set the joints that have motors; by default all have."""
        self._description.actuated = [LocatedName(name, self._description.file, None) for name in joints]
        return self

    # --- building -----------------------------------------------------------------------------------------------
    def build(
        self,
        base: str = "fixed",
        gravity: Sequence[float] = STANDARD_GRAVITY,
        source: str | None = None,
    ) -> Model:
        """Check the structure and return the model: see `Description.build`."""
        return self._description.build(base, gravity, source)


@pause_garbage_collection()
def planar_chain(n: int, length: float = 1.0, gravity: Sequence[float] = STANDARD_GRAVITY) -> Model:
    """A chain of n equal thin rods of 1 kg in the x-z plane, joints about +y, links along +z at zero angle.

    These are the planar manipulators of Takahashi 2012: each rod has the inertia diag(ml²/12, ml²/12, 0).
    """
    rod = length**2 / 12.0
    builder = Builder(f"planar_{n}r").link("base")
    for i in range(1, n + 1):
        builder.link(f"link_{i}", 1.0, (0.0, 0.0, length / 2.0), (rod, rod, 0.0))
        parent, height = ("base", 0.0) if i == 1 else (f"link_{i - 1}", length)
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", (0.0, 0.0, height), axis=(0.0, 1.0, 0.0))
    return builder.build(gravity=gravity)


@pause_garbage_collection()
def chain_3d(n: int, base: str = "fixed") -> Model:
    """A chain of n equal rods of 0.1 m and 1 kg with axes x, y, z, x, ... and no inertial parameter equal to zero."""
    # Read-only arrays are checked once and shared by all links.
    length = 0.1
    r = read_only(length * np.array([0.1, 0.2, 0.5]))
    I = read_only(length**2 * np.array([[1.0, 0.05, 0.02], [0.05, 1.1, -0.04], [0.02, -0.04, 0.3]]))
    axes = [read_only(axis) for axis in np.eye(3)]
    at_tip = (0.0, 0.0, length)
    builder = Builder(f"chain_{n}").link("base", 1.0, (0.0, 0.0, 0.0), np.eye(3) * length**2)
    for i in range(1, n + 1):
        builder.link(f"link_{i}", 1.0, r, I)
        parent, xyz = ("base", (0.0, 0.0, 0.0)) if i == 1 else (f"link_{i - 1}", at_tip)
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", xyz, axis=axes[(i - 1) % 3])
    return builder.build(base=base)
