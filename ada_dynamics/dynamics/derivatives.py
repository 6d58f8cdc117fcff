# SPDX-License-Identifier: Apache-2.0
"""Questions about derivatives of the dynamics: matrices of them, and products with vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.algorithms.regressor import parameters as inertial_parameters
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import ACTUATED, TREE, Coordinates
from ada_dynamics.dynamics import closed_derivatives
from ada_dynamics.dynamics.arguments import common_batch, flat_wrenches
from ada_dynamics.dynamics.closed import ClosedDynamics
from ada_dynamics.dynamics.computation import Computation, Derivatives, QueryGroup, compiled_method
from ada_dynamics.dynamics.constraint_queries import ConstraintQueries, state_map_and_nearness, warn_if_digits_are_lost
from ada_dynamics.dynamics.derivative_quantities import Equations, of_equations, open_equations, regressor
from ada_dynamics.dynamics.kernels import SPECIALISE_UP_TO
from ada_dynamics.dynamics.quantities import of_tree
from ada_dynamics.errors import InputError, NameDict
from ada_dynamics.model.model import Model


class ForwardInverseDerivatives(Computation):
    """Derivatives of forward and inverse dynamics. Derivatives with respect to q are along velocities (tangent space).

    With loops they are with respect to each coordinate of the spanning tree: along directions that the constraints
    allow they are the derivatives of `forward`; other directions keep the closure error constant. In singular
    configurations a `SingularConfigurationError` names the state and the loops.
    """

    forward: Callable[..., Array]
    inverse: Callable[..., Array]
    mass_matrix: Callable[..., Array]
    jacobian: Callable[..., Array]

    @cached_property
    def constraints(self) -> ConstraintQueries:
        """Violation, Jacobian and tangent map of the loop constraints."""
        return ConstraintQueries(self)

    @compiled_method
    def forward_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        coordinates: Coordinates = TREE,
        *,
        external: Mapping[str, ArrayLike] | None = None,
    ) -> Derivatives:
        """∂a/∂q, ∂a/∂v, ∂a/∂τ, each (nv, nv).

        Args:
            q: positions.
            v: velocities.
            tau: joint efforts.
            coordinates: of the derivatives: "tree": each coordinate of the spanning tree by itself; "independent" or
                "actuated" (see `constraints.indices`): these, while all others follow along the loops. Then the
                accelerations are theirs, too: (m, m), (m, m) and (m, nv), whatever the spanning tree.
            external: wrenches on links, as `forward` has them. What they change by themselves is
                du @ jacobian(link, q, "local").T.
        """
        if coordinates != TREE:
            names, wrenches = tuple(external or ()), tuple((external or {}).values())

            def along(
                q: ArrayLike, v: ArrayLike, tau: ArrayLike, *wrenches: ArrayLike
            ) -> tuple[Derivatives, NDArray[np.bool_]]:
                acting = dict(zip(names, wrenches, strict=True))
                return self._along_the_loops(self.forward_derivatives(q, v, tau, external=acting), q, v, coordinates)

            found, is_near = along(q, v, tau, *wrenches)
            if is_near.any():
                batch = found.du.shape[:-2]

                def elsewhere(i: int, q: Array) -> Derivatives:
                    rest = (np.broadcast_to(x, (*batch, np.shape(x)[-1])) for x in (v, tau, *wrenches))
                    return along(q, *(np.atleast_2d(x)[i] for x in rest))[0]

                states = np.broadcast_to(q, (*batch, self.model.nq))
                near, what = np.broadcast_to(is_near, batch), "derivatives along the loops"
                warn_if_digits_are_lost(self.constraints, what, states, near, found, elsewhere)
            return found
        if external:
            efforts, turning = self._pulled(q, external)
            found = self.forward_derivatives(q, v, np.asarray(tau) + efforts)
            return found._replace(dq=found.dq + found.du @ turning)
        return Derivatives._make(self._product("forward_derivatives", q=q, v=v, tau=tau))

    @compiled_method
    def forward_jvp(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, d_q: ArrayLike, d_v: ArrayLike, d_tau: ArrayLike
    ) -> Array:
        """Change of the accelerations with a change of each argument: ∂a/∂q d_q + ∂a/∂v d_v + ∂a/∂τ d_tau, (nv,).

        A fraction of the time of `forward_derivatives`; d_q is a velocity.
        """
        result: Array = self._product("forward_jvp", q=q, v=v, tau=tau, d_q=d_q, d_v=d_v, d_tau=d_tau)
        return result

    @compiled_method
    def forward_vjp(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, w: ArrayLike) -> Derivatives:
        """Gradient of wᵀ a by q, v and τ: wᵀ ∂a/∂q, wᵀ ∂a/∂v, wᵀ ∂a/∂τ, each (nv,).

        What reverse mode needs of one step backwards, at a small multiple of the time of `forward`.
        """
        return Derivatives._make(self._product("forward_vjp", q=q, v=v, tau=tau, w=w))

    @compiled_method
    def inverse_jvp(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, d_q: ArrayLike, d_v: ArrayLike, d_a: ArrayLike
    ) -> Array:
        """Change of the efforts with a change of each argument: ∂τ/∂q d_q + ∂τ/∂v d_v + M d_a, (nv,); no loops."""
        result: Array = self._product("inverse_jvp", q=q, v=v, a=a, d_q=d_q, d_v=d_v, d_a=d_a)
        return result

    @compiled_method
    def inverse_vjp(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, w: ArrayLike) -> Derivatives:
        """Gradient of wᵀ τ by q, v and a: wᵀ ∂τ/∂q, wᵀ ∂τ/∂v, M w, each (nv,); no loops."""
        return Derivatives._make(self._product("inverse_vjp", q=q, v=v, a=a, w=w))

    @compiled_method
    def inverse_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        coordinates: Coordinates = TREE,
        *,
        external: Mapping[str, ArrayLike] | None = None,
    ) -> Derivatives:
        """∂τ/∂q, ∂τ/∂v, ∂τ/∂a, each (nv, nv); the last one is the mass matrix.

        With loops τ are the efforts of the motors, as many as the mechanism has degrees of freedom, and derivatives are
        with respect to `coordinates`, "actuated" or "independent", which all others follow: (m, m) each.
        """
        self._refuse_derivatives()
        if self._kernels.closed is not None:
            return self._of_motors(q, v, a, coordinates, external)
        if external:
            found = self.inverse_derivatives(q, v, a)
            return found._replace(dq=found.dq - self._pulled(q, external)[1])
        make = lambda: of_equations(self._open_equations, "inverse_derivatives")  # noqa: E731
        return Derivatives(*self._compute("inverse_derivatives", make, q=q, v=v, a=a))

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, coordinates: Coordinates = TREE) -> Array:
        """Y of τ = Y π, with π the values of `parameters`, (nv, P).

        With loops Y is that of the spanning tree, without constraint forces; coordinates="independent" or "actuated"
        project them out: Tᵀ τ = Y π, (m, P).
        """
        self._refuse_derivatives()
        Y = self._compute("regressor", lambda: regressor(self._tree, carried_links(self.model)), q=q, v=v, a=a)
        if coordinates == TREE:
            return Y
        return np.asarray(self.constraints.tangent_map(q, coordinates).swapaxes(-1, -2) @ Y)

    def _pulled(self, q: ArrayLike, external: Mapping[str, ArrayLike]) -> tuple[Array, Array]:
        """Efforts that external wrenches are at the joints, and how these change with q."""
        wrenches = flat_wrenches(self.model, self._tree, external)
        kernel = self._kernels.get("pulled", lambda: of_tree(self._tree, "pulled", external=True))
        efforts, turning = self._run(kernel, self._arguments({"q": q, "wrenches": wrenches}))
        return efforts, turning

    def _along_the_loops(
        self, whole: Derivatives, q: ArrayLike, v: ArrayLike, coordinates: Coordinates
    ) -> tuple[Derivatives, NDArray[np.bool_]]:
        """From those of the tree: v = T y, and T turns with q; and in which states digits may be lost."""
        chosen = self.constraints.indices(coordinates)
        changes, is_near = state_map_and_nearness(self.constraints, q, v, coordinates)
        along = (np.concatenate([whole.dq, whole.dv], axis=-1) @ changes)[..., list(chosen), :]
        dq, dv = np.split(along, 2, axis=-1)
        return Derivatives(dq, dv, whole.du[..., list(chosen), :]), is_near

    def _of_motors(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        coordinates: Coordinates,
        external: Mapping[str, ArrayLike] | None,
    ) -> Derivatives:
        """From those of forward dynamics, which are their inverse: da = ∂a/∂q dq + ∂a/∂v dv + ∂a/∂τ dτ."""
        if coordinates == TREE:
            raise InputError(
                f"model {self.model.name!r} has loops, which share efforts among its motors; efforts of all joints of "
                "the tree have no derivatives of their own. Ask for those of the motors, coordinates='actuated' or "
                "coordinates='independent', or open the loops: edit.open_loops(model).",
                field="coordinates",
                value=coordinates,
                allowed=("actuated", "independent"),
            )
        motors = list(self.constraints.indices(ACTUATED))
        found = self.forward_derivatives(q, v, self.inverse(q, v, a, external), coordinates, external=external)
        by_acceleration = np.asarray(np.linalg.inv(found.du[..., motors]), dtype=np.float64)
        return Derivatives(-by_acceleration @ found.dq, -by_acceleration @ found.dv, by_acceleration)

    @cached_property
    def derivatives(self) -> DerivativeQueries:
        """Second derivatives, and derivatives of Jacobians and momentum."""
        return DerivativeQueries(self)

    def _refuse_derivatives(self) -> None:
        if self._kernels.generic:
            raise InputError(
                f"derivatives need a robot's own code; model {self.model.name!r} uses the generic kernels. Ask for "
                f"Dynamics(model, kernel='specialised'), which compiles slowly past {SPECIALISE_UP_TO} velocities in a "
                "row.",
                field="kernel",
                value="generic",
                allowed=("specialised",),
            )
        if self._kernels.large:
            raise InputError(
                f"model {self.model.name!r} has loops and {self.model.nv} velocities; derivatives with loops are there "
                f"up to {SPECIALISE_UP_TO}.",
                field="nv",
                value=self.model.nv,
                allowed=SPECIALISE_UP_TO,
            )

    def _product(self, name: str, **given: ArrayLike) -> Any:
        """Derivatives of forward or inverse dynamics, or a product of them; see `DERIVATIVES`."""
        call = self._calls.get(name)
        if call is None:
            self._refuse_derivatives()
            if self._kernels.closed is None:
                call = self._quantity_call(name, lambda: of_equations(self._open_equations, name), given)
            else:
                call = self._closed_product(self._kernels.closed, name, given)
        return call(*given.values())

    def _closed_product(self, closed: ClosedDynamics, name: str, given: Mapping[str, ArrayLike]) -> Callable[..., Any]:
        if name.startswith("inverse"):
            raise InputError(
                f"model {self.model.name!r} has loops, which share efforts among its motors; {name} is for open ones. "
                "Call inverse_derivatives(q, v, a, coordinates='actuated'), or open the loops: edit.open_loops(model).",
                loop=", ".join(self.model.loop_names),
                field=name,
            )
        closed.refuse_locked()
        self._look_once(name, *common_batch(self._arguments({key: given[key] for key in ("q", "v")}))[0])

        def rescue(inputs: Sequence[Array], is_batch: bool) -> Any:
            return closed_derivatives.rescue(closed, name, inputs, is_batch)

        if closed.plans.is_dense_only:
            return self._on_numbers(name, rescue, tuple(given))
        return self._quantity_call(
            name, lambda: of_equations(closed_derivatives.equations(closed), name), given, rescue
        )

    @property
    def _open_equations(self) -> Equations:
        """Equations of the tree, to be solved as `forward` does."""
        chosen = self._options["algorithm"]
        return open_equations(self._tree, lambda: self._kernels.algorithm, "" if chosen == "auto" else f"_{chosen}")


def carried_links(model: Model) -> list[str]:
    """The link that the joint of each body carries."""
    return [model.joints[body.name].child for body in model.tree.bodies]


class ParameterQueries(QueryGroup, Mapping[str, float]):
    """Parameters of a model, and derivatives by them, as `dynamics.parameters`.

    A mapping of the parameters that efforts depend on linearly, in the order of the columns of `Dynamics.regressor`.
    For each moving body "link.mass", "link.mx" to "link.mz" (mass times centre of mass) and "link.Ixx" to "link.Izz"
    (about the origin and in the axes of the link that the joint carries, with all links fixed to it); for its joint
    "joint.damping", "joint.friction", "joint.armature" and "joint.stiffness".
    """

    _dynamics: ForwardInverseDerivatives

    @cached_property
    def _values(self) -> Mapping[str, float]:
        tree = self._dynamics.model.tree
        return NameDict("parameter", inertial_parameters(tree, carried_links(self._dynamics.model)).items())

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        parameters: Sequence[str] | None = None,
        coordinates: Coordinates = TREE,
    ) -> Array:
        """Derivatives of the accelerations by parameters, ∂a/∂π = -∂a/∂τ Y, (nv, P).

        Args:
            q: positions.
            v: velocities.
            tau: efforts.
            parameters: names from this mapping; all by default.
            coordinates: "independent", "actuated" or names of joints: the result has their accelerations, (m, P).

        Raises:
            InputError: a parameter is unknown.
        """
        places = NameDict("parameter", {name: k for k, name in enumerate(self)})
        columns = [places[name] for name in (self if parameters is None else parameters)]
        a, du = self._dynamics.forward(q, v, tau), self._dynamics.forward_derivatives(q, v, tau).du
        found = -du @ self._dynamics.regressor(q, v, a)[..., columns]
        return found if coordinates == TREE else found[..., list(self._dynamics.constraints.indices(coordinates)), :]


class DerivativeQueries(QueryGroup):
    """Second derivatives, and derivatives of Jacobians and momentum, as `dynamics.derivatives`."""

    _dynamics: ForwardInverseDerivatives

    @compiled_method
    def forward_hvp(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, w: ArrayLike, d_q: ArrayLike, d_v: ArrayLike, d_tau: ArrayLike
    ) -> Derivatives:
        """Change of `forward_vjp` with a change of each argument, w as it is: second derivatives of wᵀ a.

        The derivative by s, at s = 0, of forward_vjp(model.integrate(q, d_q, s), v + s d_v, tau + s d_tau, w): of the
        gradient by velocities at the pose that moves. At two to five times the time of `forward_vjp`.

        Raises:
            SingularConfigurationError: the pose is singular.
            InputError: loops are redundant, and their conditions depend on each other in another way in this pose.
        """
        given = {"q": q, "v": v, "tau": tau, "w": w, "d_q": d_q, "d_v": d_v, "d_tau": d_tau}
        return Derivatives._make(self._dynamics._product("forward_hvp", **given))

    @compiled_method
    def inverse_hvp(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, w: ArrayLike, d_q: ArrayLike, d_v: ArrayLike, d_a: ArrayLike
    ) -> Derivatives:
        """Change of `inverse_vjp` with a change of each argument, w as it is, as in `forward_hvp`; no loops."""
        given = {"q": q, "v": v, "a": a, "w": w, "d_q": d_q, "d_v": d_v, "d_a": d_a}
        return Derivatives._make(self._dynamics._product("inverse_hvp", **given))

    @compiled_method
    def com_jacobian_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Time derivative of `com_jacobian` along v, (3, nv)."""
        return self._dynamics._evaluate("com_jacobian_rate", q, v)

    @compiled_method
    def momentum_matrix_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Time derivative of `momentum_matrix` along v, (6, nv)."""
        return self._dynamics._evaluate("momentum_matrix_rate", q, v)
