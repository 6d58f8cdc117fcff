# SPDX-License-Identifier: Apache-2.0
"""`Dynamics(model, device="cuda")`: batches of states on a GPU, one state per thread.

The code is tested on the CPU (`device="host"`) and by an interpreter of PTX. It has never been run on a GPU.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import TREE, Coordinates
from ada_dynamics.dynamics import closed_derivatives, closed_quantities, quantities
from ada_dynamics.dynamics.arguments import Algorithm, flat_wrenches
from ada_dynamics.dynamics.closed import ALL, FAST, LATE
from ada_dynamics.dynamics.closed_derivatives import SPARSE
from ada_dynamics.dynamics.computation import Derivatives
from ada_dynamics.dynamics.derivative_quantities import of_equations, open_equations
from ada_dynamics.dynamics.front import Dynamics
from ada_dynamics.dynamics.joint_wrenches import JointWrenches, everything_unique
from ada_dynamics.dynamics.kernel_store import tree_fingerprint
from ada_dynamics.dynamics.kernels import Kernels
from ada_dynamics.dynamics.quantities import Quantity, reshape, substitute
from ada_dynamics.errors import InputError, invalid
from ada_dynamics.expr import Expr, Function, Traced, trace
from ada_dynamics.expr.evaluation import evaluate_nodes, expand
from ada_dynamics.gpu.arrays import ArrayView, Device, DeviceArray, array_view, on_device, stream_number
from ada_dynamics.gpu.cuda_driver import Gpu, HostDevice
from ada_dynamics.gpu.kernels import StagedBatches, ThreadKernel, launch, put_rows, rows_of
from ada_dynamics.jit import Signature
from ada_dynamics.model.model import Model
from ada_dynamics.spatial.vector import Scalar

HOST = "host"
CHECKED_STATES = 64  # states of the first batch that are checked for constraint violations
# Pivot threshold in single precision, relative to a typical pivot: at 1e-2 four of seven digits are left.
SINGLE_THRESHOLD = 1e-2


# --- quantities -------------------------------------------------------------------------------------------------------
def wrenches_of_efforts(forward: Quantity, wrenches: Quantity) -> Quantity:
    """Joint wrenches from q, v and τ in one kernel: forward dynamics, then wrenches.

    Args:
        forward: accelerations, and Lagrange multipliers of a mechanism with loops.
        wrenches: wrenches of all joints from q, v, a and the multipliers.
    """
    inputs, shapes = forward.inputs, wrenches.shapes

    def body(**arguments: Sequence[Scalar]) -> Traced:
        solved, guards = applied(forward.trace(), arguments)
        state = {**arguments, **solved}
        carried = substitute(expand(wrenches.trace()), {name: state[name] for name in wrenches.inputs})
        return Traced({name: reshape(carried[name], shape) for name, shape in shapes.items()}, guards)

    name = f"{wrenches.name}_of_{forward.name}"
    return Quantity(name, inputs, shapes, lambda: trace(name, inputs, body, tuple(shapes)), body)


def applied(
    function: Function, arguments: Mapping[str, Sequence[Scalar]]
) -> tuple[dict[str, list[Scalar]], list[Scalar]]:
    """Results and guards of a traced function with the nodes of another graph as arguments."""
    plain = expand(function)
    values = evaluate_nodes(plain.nodes(), arguments)
    results = {
        name: [values[x.index] if isinstance(x, Expr) else x for x in elements]
        for name, elements in plain.outputs.items()
    }
    return results, [values[guard.index] for guard in plain.guards]


class DeviceQuantities:
    """Functions of the GPU kernels of a model."""

    def __init__(self, model: Model, kernels: Kernels, algorithm: str) -> None:
        """Args: the model, its CPU kernels, and the algorithm option of `Dynamics`."""
        self.model, self.kernels, self.algorithm = model, kernels, algorithm
        self._shared: dict[tuple[bool, bool, int], Quantity | None] = {}

    def fast(self, name: str, external: bool, bits: int) -> Quantity:
        """Quantity with the cheapest elimination order; `external` adds the argument of wrenches on links."""
        if name == "joint_wrenches" and self._is_redundant:
            if bits != 64:
                where = f"joint wrenches of model {self.model.name!r}, whose loop constraints are redundant: "
                raise invalid("dtype", "float32", "float64", where)
            return _MAKE[name](self, external, bits, ALL)  # minimum-norm multipliers
        return _MAKE[name](self, external, bits, "")

    def robust(self, name: str, external: bool, bits: int) -> Quantity | None:
        """Quantity in double precision with the robust elimination order; None if `fast` is the same function."""
        closed = self.kernels.closed
        if closed is None or (name == "joint_wrenches" and self._is_redundant):
            return None
        order = closed.robust(SPARSE if name == "forward_derivatives" else self.kernels.candidate)
        # derivatives need independent constraints, and inverse dynamics has only one order for these
        if (name, order == ALL) in (("forward_derivatives", True), ("inverse", False)):
            order = None
        if order is None and bits == 64:
            return None
        return _MAKE[name](self, external, 64, order or LATE)

    @property
    def _is_redundant(self) -> bool:
        return self.kernels.closed is not None and self.kernels.closed.analysis.is_redundant

    def shared_inverse(self, external: bool, bits: int, by_all: bool) -> Quantity | None:
        """Inverse dynamics of a mechanism with loops; None if only the rank-revealing solver can compute it."""
        key = external, by_all, bits
        if key not in self._shared:
            closed = self.kernels.closed
            assert closed is not None
            smallest = closed_quantities.SMALLEST_SHARE if bits == 64 else SINGLE_THRESHOLD
            found = closed_quantities.shared_inverse(closed.analysis, closed.plans, external, by_all, smallest)
            self._shared[key] = found
        return self._shared[key]

    def _forward(self, external: bool, bits: int, order: str, multipliers: bool = False) -> Quantity:
        closed, kernels = self.kernels.closed, self.kernels
        if closed is None:
            return self._open_forward(external)
        if order or bits == 64 or kernels.candidate in closed_quantities.ASSEMBLIES:
            return closed.quantity(order or kernels.candidate, external, multipliers)
        solver = closed_quantities.elimination(closed.tree, closed.plans, kernels.candidate, SINGLE_THRESHOLD)
        return closed_quantities.forward(closed.tree, closed.plans, solver, external, multipliers)

    def _open_forward(self, external: bool) -> Quantity:
        tree, kernels = self.kernels.tree, self.kernels
        if self.algorithm != "auto":
            return quantities.forward(tree, kernels.algorithm, external, kernels.order)

        def traced() -> Function:
            # algorithm "lanes" is aba with SIMD lanes, which GPU threads lack
            algorithm = "aba" if kernels.algorithm == "lanes" else kernels.algorithm
            return quantities.forward(tree, algorithm, external).trace()

        # the cheapest algorithm is only determined if the code is not in the cache
        any_algorithm = quantities.forward(tree, "crba", external)
        return replace(any_algorithm, name=any_algorithm.name.replace("crba", "auto"), trace=traced)

    def _derivatives(self, external: bool, bits: int, order: str) -> Quantity:
        closed = self.kernels.closed
        if closed is None:
            return of_equations(open_equations(self.kernels.tree), "forward_derivatives")
        return of_equations(closed_derivatives.equations(closed, order or SPARSE), "forward_derivatives")

    def _inverse(self, external: bool, bits: int, order: str) -> Quantity:
        if self.kernels.closed is None:
            return quantities.of_tree(self.kernels.tree, "inverse", external=external)
        found = self.shared_inverse(external, bits, order == ALL)
        assert found is not None  # checked by DeviceDynamics.inverse
        return found

    def _wrenches(self, external: bool, bits: int, order: str) -> Quantity:
        closed = self.kernels.closed
        forward = self._forward(external, bits, order, multipliers=True)
        tree = self.model.full_tree if closed is None else closed.analysis.constraints.full_tree
        links = [self.model.joints[body.name].child for body in tree.bodies]
        rows = {} if closed is None else closed.plans.rows
        return wrenches_of_efforts(forward, closed_quantities.joint_wrenches(tree, links, rows, external))


# Arguments: with external wrenches, precision, elimination order ("" for the fast one).
_MAKE: dict[str, Callable[[DeviceQuantities, bool, int, str], Quantity]] = {
    "forward": DeviceQuantities._forward,
    "inverse": DeviceQuantities._inverse,
    "forward_derivatives": DeviceQuantities._derivatives,
    "joint_wrenches": DeviceQuantities._wrenches,
}


# --- dynamics ---------------------------------------------------------------------------------------------------------
@cache
def device_of(device: str) -> Device:
    """Device by name: "cuda", "cuda:1", or "host" to run the same kernels on the CPU.

    Raises:
        NoDeviceError: no driver is installed, or no device has that number.
        DriverTooOldError: the driver is older than CUDA 11.2.
        InputError: the name is unknown.
    """
    if device == HOST:
        return HostDevice()
    named = re.fullmatch(r"cuda(?::(\d+))?", str(device))
    if named is None:
        raise invalid("device", device, "'cpu', 'cuda', 'cuda:N', or 'host' (GPU kernels on the CPU)")
    return Gpu(int(named[1] or 0))


@cache
def _staging(device: str) -> StagedBatches:
    """Staging memory of a device, shared by all models."""
    return StagedBatches(device_of(device))


class DeviceDynamics(Dynamics):
    """Dynamics whose batches are computed on a device, in double precision, or in single if all arrays are float32.

    Device arrays of torch, CuPy, JAX or numba are used without a copy, with any strides; their results are
    `DeviceArray`s. Arrays of columns, such as `x.T.contiguous().T`, are read at full memory bandwidth. Host arrays are
    copied to the device and back in chunks. Single states, and methods other than those below for numpy arrays, run on
    the CPU.

    States that the kernel rejects are recomputed on the device by the robust kernel in double precision. States that
    this rejects too (singular configurations, non-finite values) are recomputed on the CPU with the warnings and errors
    of `Dynamics`; for this the call blocks until the results are ready.
    """

    def __init__(self, model: Any, algorithm: Algorithm = "auto", *, device: str = "cuda", **options: Any) -> None:
        super().__init__(model, algorithm, device=device, **options)
        if self._kernels.generic or self._kernels.large:
            where = f"model {model.name!r} with {model.nv} velocities is too large for specialised kernels: "
            raise invalid("device", device, "'cpu', which has generic kernels", where)
        self.device = device_of(device)
        self._staging = _staging(device)
        self._thread_kernels: dict[tuple[str, int], ThreadKernel] = {}
        self._quantities = DeviceQuantities(self.model, self._kernels, str(self._options["algorithm"]))
        self._others: dict[str, Callable[[], Quantity]] = {}  # quantities computed of device arrays, by name

    def _runs_compiled(self, name: str) -> bool:
        """Return False: every call first checks for batches and device arrays."""
        return False

    # --- quantities ---------------------------------------------------------------------------------------------
    def forward(
        self,
        q: Any,
        v: Any,
        tau: Any,
        external: Mapping[str, ArrayLike] | None = None,
        *,
        out: Any = None,
        stream: Any = None,
    ) -> Any:
        """Joint accelerations; see `Dynamics.forward`.

        Args:
            q: configurations, on the device or the host.
            v: velocities.
            tau: joint torques.
            external: wrenches on links, on the host.
            out: device array for the result.
            stream: stream of torch, CuPy or numba; by default the default stream.
        """
        on_cpu = partial(Dynamics.forward, self)
        return self._batch("forward", {"q": q, "v": v, "tau": tau}, on_cpu, external, out, stream)

    def inverse(
        self,
        q: Any,
        v: Any,
        a: Any,
        external: Mapping[str, ArrayLike] | None = None,
        *,
        out: Any = None,
        stream: Any = None,
    ) -> Any:
        """Joint torques; see `Dynamics.inverse`. Underactuated mechanisms with loops are computed on the CPU."""
        on_cpu = partial(Dynamics.inverse, self)
        if self._kernels.closed is not None and self._quantities.shared_inverse(bool(external), 64, False) is None:
            what = f"inverse dynamics of model {self.model.name!r}, which has fewer motors than degrees of freedom,"
            self._refuse_on_device(what, (q, v, a))
            return on_cpu(q, v, a, external=external)
        return self._batch("inverse", {"q": q, "v": v, "a": a}, on_cpu, external, out, stream)

    def forward_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any,
        coordinates: Coordinates = TREE,
        *,
        external: Mapping[str, ArrayLike] | None = None,
        out: Any = None,
        stream: Any = None,
    ) -> Derivatives:
        """∂a/∂q, ∂a/∂v, ∂a/∂τ; see `Dynamics.forward_derivatives`."""
        on_cpu = partial(Dynamics.forward_derivatives, self)
        if coordinates != TREE or external or not self._is_written_out:
            what = "forward_derivatives with coordinates, with external wrenches, or of a long chain"
            self._refuse_on_device(what, (q, v, tau))
            return on_cpu(q, v, tau, coordinates, external=external)
        found = self._batch("forward_derivatives", {"q": q, "v": v, "tau": tau}, on_cpu, None, out, stream)
        return Derivatives._make(found)

    def joint_wrenches(
        self, q: Any, v: Any, tau: Any, external: Mapping[str, ArrayLike] | None = None, *, stream: Any = None
    ) -> Any:
        """Wrenches at all joints; see `Dynamics.joint_wrenches`.

        For device arrays the result is a device array (N, joints, 6), tree joints first, then loop joints. Models with
        redundant constraints need double precision.
        """
        closed = self._kernels.closed
        on_cpu = partial(Dynamics.joint_wrenches, self)
        if closed is not None and closed.plans.is_dense_only:
            self._refuse_on_device(f"joint wrenches of model {self.model.name!r}", (q, v, tau))
            return on_cpu(q, v, tau, external)
        values = {"q": q, "v": v, "tau": tau}
        if any(map(on_device, values.values())):

            def rows(q: Array, v: Array, tau: Array, **more: Any) -> Array:
                return _stacked(on_cpu(q, v, tau, **more))

            return self._batch("joint_wrenches", values, rows, external, None, stream)
        arrays = self._arguments(values)
        if external or not _is_batch(arrays):
            return on_cpu(q, v, tau, external)
        kernel = self.thread_kernel("joint_wrenches")
        results, rejected = self._staging.run(kernel, list(arrays.values()), robust=False)
        if len(rejected):  # the result has one solver for all states
            return on_cpu(q, v, tau)
        wrenches = np.asarray(results[0], dtype=np.float64)
        flags = everything_unique(self.model) if closed is None else closed.unique
        length = 1.0 if closed is None else closed.analysis.constraints.length
        return JointWrenches(self.model, wrenches, flags, FAST, length)

    def _compute(self, name: str, make: Callable[[], Quantity], **arguments: Any) -> Any:
        """Compute any other quantity that is one kernel, on the device for device arrays, else on the CPU."""
        if not any(map(on_device, arguments.values())):
            return super()._compute(name, make, **arguments)
        own = super()._compute

        def on_cpu(*values: Array) -> Any:
            return own(name, make, **dict(zip(arguments, values, strict=True)))

        self._others.setdefault(name, make)
        return self._on_device(name, arguments, on_cpu, {}, None, None)

    # --- kernels ------------------------------------------------------------------------------------------------
    def thread_kernel(self, name: str, external: bool = False, bits: int = 64) -> ThreadKernel:
        """Kernel of a quantity, for measurements and inspection of its code."""
        tag = f"{name}{'_external' if external else ''}"
        if (tag, bits) not in self._thread_kernels:
            if name in self._others:
                quantity, after = self._others[name](), None
            else:
                quantity = self._quantities.fast(name, external, bits)
                after = self._quantities.robust(name, external, bits)
            robust = None if after is None else self._kernel_of(after, over=bits)
            self._thread_kernels[tag, bits] = self._kernel_of(quantity, bits, robust=robust)
        return self._thread_kernels[tag, bits]

    def _kernel_of(self, quantity: Quantity, bits: int = 64, **more: Any) -> ThreadKernel:
        signature = Signature(quantity.name, tuple(quantity.inputs.items()), tuple(quantity.shapes.items()))
        key = f"{self._kernels.fingerprint()}|{tree_fingerprint(self.model.full_tree)}|{quantity.name}"
        return ThreadKernel(signature, quantity.trace, key, self.device, bits, **more)

    # --- batches ------------------------------------------------------------------------------------------------
    def _batch(
        self,
        name: str,
        values: dict[str, Any],
        on_cpu: Callable[..., Any],
        external: Mapping[str, ArrayLike] | None,
        out: Any,
        stream: Any,
    ) -> Any:
        closed = self._kernels.closed
        if closed is not None and name != "inverse":
            closed.refuse_locked()
        more = {"external": external} if external else {}
        if any(map(on_device, values.values())):
            if external:
                values = {**values, "wrenches": flat_wrenches(self.model, self._tree, external)}
            if closed is not None and closed.plans.is_dense_only:
                self._refuse_on_device(f"{name} of model {self.model.name!r}", values.values())
            return self._on_device(name, values, on_cpu, more, out, stream)
        if out is not None or stream is not None:
            message = "out and stream require device arrays; all arguments are host arrays"
            raise InputError(message, field="stream" if out is None else "out")
        arrays = self._arguments(values)
        if external:
            arrays["wrenches"] = flat_wrenches(self.model, self._tree, external)
        if not _is_batch(arrays) or (closed is not None and closed.plans.is_dense_only):
            return on_cpu(*values.values(), **more)  # raises for batches of different lengths
        return self._on_host_arrays(name, values, arrays, on_cpu, more)

    def _on_host_arrays(
        self,
        name: str,
        values: Mapping[str, Any],
        arrays: Mapping[str, Array],
        on_cpu: Callable[..., Any],
        more: Mapping[str, Any],
    ) -> Any:
        single = all(isinstance(x, np.ndarray) and x.dtype == np.float32 for x in values.values())
        kernel = self.thread_kernel(name, "wrenches" in arrays, 32 if single else 64)
        if self._is_first_batch(name):
            few = range(min(CHECKED_STATES, next(len(x) for x in arrays.values() if x.ndim == 2)))
            self._look_once(name, _rows(arrays["q"], few), _rows(arrays["v"], few))
        results, rejected = self._staging.run(kernel, list(arrays.values()))
        if len(rejected):
            self._check_state(arrays)
            again = on_cpu(
                *(_rows(x, rejected) for x in list(arrays.values())[:3]), **_wrenches_of_rows(more, rejected)
            )
            for result, part in zip(results, again if isinstance(again, tuple) else (again,), strict=True):
                result[rejected] = part
        return results[0] if len(results) == 1 else tuple(results)

    def _on_device(
        self,
        name: str,
        values: Mapping[str, Any],
        on_cpu: Callable[..., Any],
        more: Mapping[str, Any],
        out: Any,
        stream: Any,
    ) -> Any:
        number = stream_number(stream)
        arrays = {key: self._array_or_view(key, x, number) for key, x in values.items()}
        own = [x for x in arrays.values() if isinstance(x, ArrayView)]
        dtypes = {x.dtype for x in own}
        if len(dtypes) > 1:
            names = ", ".join(key for key, x in arrays.items() if isinstance(x, ArrayView))
            raise invalid(names, tuple(sorted(map(str, dtypes))), "one for all", "dtype of ")
        bits = 8 * dtypes.pop().itemsize
        kernel = self.thread_kernel(name, "wrenches" in arrays, bits)
        places = None if out is None else self._places(kernel, out, arrays, number)
        results, rejected = launch(kernel, arrays, places, number)
        if "v" in arrays and self._is_first_batch(name):
            few = range(min(CHECKED_STATES, rejected.count))
            self._look_once(name, *(self._states(arrays[key], few, number) for key in ("q", "v")))
        rows = rejected.rows()
        if len(rows):
            again = self._again(arrays, rows, lambda *x: on_cpu(*x, **_wrenches_of_rows(more, rows)), number)
            own_places: Sequence[ArrayView | DeviceArray] = results if places is None else places
            for place, part in zip(own_places, again, strict=False):
                put_rows(self.device, place, rows, part, number)
        if out is not None:
            return out
        return results[0] if len(results) == 1 else tuple(results)

    def _is_first_batch(self, name: str) -> bool:
        """Return True for the first batch of a mechanism with loops, whose states may violate the constraints."""
        return self._kernels.closed is not None and name not in self._seen

    def _again(
        self, arrays: Mapping[str, ArrayView | Array], rows: Any, on_cpu: Callable[..., Any], stream: int
    ) -> tuple[Array, ...]:
        """Recompute rejected states on the CPU."""
        parts = {name: self._states(x, rows, stream) for name, x in arrays.items() if name != "wrenches"}
        try:
            self._check_state(parts)
        except InputError as problem:
            raise InputError(
                f"{problem} (state numbers refer to the rejected states {_few(rows)})",
                joint=problem.joint,
                field=problem.field,
                value=problem.value,
                allowed=problem.allowed,
            ) from None
        again = on_cpu(*parts.values())
        return again if isinstance(again, tuple) else (again,)

    def _states(self, x: ArrayView | Array, rows: Any, stream: int) -> Array:
        """Copy some states of an argument to the host."""
        if not isinstance(x, ArrayView):
            return _rows(x, rows)
        wanted = [0] * len(rows) if x.states is None else rows
        return rows_of(self.device, x, wanted, stream).astype(np.float64)

    def _array_or_view(self, name: str, value: Any, stream: int) -> ArrayView | Array:
        size = {"q": self.model.nq, "wrenches": 6 * len(self._tree.bodies)}.get(name, self.model.nv)
        if not on_device(value):
            return value if name == "wrenches" else self._arguments({name: value})[name]
        found = array_view(name, value, self.device, stream)
        if len(found.shape) not in (1, 2) or found.shape[-1] != size:
            raise invalid(name, found.shape, f"({size},), or (N, {size}) for a batch of N states", "shape of ")
        return found

    def _places(
        self, kernel: ThreadKernel, out: Any, arrays: Mapping[str, ArrayView | Array], stream: int
    ) -> list[ArrayView]:
        outputs = kernel.signature.outputs
        outs = [out] if len(outputs) == 1 and not isinstance(out, (tuple, list)) else list(out)
        if len(outs) != len(outputs):
            message = f"out must have {len(outputs)} arrays, not {len(outs)}"
            raise InputError(message, field="out", value=len(outs), allowed=len(outputs))
        states = next((x.shape[0] for x in arrays.values() if len(x.shape) == 2), 1)
        places = [
            array_view(f"out ({name})", x, self.device, stream) for (name, _), x in zip(outputs, outs, strict=True)
        ]
        for (_, shape), place in zip(outputs, places, strict=True):
            if place.shape != (states, *shape) or place.dtype != kernel.dtype:
                text = f"{place.name} is {place.dtype}{list(place.shape)}; it must be {kernel.dtype}{[states, *shape]}"
                raise InputError(text, field=place.name, value=place.shape, allowed=(states, *shape))
            for name, array in arrays.items():
                if isinstance(array, ArrayView) and max(array.span[0], place.span[0]) < min(
                    array.span[1], place.span[1]
                ):
                    message = f"{place.name} overlaps {name}, which is needed to recompute rejected states"
                    raise InputError(message, field=place.name, value=name)
        return places

    def _refuse_on_device(self, what: str, values: Any) -> None:
        if any(map(on_device, values)):
            message = f"{what} is not available for device arrays; pass numpy arrays to compute on the CPU"
            raise InputError(message, field="device", value=what, allowed="numpy arrays")


def _is_batch(arrays: Mapping[str, Array]) -> bool:
    """Return True if there is a batch, and all batches have the same nonzero length."""
    lengths = {len(x) for x in arrays.values() if x.ndim == 2}
    return len(lengths) == 1 and 0 not in lengths


def _rows(x: Array, rows: Any) -> Array:
    return np.ascontiguousarray(
        x[list(rows)] if x.ndim == 2 else np.broadcast_to(x, (len(rows), len(x))), dtype=np.float64
    )


def _wrenches_of_rows(more: Mapping[str, Any], rows: Any) -> dict[str, Any]:
    """Keyword arguments with the external wrenches of some states of a batch."""
    return {
        key: {link: np.asarray(w)[rows] if np.ndim(w) == 2 else w for link, w in wrenches.items()}
        for key, wrenches in more.items()
    }


def _stacked(found: JointWrenches) -> Array:
    return np.stack([found[name] for name in found], axis=-2)


def _few(rows: Any) -> str:
    shown = ", ".join(map(str, rows[:5]))
    return shown + (", ..." if len(rows) > 5 else "")
