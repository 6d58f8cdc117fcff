# SPDX-License-Identifier: Apache-2.0
"""`Dynamics(model, device="cuda")`: forward and inverse dynamics of batches on a GPU, one state per thread.

The code is tested on the CPU (`device="host"`) and by an interpreter of PTX. It has never been run on a GPU.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import closed_quantities, quantities
from ada_dynamics.dynamics.arguments import Algorithm, flat_wrenches
from ada_dynamics.dynamics.closed import ALL, LATE
from ada_dynamics.dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.kernel_store import tree_fingerprint
from ada_dynamics.dynamics.kernels import Kernels
from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.errors import InputError, invalid
from ada_dynamics.expr import Function
from ada_dynamics.gpu.arrays import ArrayView, Device, array_view, on_device
from ada_dynamics.gpu.cuda_driver import Gpu, HostDevice
from ada_dynamics.gpu.kernels import ThreadKernel, compute, launch, put_rows
from ada_dynamics.jit import Signature
from ada_dynamics.model.model import Model

HOST = "host"
CHECKED_STATES = 64  # states of the first batch that are checked for constraint violations
# Pivot threshold in single precision, relative to a typical pivot: at 1e-2 four of seven digits are left.
SINGLE_THRESHOLD = 1e-2


# --- quantities -------------------------------------------------------------------------------------------------------
class DeviceQuantities:
    """Functions of the GPU kernels of a model."""

    def __init__(self, model: Model, kernels: Kernels, algorithm: str) -> None:
        """Args: the model, its CPU kernels, and the algorithm option of `Dynamics`."""
        self.model, self.kernels, self.algorithm = model, kernels, algorithm
        self._shared: dict[tuple[bool, bool, int], Quantity | None] = {}

    def fast(self, name: str, external: bool, bits: int) -> Quantity:
        """Forward or inverse dynamics with the cheapest elimination order; `external` adds wrenches on links."""
        return (self._forward if name == "forward" else self._inverse)(external, bits, "")

    def robust(self, name: str, external: bool, bits: int) -> Quantity | None:
        """Quantity in double precision with the robust elimination order; None if `fast` is the same function."""
        closed = self.kernels.closed
        if closed is None:
            return None
        order = closed.robust(self.kernels.candidate)
        if name == "inverse" and order != ALL:  # there is only one order for independent constraints
            order = None
        if order is None and bits == 64:
            return None
        return (self._forward if name == "forward" else self._inverse)(external, 64, order or LATE)

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

    def _forward(self, external: bool, bits: int, order: str) -> Quantity:
        closed, kernels = self.kernels.closed, self.kernels
        if closed is None:
            return self._open_forward(external)
        if order or bits == 64 or kernels.candidate in closed_quantities.ASSEMBLIES:
            return closed.quantity(order or kernels.candidate, external, multipliers=False)
        solver = closed_quantities.elimination(closed.tree, closed.plans, kernels.candidate, SINGLE_THRESHOLD)
        return closed_quantities.forward(closed.tree, closed.plans, solver, external)

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

    def _inverse(self, external: bool, bits: int, order: str) -> Quantity:
        if self.kernels.closed is None:
            return quantities.of_tree(self.kernels.tree, "inverse", external=external)
        found = self.shared_inverse(external, bits, order == ALL)
        assert found is not None  # checked by DeviceDynamics.inverse
        return found


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


class DeviceDynamics(Dynamics):
    """Dynamics that computes batches of `forward` and `inverse` on a device.

    Arrays are in double precision, or in single precision if all of them are float32. Device arrays of torch, CuPy, JAX
    or numba are used without a copy, with any strides; their results are `DeviceArray`s. Arrays of columns, such as
    `x.T.contiguous().T`, are read at full memory bandwidth. Host arrays are copied to the device and back in chunks.
    Single states and all other methods are computed on the CPU, from numpy arrays.

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
        self._thread_kernels: dict[tuple[str, int], ThreadKernel] = {}
        self._quantities = DeviceQuantities(self.model, self._kernels, str(self._options["algorithm"]))

    # --- quantities ---------------------------------------------------------------------------------------------
    def forward(self, q: Any, v: Any, tau: Any, external: Mapping[str, ArrayLike] | None = None) -> Any:
        """Joint accelerations, from arrays on the device or the host; see `Dynamics.forward`.

        The external wrenches on links are on the host.
        """
        return self._batch("forward", {"q": q, "v": v, "tau": tau}, partial(Dynamics.forward, self), external)

    def inverse(self, q: Any, v: Any, a: Any, external: Mapping[str, ArrayLike] | None = None) -> Any:
        """Joint torques; see `Dynamics.inverse`. Underactuated mechanisms with loops are computed on the CPU."""
        on_cpu = partial(Dynamics.inverse, self)
        if self._kernels.closed is not None and self._quantities.shared_inverse(bool(external), 64, False) is None:
            return on_cpu(q, v, a, external=external)
        return self._batch("inverse", {"q": q, "v": v, "a": a}, on_cpu, external)

    # --- kernels ------------------------------------------------------------------------------------------------
    def thread_kernel(self, name: str, external: bool = False, bits: int = 64) -> ThreadKernel:
        """Kernel of "forward" or "inverse", for measurements and inspection of its code."""
        tag = f"{name}{'_external' if external else ''}"
        if (tag, bits) not in self._thread_kernels:
            after = self._quantities.robust(name, external, bits)
            robust = None if after is None else self._kernel_of(after, over=bits)
            quantity = self._quantities.fast(name, external, bits)
            self._thread_kernels[tag, bits] = self._kernel_of(quantity, bits, robust=robust)
        return self._thread_kernels[tag, bits]

    def _kernel_of(self, quantity: Quantity, bits: int = 64, **more: Any) -> ThreadKernel:
        signature = Signature(quantity.name, tuple(quantity.inputs.items()), tuple(quantity.shapes.items()))
        key = f"{self._kernels.fingerprint}|{tree_fingerprint(self.model.full_tree)}|{quantity.name}"
        return ThreadKernel(signature, quantity.trace, key, self.device, bits, **more)

    # --- batches ------------------------------------------------------------------------------------------------
    def _arguments(self, given: Mapping[str, Any]) -> dict[str, Array]:
        """Arguments of a computation on the CPU."""
        for name, value in given.items():
            if on_device(value):
                text = f"{name} is a device array, but this is computed on the CPU; pass numpy arrays"
                raise InputError(text, field="device", value=name, allowed="numpy arrays")
        return super()._arguments(given)

    def _batch(
        self,
        name: str,
        values: dict[str, Any],
        on_cpu: Callable[..., Array],
        external: Mapping[str, ArrayLike] | None,
    ) -> Any:
        closed = self._kernels.closed
        if closed is not None and name == "forward":
            closed.refuse_locked()
        is_on_device = any(map(on_device, values.values()))
        arrays: dict[str, Any] = {key: self._array_or_view(key, x) for key, x in values.items()}
        if external:
            arrays["wrenches"] = flat_wrenches(self.model, self._tree, external)
        is_dense_only = closed is not None and closed.plans.is_dense_only
        lengths = {len(x) for x in arrays.values() if isinstance(x, np.ndarray) and x.ndim == 2}
        is_batch = is_on_device or (len(lengths) == 1 and 0 not in lengths)
        if is_dense_only or not is_batch:
            return on_cpu(*values.values(), external=external)  # raises for batches of different lengths
        if is_on_device:
            dtypes = {x.dtype for x in arrays.values() if isinstance(x, ArrayView)}
            if len(dtypes) > 1:
                raise invalid(", ".join(values), tuple(sorted(map(str, dtypes))), "one for all", "dtype of ")
        else:
            dtypes = {x.dtype if isinstance(x, np.ndarray) else np.dtype(float) for x in values.values()}
        kernel = self.thread_kernel(name, bool(external), 32 if dtypes == {np.dtype(np.float32)} else 64)
        if closed is not None and name not in self._seen:
            states = [x.shape[0] for x in arrays.values() if len(x.shape) == 2] or [1]
            few = range(min(CHECKED_STATES, *states))
            self._look_once(name, *(_rows(self._on_host(arrays[key]), few) for key in ("q", "v")))
        result: Any
        if is_on_device:
            (result,), refused = launch(kernel, arrays)
            rejected = refused.rows()
        else:
            (result,), rejected = compute(kernel, list(arrays.values()))
        if len(rejected):
            here = {key: self._on_host(x) for key, x in arrays.items()}
            self._check_state(here)
            own = {link: np.asarray(w)[rejected] if np.ndim(w) == 2 else w for link, w in (external or {}).items()}
            found = on_cpu(*(_rows(here[key], rejected) for key in values), external=own or None)
            if is_on_device:
                put_rows(self.device, result, rejected, found)
            else:
                result[rejected] = found
        return result

    def _on_host(self, x: ArrayView | Array) -> Array:
        return np.asarray(x.numpy(self.device) if isinstance(x, ArrayView) else x, dtype=np.float64)

    def _array_or_view(self, name: str, value: Any) -> ArrayView | Array:
        if not on_device(value):
            return super()._arguments({name: value})[name]
        size = self.model.nq if name == "q" else self.model.nv
        found = array_view(name, value, self.device)
        if len(found.shape) not in (1, 2) or found.shape[-1] != size:
            raise invalid(name, found.shape, f"({size},), or (N, {size}) for a batch of N states", "shape of ")
        return found


def _rows(x: Array, rows: Any) -> Array:
    return np.ascontiguousarray(
        x[list(rows)] if x.ndim == 2 else np.broadcast_to(x, (len(rows), len(x))), dtype=np.float64
    )
