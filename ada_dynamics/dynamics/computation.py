# SPDX-License-Identifier: Apache-2.0
"""Evaluation of quantities: check the arguments, find the kernel, handle its status; methods that run compiled code."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MethodType
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closure import initial_configuration
from ada_dynamics.dynamics.arguments import (
    Algorithm,
    KernelKind,
    LoopSolver,
    as_array,
    common_batch,
    refusal,
    refuse_algorithm,
    refuse_options,
    refuse_unusable,
)
from ada_dynamics.dynamics.derivative_quantities import DERIVATIVES
from ada_dynamics.dynamics.kernel_store import run
from ada_dynamics.dynamics.kernels import Kernels, is_long
from ada_dynamics.dynamics.loop_warnings import warn_if_off_loops
from ada_dynamics.dynamics.quantities import TABLE, Quantity, of_tree
from ada_dynamics.errors import CompileError, InputError, WrongTypeError, unknown_name
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.fallback import announce, reason_for_fallback
from ada_dynamics.jit.native import KernelAddresses
from ada_dynamics.jit.python_call import make_builtin
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree

# Computes the result if a kernel rejects a state, or some state of a batch.
Rescue = Callable[[Sequence[Array], bool], Any]

P = ParamSpec("P")
R = TypeVar("R")
Owner = TypeVar("Owner", bound="Computation | QueryGroup")
_lock = threading.RLock()


# Names of vector arguments: q has nq numbers, the others nv.
VECTORS = ("q", "v", "tau", "a", "w", "d_q", "d_v", "d_tau", "d_a")
ROWS = {**TABLE, **DERIVATIVES}


class Derivatives(NamedTuple):
    """Partial derivatives of a result by q (a velocity: on the manifold), by v, and by the third argument."""

    dq: Array
    dv: Array
    du: Array


def compiled_method(function: Callable[Concatenate[Owner, P], R]) -> Callable[Concatenate[Owner, P], R]:
    """Decorate a method whose calls run a kernel without Python.

    Its arguments are vectors of VECTORS, and at most one more with a default. Its results are those of its row of a
    table, several of them as `Derivatives`; without a row it has one result of length nv. The attribute of an object is
    a builtin function. It runs the kernel that is connected to the name of the method; it calls the method itself if
    no kernel is connected, or if the arguments require Python.
    """
    return cast("Callable[Concatenate[Owner, P], R]", CompiledMethod(function))


class CompiledMethod:
    """Descriptor that creates the builtin function of an object, and stores it in the dictionary of the object."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__doc__ = function.__doc__
        self.function = function

    def __get__(self, instance: Computation | QueryGroup | None, owner: type | None = None) -> Callable[..., Any]:
        if instance is None:
            return self.function
        name = self.function.__name__
        with _lock:  # concurrent threads get the same builtin
            call: Callable[..., Any] | None = instance.__dict__.get(name)
            if call is None:
                call = instance.__dict__[name] = self._call(instance, MethodType(self.function, instance))
        return call

    def _call(self, instance: Computation | QueryGroup, method: Callable[..., Any]) -> Callable[..., Any]:
        name = self.function.__name__
        owner = cast("Computation", getattr(instance, "_dynamics", instance))  # of a group, or the dynamics
        takes_python = name in ("bias", "gravity") and owner._kernels.generic
        if takes_python or reason_for_fallback() is not None:
            return method
        every = inspect.signature(method).parameters.values()
        parameters = [one.name for one in every if one.kind is not one.KEYWORD_ONLY]
        model = owner.model
        inputs = tuple((one, model.nq if one == "q" else model.nv) for one in parameters if one in VECTORS)
        row = ROWS.get(name.lstrip("_"))
        outputs = {"a": (model.nv,)} if row is None else row.shapes_of(model.tree)
        signature = Signature(name, inputs, tuple(outputs.items()))
        entry = KernelAddresses(Target.host().lanes, takes_few=True)
        try:
            call = make_builtin(signature, entry, method, parameters, Derivatives if len(outputs) > 1 else None)
        except CompileError as error:
            announce(str(error))
            return method
        owner._entries[name] = entry
        return call


class Computation:
    """A model with its kernels, which evaluates the quantities of `Dynamics` and its groups of queries."""

    def __init__(
        self,
        model: Model,
        algorithm: Algorithm = "auto",
        *,
        kernel: KernelKind = "auto",
        solver: LoopSolver = "auto",
        q0: ArrayLike | None = None,
        order: str | None = None,
        hybrid: Sequence[str] | str = "auto",
        device: str = "cpu",
    ) -> None:
        """Select algorithm and kernels.

        Args:
            model: the mechanism.
            algorithm: of forward dynamics: aba, ada and dca (assembly of articulated bodies), crba (composite inertias
                and elimination), hybrid (symbolic pieces, assembled), lagrange (symbolic equations), lanes (articulated
                bodies, equal limbs side by side), order_n (Rosenthal and Kane), or auto: the one with the fewest
                instructions.
            kernel: specialised (code for this robot), generic (one loop kernel for all robots), or auto: generic beyond
                60 velocities in a row, or 120 in all.
            solver: of the loop constraints: "robust" eliminates in an order whose pivots vanish in singular
                configurations only, "rank-revealing" decomposes the constraint Jacobian by singular values in every
                state (slow, to check results), and auto takes the fastest elimination that the state allows.
            q0: configuration near one that closes the loops, in the assembly mode to be used; near the neutral
                configuration by default.
            order: of assembly, for ada and dca: "chain", "balanced" (of depth O(log n)) or "few_handles", the default.
            hybrid: joints at which the algorithm hybrid cuts the mechanism into symbolic pieces, or auto: where it
                takes the fewest instructions.
            device: where batches are computed: "cpu", "cuda" or "cuda:1" (a graphics processor, see
                `gpu.batch_dynamics.DeviceDynamics`), or "host" (its kernels on the processor at hand, to try them out).
        """
        refuse_options(model, algorithm, kernel, solver, order, hybrid)
        large = not model.has_mimics and not model.loops and is_long(model)
        generic = kernel == "generic" or (kernel == "auto" and large)
        refuse_algorithm(model, algorithm, generic)
        if not model.loops:  # which may hold what nothing else resists
            refuse_unusable(model)
        cuts = order if hybrid == "auto" else tuple(hybrid)  # one of the two is given at most
        self.model = model
        self._options: dict[str, Any] = {
            "algorithm": algorithm,
            "kernel": kernel,
            "solver": solver,
            "q0": q0,
            "order": order,
            "hybrid": hybrid,
            "device": device,
        }
        start = None if q0 is None else initial_configuration(model, q0)
        self._kernels = Kernels(model, algorithm, generic, start, cuts, solver)
        self._ambient: Ambient | None = None
        self._entries: dict[str, KernelAddresses] = {}  # of `compiled_method`s, by name
        self._seen: set[str] = set()  # methods whose first state has been checked for constraint violation
        self._calls: dict[str, Callable[..., Any]] = {}

    @property
    def _tree(self) -> Tree:
        return self.model.tree

    def _require_link(self, link: Any, several: bool = False) -> None:
        """Raise an error unless the argument is the name of a link or frame, or perhaps a list of several."""
        names = link if several and isinstance(link, (list, tuple)) else [link]
        if not names:
            raise InputError("no link is named; give the name of a link, or a list of names.", field="link", value=link)
        for name in names:
            if not isinstance(name, str):
                raise WrongTypeError(
                    f"link is {name!r:.80}; it must be the name of a link, and comes before the positions: "
                    f"jacobian({list(self._tree.frames)[-1]!r}, q).",
                    field="link",
                    value=name,
                    allowed=str,
                )
            if name not in self._tree.frames:
                raise unknown_name("link", name, self._tree.frames)

    def _arguments(self, given: Mapping[str, Any]) -> dict[str, Array]:
        model = self.model
        return {
            name: value if name == "wrenches" else as_array(name, value, model.nq if name == "q" else model.nv, model)
            for name, value in given.items()
        }

    def _evaluate(self, name: str, *values: ArrayLike) -> Array:
        """A quantity of the table, by the name of its method."""
        row = name.lstrip("_")
        given = dict(zip(TABLE[row].inputs, values, strict=True))
        return self._compute(name, lambda: of_tree(self._tree, row), **given)

    def _of_link(self, name: str, key: str, link: str | Sequence[str], *more: str) -> Callable[..., Any]:
        """Function that computes a quantity of a link, stored by its key."""
        self._require_link(link, several=name == "jacobian")
        return self._quantity_call(key, lambda: of_tree(self._tree, name, link, *more), TABLE[name].inputs)

    def _compute(self, name: str, make: Callable[[], Quantity], **given: Any) -> Array:
        call = self._calls.get(name) or self._quantity_call(name, make, given)
        result: Array = call(*given.values())  # a tuple of arrays where there are several results
        return result

    def _quantity_call(
        self, name: str, make: Callable[[], Quantity], arguments: Iterable[str], rescue: Rescue | None = None
    ) -> Callable[..., Any]:
        """Function that computes a quantity, stored by its name; `rescue` computes states that its kernel rejects."""
        kernel, names = self._kernels.get(name, make), tuple(arguments)
        if name in self._entries:
            kernel.connect(self._entries[name])

        def general(*values: Any) -> Any:  # for arguments other than plain arrays
            return self._run(kernel, self._arguments(dict(zip(names, values, strict=True))), rescue)

        call = self._calls[name] = kernel.python_call(general, names)
        return call

    def _on_numbers(self, name: str, compute: Rescue, names: Sequence[str]) -> Callable[..., Any]:
        """Function that computes a quantity without a kernel, stored by its name."""

        def call(*values: ArrayLike) -> Any:
            arrays = self._arguments(dict(zip(names, values, strict=True)))
            self._check_state(arrays)
            return compute(*common_batch(arrays))

        self._calls[name] = call
        return call

    def _run(self, kernel: Kernel, arrays: Mapping[str, Array], rescue: Rescue | None = None) -> Any:
        inputs, is_batch = common_batch(arrays)
        result, status = run(kernel, *inputs)
        if status and rescue is not None:
            self._check_state(arrays)
            return rescue(inputs, is_batch)
        if status:
            raise refusal(self.model, arrays)
        return result

    def _look_once(self, name: str, q: Array, v: Array) -> None:
        """Warn if states of the first call of a method violate the constraints; see `constraints.state`."""
        if name not in self._seen and self._kernels.closed is not None:
            self._seen.add(name)
            warn_if_off_loops(self._kernels.closed.analysis.constraints, q, v)

    def _check_state(self, arrays: Mapping[str, Array]) -> None:
        positions = self._kernels.positions
        if not all(np.isfinite(x).all() for x in arrays.values()) or (
            positions is not None and positions.batch_status(np.atleast_2d(arrays["q"]))[1]
        ):
            raise refusal(self.model, arrays)


class Ambient:
    """Conversion of gradients and changes between q and velocities, for automatic differentiation frameworks.

    q̇ = N(q) v. A gradient by velocities is Nᵀ times one by q; the gradient of least norm, N (NᵀN)⁻¹ g, does not change
    the length of quaternions. A change dq corresponds to the velocity (NᵀN)⁻¹ Nᵀ dq.
    """

    def __init__(self, kernels: Kernels) -> None:
        """Args: kernels of the model."""
        self._kernels, model = kernels, kernels.model
        kinds = [joint.type for name, joint in model.joints.items() if name in model.joint_names]
        self.is_plain = all(kind.has_rates_of_coordinates() for kind in kinds)  # v is the rate of q

    def gradient(self, q: Array, by_velocity: Array) -> Array:
        """Gradient by q from the gradient by velocities."""
        if self.is_plain:
            return by_velocity
        N = self._map(q)
        return np.asarray((N @ np.linalg.solve(N.swapaxes(-1, -2) @ N, by_velocity[..., None]))[..., 0])

    def velocity(self, q: Array, d_q: Array) -> Array:
        """Velocity that corresponds to a change of q."""
        if self.is_plain:
            return d_q
        N = self._map(q)
        T = N.swapaxes(-1, -2)
        return np.asarray(np.linalg.solve(T @ N, T @ d_q[..., None])[..., 0])

    def velocity_gradient(self, q: Array, by_position: Array) -> Array:
        """Gradient by velocities from the gradient by q: Nᵀ g."""
        if self.is_plain:
            return by_position
        return np.asarray((self._map(q).swapaxes(-1, -2) @ by_position[..., None])[..., 0])

    def _map(self, q: Array) -> Array:
        kernel = self._kernels.get("position map", lambda: of_tree(self._kernels.tree, "position_map"))
        return np.asarray((kernel.single if q.ndim == 1 else kernel.batch)(np.ascontiguousarray(q)))


class QueryGroup:
    """A group of queries of one `Dynamics`, which evaluates their quantities."""

    def __init__(self, dynamics: Computation) -> None:
        """Args: the dynamics."""
        self._dynamics, self._calls = dynamics, dynamics._calls


def kernels_of(dynamics: Computation) -> Kernels:
    """The kernels of a model, for other packages of the library."""
    return dynamics._kernels


def ambient_of(dynamics: Computation) -> Ambient:
    """Conversion between velocities and changes of q, created once."""
    if dynamics._ambient is None:
        dynamics._ambient = Ambient(dynamics._kernels)
    return dynamics._ambient


def options_of(dynamics: Computation) -> dict[str, object]:
    """The arguments that a `Dynamics` was created with."""
    return dict(dynamics._options)


def require_link(dynamics: Computation, link: str) -> None:
    """Raise an error unless the argument is the name of a link or frame."""
    dynamics._require_link(link)
