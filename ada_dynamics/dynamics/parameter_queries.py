# SPDX-License-Identifier: Apache-2.0
"""Questions about the parameters of a model: what efforts, accelerations and poses are with others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms import regressor as algorithm
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import INDEPENDENT, TREE, Coordinates
from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.arguments import common_batch
from ada_dynamics.dynamics.derivatives import DerivativeQueries
from ada_dynamics.dynamics.geometry import Adjusted
from ada_dynamics.dynamics.motion_queries import MotionQueries
from ada_dynamics.errors import NameDict, unknown_name
from ada_dynamics.model.edit.adjustable import geometry


class ParameterQueries(DerivativeQueries, MotionQueries):
    """How results change with parameters of the model: masses, losses, springs; lengths and frames."""

    @cached_property
    def parameters(self) -> Mapping[str, float]:
        """Parameters that efforts depend on linearly, by name, in the order of the columns of `regressor`.

        Of each moving body "link.mass", "link.mx" to "link.mz" (mass times centre of mass) and "link.Ixx" to "link.Izz"
        (about the origin and in the axes of the link that the joint carries, with all that is fixed to it); of its
        joint "joint.damping", "joint.friction", "joint.armature" and "joint.stiffness".
        """
        return NameDict("parameter", algorithm.parameters(self._tree, self._carried).items())

    @property
    def _carried(self) -> list[str]:
        """The link that the joint of each body carries."""
        return [self.model.joints[body.name].child for body in self._tree.bodies]

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, coordinates: Coordinates = TREE) -> Array:
        """Y of τ = Y π, with π the values of `parameters`, (nv, P).

        With loops Y is that of the spanning tree, without constraint forces; coordinates="independent" or "actuated"
        project them out: Tᵀ τ = Y π, (m, P).
        """
        self._refuse_derivatives()
        Y = self._compute("regressor", lambda: quantities.regressor(self._tree, self._carried), q=q, v=v, a=a)
        return Y if coordinates == TREE else np.asarray(self.tangent_map(q, coordinates).swapaxes(-1, -2) @ Y)

    @cached_property
    def geometry(self) -> Mapping[str, float]:
        """Lengths [m] and small turns that place the joints and the loops, by name; turns are zero.

        "joint.x" to "joint.z": where a joint is in its parent link; "joint.rx" to "joint.rz": turned there, about the
        axes of the parent link. "loop.parent_x" to "loop.child_rz": likewise of the two frames of a loop joint.
        """
        return NameDict("length or turn", geometry(self.model).items())

    def parameter_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        parameters: Sequence[str] | None = None,
        coordinates: Coordinates = TREE,
    ) -> Array:
        """Derivatives of the accelerations by parameters, (nv, P).

        A parameter of efforts asks for Y dπ that the joints are not given: ∂a/∂π = -∂a/∂τ Y. By lengths and turns they
        are those of the residual, q, v and τ as they are: loops stay as far open as lengths make them.

        Args:
            q: positions.
            v: velocities.
            tau: efforts.
            parameters: names from `parameters` and `geometry`; all of `parameters` where not given.
            coordinates: "independent", "actuated" or names of joints: these positions and velocities stay, while all
                others follow so that loops stay closed; the accelerations are theirs, (m, P).

        Raises:
            InputError: there is no such parameter, or the loops hold a length: no others could follow.
        """
        names = list(self.parameters if parameters is None else parameters)
        for name in names:
            if name not in self.parameters and name not in self.geometry:
                raise unknown_name("parameter, length or turn", name, [*self.parameters, *self.geometry])
        lengths = [name for name in names if name in self.geometry]
        a, du = self.forward(q, v, tau), self.forward_derivatives(q, v, tau).du
        columns = dict.fromkeys(names)
        if len(lengths) < len(names):
            places = {name: k for k, name in enumerate(self.parameters)}
            of_efforts = -du @ self.regressor(q, v, a)
            columns |= {name: of_efforts[..., places[name]] for name in names if name in places}
        if lengths:
            of_lengths = self._by_lengths(lengths, q, v, tau, coordinates)
            columns |= {name: of_lengths[..., k] for k, name in enumerate(lengths)}
        found = np.stack([np.asarray(columns[name]) for name in names], axis=-1)
        return found if coordinates == TREE else found[..., list(self.velocity_indices(coordinates)), :]

    def closing_derivatives(
        self, q: ArrayLike, parameters: Sequence[str], coordinates: Coordinates = INDEPENDENT
    ) -> Array:
        """Changes of the positions with lengths and turns that keep all loops closed, as velocities, (nv, P).

        Positions meant by `coordinates` stay as they are. Without loops nothing has to follow: they are zero.

        Raises:
            InputError: there is no such length or turn, or the loops hold it.
        """
        adjusted = self._adjusted(parameters)
        return self._of_states(lambda at: adjusted.closing(at, coordinates), q)

    def pose_derivatives(
        self, link: str, q: ArrayLike, parameters: Sequence[str], coordinates: Coordinates = TREE
    ) -> Array:
        """Derivatives of a link's pose by lengths and turns, (6, P): [linear; angular] in the world's axes.

        Args:
            link: its name.
            q: positions.
            parameters: names from `geometry`.
            coordinates: "tree": all positions stay, as if there were no loops; "independent", "actuated" or names of
                joints: these stay, while all others follow so that loops stay closed. Calibration wants "actuated".
        """
        self.require_link(link)
        adjusted = self._adjusted(parameters)
        return self._of_states(lambda at: adjusted.pose(link, at, coordinates), q)

    def _by_lengths(
        self, names: Sequence[str], q: ArrayLike, v: ArrayLike, tau: ArrayLike, coordinates: Coordinates
    ) -> Array:
        adjusted = self._adjusted(names)
        arrays = self._arguments({"q": q, "v": v, "tau": tau})

        def of_state(q: Array, v: Array, tau: Array) -> Array:
            found = self.forward_derivatives(q, v, tau)
            held = adjusted.accelerations(q, v, tau, self.forward(q, v, tau), found.du)
            if coordinates == TREE:
                return held
            d_q, d_v = adjusted.state(q, v, coordinates)
            return np.asarray(held + found.dq @ d_q + found.dv @ d_v)

        return self._of_states(of_state, *arrays.values())

    def _adjusted(self, names: Sequence[str]) -> Adjusted:
        key = tuple(names)
        if key not in self._mechanisms:
            self._mechanisms[key] = Adjusted(self, key)
        return self._mechanisms[key]

    @cached_property
    def _mechanisms(self) -> dict[tuple[str, ...], Adjusted]:
        return {}

    def _of_states(self, of_state: Callable[..., Array], *values: ArrayLike) -> Array:
        """State by state: these questions are asked in calibration and design, not in control."""
        inputs, is_batch = common_batch(self._arguments(dict(zip(("q", "v", "tau"), values, strict=False))))
        if not is_batch:
            return of_state(*map(np.ascontiguousarray, inputs))
        return np.array([of_state(*map(np.ascontiguousarray, state)) for state in zip(*inputs, strict=True)])
