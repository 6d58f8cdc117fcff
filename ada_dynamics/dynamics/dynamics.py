# SPDX-License-Identifier: Apache-2.0
"""`Dynamics(model)`: dynamics, kinematics, derivatives and loop constraints of a model, for states and batches."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms import aba, rnea
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import UniqueComponents, joints_with_wrenches
from ada_dynamics.constraints.coordinates import TREE, Coordinates
from ada_dynamics.dynamics.arguments import common_batch, flat_wrenches, refusal
from ada_dynamics.dynamics.closed import FAST, ClosedDynamics
from ada_dynamics.dynamics.computation import Computation, compiled_method
from ada_dynamics.dynamics.derivatives import ForwardInverseDerivatives, ParameterQueries
from ada_dynamics.dynamics.kernel_store import run
from ada_dynamics.dynamics.loop_warnings import warn_if_off_loops
from ada_dynamics.dynamics.quantities import FRAMES, MASS_MATRIX_METHODS, Frame, body_wrenches, of_tree
from ada_dynamics.errors import NameDict, check_name
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.generic import GenericKernel
from ada_dynamics.model.model import Model


class Energy(NamedTuple):
    """Mechanical energy [J]; arrays for a batch."""

    kinetic: Any
    potential: Any


class JointWrenches(NameDict[Array]):
    """Wrenches by joint, [fx, fy, fz, nx, ny, nz] on its child; (N, 6) for a batch.

    The wrench of a tree joint is about the origin of its child link, in the axes of that link; that of a loop joint is
    in its child-side frame. For redundant constraints the wrenches are those of minimum norm, with moments divided by
    `moment_length`.

    Attributes:
        unique: by joint, which of the six components are uniquely determined by the motion; the others depend on the
            stiffness and the tolerances of the parts.
        tier: how the accelerations were found: "fast", "robust" or "rank-revealing" (the slowest one of a batch).
        moment_length: [m].
    """

    def __init__(self, model: Model, stacked: Array, unique: UniqueComponents, tier: str, moment_length: float) -> None:
        """Args are those of `Dynamics.joint_wrenches`, without checks."""
        super().__init__("joint", ((name, stacked[..., i, :]) for i, name in enumerate(joints_with_wrenches(model))))
        self.unique: UniqueComponents = NameDict("joint", unique)
        self.tier = tier
        self.moment_length = moment_length

    def __repr__(self) -> str:
        shape = next(iter(self.values())).shape
        states = f" in {shape[0]} states" if len(shape) == 2 else ""
        unique = sum(bool(flags.all()) for flags in self.unique.values())
        return f"<JointWrenches of {len(self)} joints{states}: {unique} of them unique, tier {self.tier!r}>"


class Dynamics(ForwardInverseDerivatives):
    """Dynamics of a model.

    Vectors are one state, (nq,) or (nv,), or a batch of N states, (N, nq) or (N, nv); a single vector among batches
    counts for all states. Batches may have either order of memory; the result has that of the arguments.

    The first call of a method compiles its kernel or fetches it from the cache on disk. Later ones take a fraction of a
    microsecond in addition to the computation, with arguments in order or by name, as arrays of float64, float32 or
    int64 with any strides, or as lists, which take longest; external wrenches cost some microseconds more.
    """

    if not TYPE_CHECKING:  # to readers of types, and of signatures, the arguments are those of __init__

        def __new__(cls, *arguments: Any, device: str = "cpu", **options: Any) -> Dynamics:
            """Create a `DeviceDynamics` if `device` is not the CPU."""
            if cls is Dynamics and device != "cpu":
                from ada_dynamics.gpu.batch_dynamics import DeviceDynamics

                return object.__new__(DeviceDynamics)
            return object.__new__(cls)

        __new__.__signature__ = inspect.signature(Computation.__init__)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by the model and the options; compiled code is in the cache."""
        return partial(Dynamics, **self._options), (self.model,)

    def __repr__(self) -> str:
        return f"<Dynamics of {self.model!r}>"

    @property
    def algorithm(self) -> str:
        """The algorithm of forward dynamics in use."""
        return self._kernels.algorithm

    @cached_property
    def parameters(self) -> ParameterQueries:
        """Inertial and joint parameters, and derivatives by parameters."""
        return ParameterQueries(self)

    # --- dynamics -----------------------------------------------------------------------------------------------
    @compiled_method
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
        return self._forward_or_inverse("forward", {"q": q, "v": v, "tau": tau}, external)

    @compiled_method
    def inverse(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: Mapping[str, ArrayLike] | None = None
    ) -> Array:
        """Joint efforts that give the accelerations a, damping, friction and springs included; see `forward`.

        With loops, the least efforts of the joints that have motors (`model.actuated`); the loops do the rest. An
        actuated floating base takes the rest.
        """
        return self._forward_or_inverse("inverse", {"q": q, "v": v, "a": a}, external)

    @compiled_method
    def mass_matrix(self, q: ArrayLike, method: str = "crba") -> Array:
        """Joint-space mass matrix with armature, (nv, nv); that of the tree, without its loops.

        Args:
            q: positions.
            method: crba (composite rigid bodies), unit_vector (one inverse dynamics per column) or jacobian (from the
                definition): the same result at rising cost.
        """
        check_name("method", method, MASS_MATRIX_METHODS)
        return self._evaluate("mass_matrix" if method == "crba" else f"mass_matrix_{method}", q)

    @compiled_method
    def inverse_mass_matrix(self, q: ArrayLike) -> Array:
        """Inverse of `mass_matrix`, (nv, nv); that of the tree, without its loops."""
        return self._evaluate("inverse_mass_matrix", q)

    @compiled_method
    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """C(q, v) of the tree, (nv, nv): C v are Coriolis and centrifugal efforts, and Ṁ - 2 C is skew-symmetric."""
        return self._evaluate("coriolis_matrix", q, v)

    @compiled_method
    def bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Efforts at zero acceleration: velocity terms, weight, losses and springs; of the tree, without its loops."""
        if self._kernels.generic:
            return self.inverse(q, v, np.zeros(self.model.nv))
        return self._evaluate("bias", q, v)

    @compiled_method
    def gravity(self, q: ArrayLike) -> Array:
        """Efforts that hold the tree at rest, against weight and springs: `bias` at v = 0.

        With loops, `inverse` of zeros shares them among the motors.
        """
        if self._kernels.generic:
            return self.inverse(q, np.zeros(self.model.nv), np.zeros(self.model.nv))
        return self._evaluate("gravity", q)

    def joint_wrenches(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: Mapping[str, ArrayLike] | None = None
    ) -> JointWrenches:
        """Wrench at every joint, tree joint or loop joint, for the accelerations of `forward`.

        Arguments as in `forward`; see `JointWrenches` for axes and for redundant loops.
        """
        arrays = self._arguments({"q": q, "v": v, "tau": tau})
        self._check_state(arrays)
        self._look_once("joint_wrenches", *common_batch(arrays)[0][:2])
        model, kernels, closed = self.model, self._kernels, self._kernels.closed
        acting: dict[str, Array] = {}
        if external:  # on the bodies, for the accelerations, and on the single links, for the wrenches between them
            trees = {"bodies": model.tree, "links": model.full_tree}
            acting = {name: flat_wrenches(model, tree, external) for name, tree in trees.items()}
        inputs, is_batch = common_batch({**arrays, **acting})
        inputs = inputs if is_batch else [np.ascontiguousarray(x) for x in inputs]
        q, v, tau = inputs[:3]
        if closed is None:
            a, tier, length = self.forward(q, v, tau, external), FAST, 1.0
            flags = {body.name: np.ones(6, dtype=bool) for body in model.full_tree.bodies}
            kernel = kernels.joint_wrenches(model.full_tree, {}, bool(external))
            given = [q, v, a, *inputs[4:]]
        else:
            (a, multipliers, tier, _), flags = closed.solve_by_least_norm(kernels.candidate, *inputs[:4])
            length = closed.analysis.constraints.length
            kernel = kernels.joint_wrenches(closed.analysis.constraints.full_tree, closed.plans.rows, bool(external))
            given = [q, v, a, *inputs[4:], *([multipliers] if closed.plans.nontrivial else [])]
        stacked, status = run(kernel, *map(np.ascontiguousarray, given))
        if status:
            raise refusal(model, arrays)
        return JointWrenches(model, stacked, flags, tier, length)

    def project_to_constraints(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """The state on the constraint manifold that is nearest to (q, v) by kinetic energy.

        Warnings report loops that do not close, and singular configurations, in which not every velocity in the null
        space of the constraint Jacobian belongs to a motion.
        """
        arrays = self._arguments({"q": q, "v": v})
        self._check_state(arrays)
        closed = self._kernels.closed
        (positions, speeds), _ = common_batch(arrays)
        given = np.ascontiguousarray(positions), np.ascontiguousarray(speeds)
        if closed is None:
            return given
        found = closed.project_to_constraints(*given)
        warn_if_off_loops(closed.analysis.constraints, *found)
        closed.warn_if_singular(*found)
        return found

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
        return self._compute(f"acceleration {link}", lambda: of_tree(self._tree, "acceleration", link), q=q, v=v, a=a)

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
            check_name("frame", frame, FRAMES)
            call = self._of_link("jacobian", name, link, frame)
        J: Array = call(q)
        return J if coordinates == TREE else J @ _with_link_axis(self.constraints.tangent_map(q, coordinates), link)

    def jacobian_rate(
        self,
        link: str | Sequence[str],
        q: ArrayLike,
        v: ArrayLike,
        frame: Frame = "local_world_aligned",
        coordinates: Coordinates = TREE,
    ) -> Array:
        """Time derivative of `jacobian` along v."""
        self._require_link(link, several=True)
        check_name("frame", frame, FRAMES)
        make = lambda: of_tree(self._tree, "jacobian_rate", link, frame)  # noqa: E731
        rate = self._compute(f"jacobian_rate {frame} {link}", make, q=q, v=v)
        if coordinates == TREE:
            return rate
        T, T_rate = (_with_link_axis(x, link) for x in self.constraints.tangent_map_rate(q, v, coordinates))
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

    # --- evaluation ---------------------------------------------------------------------------------------------
    def _forward_or_inverse(
        self, name: str, given: dict[str, Any], external: Mapping[str, ArrayLike] | None = None
    ) -> Array:
        """Forward or inverse dynamics of a state, which may have the wrenches on all bodies as one vector."""
        kernels = self._kernels
        if external:
            tree = self.model.uniform_tree if kernels.generic else self._tree
            given["wrenches"] = flat_wrenches(self.model, tree, external)
        arrays = self._arguments(given)
        if kernels.generic:
            return self._run_generic(name, arrays)
        if kernels.closed is not None:
            return (self._closed_forward if name == "forward" else self._closed_inverse)(kernels.closed, arrays)
        kernel = (kernels.forward if name == "forward" else kernels.inverse)("wrenches" in arrays)
        self._connect(name, kernel, arrays)
        result: Array = self._run(kernel, arrays)
        return result

    def _connect(self, name: str, kernel: Kernel, arrays: Mapping[str, Array]) -> None:
        """Let later calls of `forward` or `inverse` run this kernel without Python."""
        if "wrenches" not in arrays and name in self._entries:
            kernel.connect(self._entries[name])

    def _closed_forward(self, closed: ClosedDynamics, arrays: Mapping[str, Array]) -> Array:
        """Forward dynamics with loops, by the first solver that stops at no small pivot."""
        inputs, is_batch = common_batch(arrays)
        closed.refuse_locked()
        self._look_once("forward", *inputs[:2])
        if not closed.plans.is_dense_only:
            kernel = self._kernels.forward("wrenches" in arrays)
            self._connect("forward", kernel, arrays)
            result, status = run(kernel, *inputs)
            if not status:
                return np.asarray(result, dtype=np.float64)
        self._check_state(arrays)
        given = inputs if is_batch else [np.ascontiguousarray(x) for x in inputs]
        found = closed.solve(self._kernels.candidate, *given).acceleration
        if not np.isfinite(found).all():
            raise refusal(self.model, arrays)
        return found

    def _closed_inverse(self, closed: ClosedDynamics, arrays: Mapping[str, Array]) -> Array:
        """Inverse dynamics with loops: by its kernel, or by singular values for states that it rejects."""
        inputs, is_batch = common_batch(arrays)
        self._look_once("inverse", *inputs[:2])
        external = "wrenches" in arrays

        def by_singular_values(inputs: Sequence[Array]) -> Array:
            q, v, a, *_ = inputs
            wanted = self._run(self._kernels.inverse(external), dict(zip(arrays, inputs, strict=True)))
            return closed.efforts(q, v, wanted, a)

        made = closed.inverse_quantity(external)
        if made is None:
            return by_singular_values(inputs)
        kernel = closed.kernels.get(f"closed inverse {external}", lambda: made)
        self._connect("inverse", kernel, arrays)
        result, status = run(kernel, *inputs)
        if not status:
            return np.asarray(result, dtype=np.float64)
        self._check_state(arrays)
        if not is_batch:
            return by_singular_values(inputs)
        tau, refused = closed.inverse_rows(inputs)
        if len(refused):
            tau[refused] = by_singular_values([x[refused] for x in inputs])
        return tau

    def _run_generic(self, name: str, arrays: Mapping[str, Array]) -> Array:
        inputs, is_batch = common_batch(arrays)
        external = "wrenches" in arrays
        self._check_state(arrays)
        if not GenericKernel.available():
            result = self._generic_in_python(name, inputs)
        else:
            kernel = self._kernels.generic_kernel(name, external)
            if not external and name in self._entries:
                kernel.connect(self._entries[name], self._kernels.positions)
            result = kernel.batch(*inputs) if is_batch else kernel.single(*map(np.ascontiguousarray, inputs))
        if not np.isfinite(result).all():
            raise refusal(self.model, arrays)
        return result

    def _generic_in_python(self, name: str, inputs: Sequence[Array]) -> Array:
        """Run the algorithm on floats or on columns of states, where nothing can be compiled."""
        q, v, u = ([*x.T] if x.ndim == 2 else x.tolist() for x in inputs[:3])
        tree = self.model.uniform_tree
        wrenches = body_wrenches(tree, [*inputs[3].T]) if len(inputs) > 3 else None
        algorithm: Callable[..., Any] = aba.forward_dynamics if name == "forward" else rnea.inverse_dynamics
        return np.array(algorithm(tree, q, v, u, wrenches)).T


def forward_on_bodies(dynamics: Dynamics, q: Array, v: Array, tau: Array, wrenches: Array | None) -> Array:
    """`forward` with the wrenches on all bodies as one vector."""
    given = {"q": q, "v": v, "tau": tau} | ({} if wrenches is None else {"wrenches": wrenches})
    return dynamics._forward_or_inverse("forward", given)


def kernel_of(dynamics: Dynamics, name: str) -> Kernel | GenericKernel:
    """The kernel of "forward" or "inverse", for measurements and for calls from other compiled code."""
    check_name("kernel", name, ("forward", "inverse"))
    kernels = dynamics._kernels
    if kernels.generic:
        return kernels.generic_kernel(name, False)
    return (kernels.forward if name == "forward" else kernels.inverse)(False)


def _with_link_axis(T: Array, links: str | Sequence[str]) -> Array:
    """Add an axis to matrices, (m, n) or (N, m, n), for products with the Jacobians of several links."""
    return T if isinstance(links, str) else T[..., None, :, :]


def stacked_poses(dynamics: Dynamics, q: ArrayLike) -> Array:
    """`forward_kinematics` as one array, (..., frames, 4, 4)."""
    return dynamics._forward_kinematics(q)
