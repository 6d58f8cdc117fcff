# SPDX-License-Identifier: Apache-2.0
"""`Dynamics(model)`: everything that can be computed of a model, checked, for one state or for many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.algorithms import aba, rnea
from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.arguments import as_array, choice, common_batch, explain, flat_wrenches
from ada_dynamics.dynamics.closed import ClosedDynamics
from ada_dynamics.dynamics.derivatives import FULL_DERIVATIVES_UP_TO, state_derivatives
from ada_dynamics.dynamics.joint_wrenches import JointWrenches
from ada_dynamics.dynamics.kernels import SPECIALISE_UP_TO, Kernels
from ada_dynamics.dynamics.preflight import refuse_algorithm, refuse_unusable
from ada_dynamics.dynamics.wrench_call import joint_wrenches
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.loop_kernel import LoopKernel
from ada_dynamics.loops.assembly import start_of
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree

Array = NDArray[np.float64]
ALGORITHMS = ("auto", "aba", "crba", "lagrange", "order_n")
KERNELS = ("auto", "specialised", "generic")


class Energy(NamedTuple):
    """Mechanical energy [J]; arrays for a batch."""

    kinetic: Any
    potential: Any


class Derivatives(NamedTuple):
    """Partial derivatives of a result by q (a velocity: on the manifold), by v, and by the third argument."""

    dq: Array
    dv: Array
    du: Array


class Dynamics:
    """Dynamics of a model.

    Vectors are one state, (nq,) or (nv,), or a batch of N states, (N, nq) or (N, nv); a single vector among batches
    counts for all states. Batches may have either order of memory; the result has that of the arguments.

    The first call of a method compiles its kernel or fetches it from the cache on disk. In a hot loop, bind `forward`
    or `inverse` to a name after one call (`fd = dyn.forward`): it is then a builtin function.
    """

    def __init__(
        self,
        model: Model,
        algorithm: str = "auto",
        *,
        kernel: str = "auto",
        checked: bool = True,
        boundary: str | None = None,
        pose: ArrayLike | None = None,
    ) -> None:
        """Choose how to compute.

        Args:
            model: the mechanism.
            algorithm: of forward dynamics: aba, crba (composite inertias and elimination), lagrange (symbolic
                equations), order_n (Rosenthal and Kane), or auto: the one with the fewest operations.
            kernel: specialised (the robot's own code), generic (one loop kernel for all robots), or auto: generic past
                60 velocities.
            checked: refuse values that are not finite and quaternions off unit length. Without it they give NaN.
            boundary: how Python calls reach compiled code: "struct" (numpy's array structure, behind a self-test) or
                "buffer" (Python's buffer protocol, slower); ADA_BOUNDARY or "struct" by default.
            pose: positions near a pose that closes the loops, in the way of assembly to be used; near the neutral pose
                by default.
        """
        if not isinstance(model, Model):
            raise InputError(f"model is {model!r:.100}; Dynamics needs a Model, such as ada.load('pa10') returns.")
        choice("algorithm", algorithm, ALGORITHMS)
        choice("kernel", kernel, KERNELS)
        if model.nv == 0:
            raise InputError(f"model {model.name!r} has no joint that moves; there are no dynamics to compute.")
        large = model.nv > SPECIALISE_UP_TO and not model.has_mimics and not model.loops
        generic = kernel == "generic" or (kernel == "auto" and large)
        refuse_algorithm(model, algorithm, generic)
        if not model.loops:  # which may hold what nothing else resists
            refuse_unusable(model, model.uniform_tree if generic else model.tree)
        self.model = model
        self.checked = checked
        names = ("algorithm", "kernel", "checked", "boundary", "pose")
        self._options = dict(zip(names, (algorithm, kernel, checked, boundary, pose), strict=True))
        start = None if pose is None else start_of(model, pose)
        self._kernels = Kernels(model, algorithm, generic, checked, start)
        self._boundary = boundary
        self._calls: dict[str, Callable[..., Any]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process or a copy goes what it was made of; compiled code is found in the cache there."""
        return _restore, (self.model, self._options)

    def __repr__(self) -> str:
        return f"<Dynamics of {self.model!r}>"

    @property
    def algorithm(self) -> str:
        """The algorithm of forward dynamics in use."""
        return self._kernels.algorithm

    # --- dynamics -----------------------------------------------------------------------------------------------
    def forward(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: Mapping[str, ArrayLike] | None = None
    ) -> Array:
        """Joint accelerations.

        Args:
            q: positions.
            v: velocities.
            tau: joint efforts.
            external: wrench [fx, fy, fz, nx, ny, nz] on a link, about its origin, in its axes.
        """
        return self._dynamics("forward", "tau", q, v, tau, external)

    def inverse(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: Mapping[str, ArrayLike] | None = None
    ) -> Array:
        """Joint efforts that give the accelerations a, damping and friction included; arguments as in `forward`."""
        return self._dynamics("inverse", "a", q, v, a, external)

    def joint_wrenches(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: Mapping[str, ArrayLike] | None = None
    ) -> JointWrenches:
        """Wrench at every joint, tree joint or loop joint, while the mechanism moves as `forward` says.

        Arguments as in `forward`; see `JointWrenches` for axes and for what redundant loops leave open.
        """
        arrays = self._arguments({"q": q, "v": v, "tau": tau})
        self._check_state(arrays)
        return joint_wrenches(self.model, self._kernels, self.forward, arrays, external)

    def project(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """The state nearest to (q, v), by kinetic energy, in which all loops are closed and stay so."""
        arrays = self._arguments({"q": q, "v": v})
        self._check_state(arrays)
        closed = self._kernels.closed
        given = np.ascontiguousarray(arrays["q"]), np.ascontiguousarray(arrays["v"])
        return given if closed is None else closed.project(*given)

    def tangents(self, q: ArrayLike) -> list[Array]:
        """Directions in which the mechanism can start to move from a singular pose: where two branches cross, both."""
        arrays = self._arguments({"q": q})
        self._check_state(arrays)
        closed = self._kernels.closed
        return [] if closed is None else closed.tangents(np.ascontiguousarray(arrays["q"]))

    def mass_matrix(self, q: ArrayLike, method: str = "crba") -> Array:
        """Joint-space mass matrix with armature, (nv, nv).

        Args:
            q: positions.
            method: crba (composite rigid bodies), unit_vector (one inverse dynamics per column) or jacobian (from the
                definition): the same result at rising cost.
        """
        choice("method", method, tuple(quantities.MASS_MATRIX))
        return self._compute(f"mass_matrix_{method}", lambda: quantities.mass_matrix(self._tree, method), q=q)

    def bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Efforts at zero acceleration: velocity terms, weight, damping and friction."""
        if self._kernels.generic:
            return self.inverse(q, v, np.zeros(self.model.nv))
        return self._compute("bias", lambda: quantities.bias(self._tree), q=q, v=v)

    def gravity(self, q: ArrayLike) -> Array:
        """Efforts that hold the mechanism at rest."""
        if self._kernels.generic:
            return self.inverse(q, np.zeros(self.model.nv), np.zeros(self.model.nv))
        return self._compute("gravity", lambda: quantities.gravity(self._tree), q=q)

    def forward_derivatives(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Derivatives:
        """∂a/∂q, ∂a/∂v, ∂a/∂τ, each (nv, nv). A step of q is a velocity, so quaternions need no care."""
        if self._has_derivative_kernels():
            make = lambda: quantities.forward_derivatives(self._tree)  # noqa: E731
            return Derivatives(*self._compute("forward_derivatives", make, q=q, v=v, tau=tau))
        of_inverse = self.inverse_derivatives(q, v, self.forward(q, v, tau))
        minverse = np.asarray(np.linalg.inv(of_inverse.du), dtype=np.float64)
        return Derivatives(-minverse @ of_inverse.dq, -minverse @ of_inverse.dv, minverse)

    def inverse_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Derivatives:
        """∂τ/∂q, ∂τ/∂v, ∂τ/∂a, each (nv, nv); the last one is the mass matrix."""
        if self._has_derivative_kernels():
            make = lambda: quantities.inverse_derivatives(self._tree)  # noqa: E731
            return Derivatives(*self._compute("inverse_derivatives", make, q=q, v=v, a=a))
        arrays = self._arguments({"q": q, "v": v, "a": a})
        if self.checked:
            self._check_state(arrays)
        inputs, is_batch = common_batch(arrays)
        kernel = self._kernels.get("inverse_along", lambda: quantities.inverse_along(self._tree))
        dq, dv = state_derivatives(kernel, inputs, self.model.nv, is_batch)
        return Derivatives(dq, dv, self.mass_matrix(inputs[0]))

    def _has_derivative_kernels(self) -> bool:
        if self._kernels.generic:
            raise InputError(
                f"derivatives need a robot's own code; model {self.model.name!r} uses the generic kernels. Ask for "
                f"Dynamics(model, kernel='specialised'), which compiles slowly past {SPECIALISE_UP_TO} velocities."
            )
        return self.model.nv <= FULL_DERIVATIVES_UP_TO

    # --- kinematics ---------------------------------------------------------------------------------------------
    def pose(self, link: str, q: ArrayLike) -> Array:
        """Pose of a link in the world, 4x4."""
        self.require_link(link)
        return self._compute(f"pose {link}", lambda: quantities.pose(self._tree, link), q=q)

    def poses(self, q: ArrayLike) -> dict[str, Array]:
        """Poses of all links in the world, 4x4 each."""
        stacked = self._compute("all_poses", lambda: quantities.all_poses(self._tree), q=q)
        return {name: stacked[..., i, :, :] for i, name in enumerate(self._tree.frames)}

    def velocity(self, link: str, q: ArrayLike, v: ArrayLike) -> Array:
        """Velocity of a link's origin and its angular velocity, (6,) in the world's axes."""
        self.require_link(link)
        return self._compute(f"velocity {link}", lambda: quantities.velocity(self._tree, link), q=q, v=v)

    def acceleration(self, link: str, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Acceleration of a link's origin and its angular acceleration, (6,) in the world's axes."""
        self.require_link(link)
        return self._compute(f"acceleration {link}", lambda: quantities.acceleration(self._tree, link), q=q, v=v, a=a)

    def jacobian(self, link: str, q: ArrayLike, frame: str = "local_world_aligned") -> Array:
        """Jacobian of a link, (6, nv), rows [linear; angular].

        Args:
            link: name of the link.
            q: positions.
            frame: local_world_aligned (at the link's origin, world's axes), local (there, link's axes) or world (at the
                world's origin).
        """
        self.require_link(link)
        choice("frame", frame, quantities.FRAMES)
        return self._compute(f"jacobian {frame} {link}", lambda: self._jacobian_quantity(link, frame), q=q)

    def jacobian_rate(self, link: str, q: ArrayLike, v: ArrayLike, frame: str = "local_world_aligned") -> Array:
        """Time derivative of `jacobian` along v."""
        self.require_link(link)
        choice("frame", frame, quantities.FRAMES)
        make = lambda: quantities.rate_of(self._jacobian_quantity(link, frame), self._tree)  # noqa: E731
        return self._compute(f"jacobian_rate {frame} {link}", make, q=q, v=v)

    # --- whole body ---------------------------------------------------------------------------------------------
    def com(self, q: ArrayLike) -> Array:
        """Centre of mass of all bodies that can move, in the world [m]."""
        return self._compute("com", lambda: quantities.com(self._tree), q=q)

    def com_jacobian(self, q: ArrayLike) -> Array:
        """Jacobian of the centre of mass, (3, nv)."""
        return self._compute("com_jacobian", lambda: quantities.com_jacobian(self._tree), q=q)

    def com_jacobian_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Time derivative of `com_jacobian` along v."""
        make = lambda: quantities.rate_of(quantities.com_jacobian(self._tree), self._tree)  # noqa: E731
        return self._compute("com_jacobian_rate", make, q=q, v=v)

    def momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Centroidal momentum, (6,): linear, and angular about the centre of mass, in the world's axes."""
        return self._compute("momentum", lambda: quantities.centroidal_momentum(self._tree), q=q, v=v)

    def momentum_matrix(self, q: ArrayLike) -> Array:
        """Centroidal momentum per unit velocity, (6, nv)."""
        return self._compute("momentum_matrix", lambda: quantities.centroidal_matrix(self._tree), q=q)

    def energy(self, q: ArrayLike, v: ArrayLike) -> Energy:
        """Kinetic energy (with rotors) and potential energy (zero at the world's origin)."""
        both = self._compute("energy", lambda: quantities.energies(self._tree), q=q, v=v)
        return Energy(both[..., 0], both[..., 1])

    # --- how it is done -----------------------------------------------------------------------------------------
    @property
    def _tree(self) -> Tree:
        return self.model.tree

    @property
    def is_generic(self) -> bool:
        """Whether forward and inverse dynamics run on the loop kernels that serve every robot."""
        return self._kernels.generic

    def kernel(self, name: str) -> Kernel | LoopKernel:
        """The kernel of "forward" or "inverse", to measure it or to call it from other compiled code."""
        choice("kernel", name, ("forward", "inverse"))
        if self._kernels.generic:
            return self._kernels.loop(name, False)
        if name == "forward":
            return self._kernels.forward(False)
        return self._kernels.get("inverse", lambda: quantities.inverse(self._tree, False))

    def _jacobian_quantity(self, link: str, frame: str) -> quantities.Quantity:
        return quantities.link_jacobian(self._tree, link, frame)

    def require_link(self, link: str) -> None:
        """Raise for a name that no link has."""
        if link not in self._tree.frames:
            raise unknown_name("link", link, self._tree.frames)

    def _arguments(self, given: Mapping[str, Any]) -> dict[str, Array]:
        sizes = {"q": self.model.nq}
        return {
            name: value if name == "wrenches" else as_array(name, value, sizes.get(name, self.model.nv), self.model)
            for name, value in given.items()
        }

    def _dynamics(
        self,
        name: str,
        third: str,
        q: ArrayLike,
        v: ArrayLike,
        u: ArrayLike,
        external: Mapping[str, ArrayLike] | None,
    ) -> Array:
        given: dict[str, Any] = {"q": q, "v": v, third: u}
        if external:
            tree = self.model.uniform_tree if self._kernels.generic else self._tree
            given["wrenches"] = flat_wrenches(self.model, tree, external)
        arrays = self._arguments(given)
        if self._kernels.generic:
            return self._run_loop(name, bool(external), arrays)
        if name == "forward":
            kernel = self._kernels.forward(bool(external))
        else:
            tag = "inverse_external" if external else "inverse"
            kernel = self._kernels.get(tag, lambda: quantities.inverse(self._tree, bool(external)))
        if not external and name not in self.__dict__:
            # From now on plain float64 vectors, or rows of them, go straight to compiled code.
            self.__dict__[name] = kernel.python_call(getattr(self, name), self._boundary)
        if self._kernels.closed is not None and name == "forward":
            return self._run_closed(self._kernels.closed, kernel, arrays)
        result: Array = self._run(kernel, arrays)
        return result

    def _run_closed(self, closed: ClosedDynamics, kernel: Kernel, arrays: Mapping[str, Array]) -> Array:
        """The fast kernel, and the tiers behind it for states that stop it."""
        inputs, is_batch = common_batch(arrays)
        result, status = self._status(kernel, inputs, is_batch)
        if status:
            self._check_state(arrays)
            result = closed.rescue(self._kernels.candidate, inputs, is_batch)
            if self.checked and not np.isfinite(result).all():
                raise InputError(explain(self.model, arrays))
        return np.asarray(result, dtype=np.float64)

    def _status(self, kernel: Kernel, inputs: Sequence[Array], is_batch: bool) -> tuple[Any, int]:
        if is_batch:
            return kernel.batch_status(*inputs)
        return kernel.single_status(*(np.ascontiguousarray(x) for x in inputs))

    def _compute(self, name: str, make: Callable[[], quantities.Quantity], **given: Any) -> Array:
        call = self._calls.get(name)
        if call is None:
            call = self._calls[name] = self._call(self._kernels.get(name, make), tuple(given))
        result: Array = call(*given.values())  # a tuple of arrays where there are several results
        return result

    def _call(self, kernel: Kernel, names: Sequence[str]) -> Callable[..., Any]:
        """The shortest way to a kernel; arguments that are not plain float64 arrays are looked at one by one."""

        def general(*values: Any) -> Any:
            return self._run(kernel, self._arguments(dict(zip(names, values, strict=True))))

        return kernel.python_call(general, self._boundary)

    def _run(self, kernel: Kernel, arrays: Mapping[str, Array]) -> Any:
        inputs, is_batch = common_batch(arrays)
        result, status = self._status(kernel, inputs, is_batch)
        if self.checked and status:
            raise InputError(explain(self.model, arrays))
        return result

    def _run_loop(self, name: str, external: bool, arrays: Mapping[str, Array]) -> Array:
        inputs, is_batch = common_batch(arrays)
        if self.checked:
            self._check_state(arrays)
        if not LoopKernel.available():
            result = self._loop_in_python(name, inputs)
        else:
            kernel = self._kernels.loop(name, external)
            result = kernel.batch(*inputs) if is_batch else kernel.single(*map(np.ascontiguousarray, inputs))
        if self.checked and not np.isfinite(result).all():
            raise InputError(explain(self.model, arrays))
        return result

    def _check_state(self, arrays: Mapping[str, Array]) -> None:
        if not all(np.isfinite(x).all() for x in arrays.values()):
            raise InputError(explain(self.model, arrays))
        if self.model.has_manifold_coordinates:
            for q in np.atleast_2d(arrays["q"]):
                if self.model.position_problems(q):
                    raise InputError(explain(self.model, arrays))

    def _loop_in_python(self, name: str, inputs: Sequence[Array]) -> Array:
        """The algorithm itself, on numbers or on columns of states, where nothing can be compiled."""
        q, v, u = ([*x.T] if x.ndim == 2 else x.tolist() for x in inputs[:3])
        tree = self.model.uniform_tree
        wrenches = quantities.body_wrenches(tree, [*inputs[3].T]) if len(inputs) > 3 else None
        algorithm: Callable[..., Any] = aba.forward_dynamics if name == "forward" else rnea.inverse_dynamics
        return np.array(algorithm(tree, q, v, u, wrenches)).T


def _restore(model: Model, options: dict[str, Any]) -> Dynamics:
    return Dynamics(model, **options)
