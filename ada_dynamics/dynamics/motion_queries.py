# SPDX-License-Identifier: Apache-2.0
"""Questions about links and about the whole body: poses, velocities, Jacobians, momentum, energy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import TREE, Coordinates
from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.arguments import choice
from ada_dynamics.dynamics.computation import Computation, compiled_method
from ada_dynamics.dynamics.constraint_queries import ConstraintQueries
from ada_dynamics.dynamics.quantities.table import Frame
from ada_dynamics.errors import NameDict


class Energy(NamedTuple):
    """Mechanical energy [J]; arrays for a batch."""

    kinetic: Any
    potential: Any


class MotionQueries(Computation):
    """Kinematics of links, frames and centre of mass; momentum and energy."""

    @cached_property
    def constraints(self) -> ConstraintQueries:
        """Violation, Jacobian and tangent map of the loop constraints."""
        return ConstraintQueries(self)

    # --- kinematics ---------------------------------------------------------------------------------------------
    def pose(self, link: str, q: ArrayLike) -> Array:
        """Pose of a link in the world, 4x4."""
        call = self._calls.get(name := f"pose {link}") or self._of_link("pose", name, link)
        return call(q)  # type: ignore[no-any-return]

    def forward_kinematics(self, q: ArrayLike) -> dict[str, Array]:
        """Poses of all links and frames in the world, 4x4 each."""
        stacked = self._forward_kinematics(q)
        return NameDict("link", ((name, stacked[..., i, :, :]) for i, name in enumerate(self._tree.frames)))

    @compiled_method
    def _forward_kinematics(self, q: ArrayLike) -> Array:
        """Poses of all links and frames, (..., frames, 4, 4), in the order of `forward_kinematics`."""
        return self._evaluate("_forward_kinematics", q)

    def velocity(self, link: str, q: ArrayLike, v: ArrayLike) -> Array:
        """Velocity of a link's origin and its angular velocity, (6,) in the world's axes."""
        call = self._calls.get(name := f"velocity {link}") or self._of_link("velocity", name, link)
        return call(q, v)  # type: ignore[no-any-return]

    def acceleration(self, link: str, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Acceleration of a link's origin and its angular acceleration, (6,) in the world's axes."""
        self._require_link(link)
        make = lambda: quantities.of_tree(self._tree, "acceleration", link)  # noqa: E731
        return self._compute(f"acceleration {link}", make, q=q, v=v, a=a)

    def jacobian(
        self,
        link: str | Sequence[str],
        q: ArrayLike,
        frame: Frame = "local_world_aligned",
        coordinates: Coordinates = TREE,
    ) -> Array:
        """Jacobian of a link, (6, m), rows [linear; angular], or of several links, (links, 6, m).

        Args:
            link: name of the link, or several names.
            q: positions.
            frame: local_world_aligned (at the link's origin, world's axes), local (there, link's axes) or world (at the
                world's origin).
            coordinates: velocities that the columns belong to: "tree": all of the tree's, as if there were no loops;
                "independent", "actuated" or names of joints: those alone, with all others following along the loops
                (see `constraints.indices`).

        Raises:
            InputError: a name is unknown, or the coordinates do not determine the motion.
            SingularConfigurationError: the coordinates do not determine the motion in this configuration.
        """
        call = self._calls.get(name := f"jacobian {frame} {link}")
        if call is None:
            choice("frame", frame, quantities.FRAMES)
            call = self._of_link("jacobian", name, link, frame)
        J: Array = call(q)
        return J if coordinates == TREE else J @ _of_each(self.constraints.tangent_map(q, coordinates), link)

    def jacobian_rate(
        self,
        link: str | Sequence[str],
        q: ArrayLike,
        v: ArrayLike,
        frame: Frame = "local_world_aligned",
        coordinates: Coordinates = TREE,
    ) -> Array:
        """Time derivative of `jacobian` along v."""
        self._require_links(link)
        choice("frame", frame, quantities.FRAMES)
        make = lambda: quantities.rate_of(quantities.of_tree(self._tree, "jacobian", link, frame), self._tree)  # noqa: E731
        rate = self._compute(f"jacobian_rate {frame} {link}", make, q=q, v=v)
        if coordinates == TREE:
            return rate
        T, T_rate = (_of_each(x, link) for x in self.constraints.tangent_map_rate(q, v, coordinates))
        return rate @ T + self.jacobian(link, q, frame) @ T_rate

    # --- whole body ---------------------------------------------------------------------------------------------
    @compiled_method
    def com(self, q: ArrayLike) -> Array:
        """Centre of mass of all bodies that can move, in the world [m]."""
        return self._evaluate("com", q)

    @compiled_method
    def com_velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Velocity of the centre of mass in world axes [m/s]."""
        return self._evaluate("com_velocity", q, v)

    @compiled_method
    def com_acceleration(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Acceleration of the centre of mass in world axes [m/s²]."""
        return self._evaluate("com_acceleration", q, v, a)

    @compiled_method
    def com_jacobian(self, q: ArrayLike) -> Array:
        """Jacobian of the centre of mass, (3, nv)."""
        return self._evaluate("com_jacobian", q)

    @compiled_method
    def momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Centroidal momentum, (6,): linear, and angular about the centre of mass, in the world's axes."""
        return self._evaluate("momentum", q, v)

    @compiled_method
    def momentum_matrix(self, q: ArrayLike) -> Array:
        """Centroidal momentum per unit velocity, (6, nv)."""
        return self._evaluate("momentum_matrix", q)

    def energy(self, q: ArrayLike, v: ArrayLike) -> Energy:
        """Kinetic energy (with rotors) and potential energy (zero at the world's origin)."""
        both = self._energy(q, v)
        if both.ndim == 1:
            return tuple.__new__(Energy, both.tolist())  # takes half as long as Energy(...)
        return Energy(both[..., 0], both[..., 1])

    @compiled_method
    def _energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Kinetic and potential energy as an array, (..., 2)."""
        return self._evaluate("_energy", q, v)


def _of_each(T: Array, links: str | Sequence[str]) -> Array:
    """A matrix for each state, as it is multiplied with one or several for each state."""
    return T if isinstance(links, str) else T[..., None, :, :]


def stacked_poses(dynamics: MotionQueries, q: ArrayLike) -> Array:
    """`forward_kinematics` as one array, (..., frames, 4, 4)."""
    return dynamics._forward_kinematics(q)
