# SPDX-License-Identifier: Apache-2.0
"""`Dynamics(model, device="cuda")`: batches on a graphics processor, one state in each thread."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.arguments import flat_wrenches
from ada_dynamics.dynamics.computation import Algorithm
from ada_dynamics.dynamics.derivatives import Derivatives
from ada_dynamics.dynamics.device_quantities import DeviceQuantities
from ada_dynamics.dynamics.front import Dynamics
from ada_dynamics.dynamics.joint_wrenches import JointWrenches, everything_unique
from ada_dynamics.dynamics.kernels import tree_fingerprint
from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.dynamics.tiers import FAST
from ada_dynamics.errors import InputError
from ada_dynamics.jit import Signature
from ada_dynamics.jit.device_array import DeviceArray, Given, given, on_device, stream_number
from ada_dynamics.jit.thread_batch import Pieces, launch, put_rows, rows_of
from ada_dynamics.jit.thread_kernel import ThreadKernel
from ada_dynamics.jit.threads import HostThreads, Machine
from ada_dynamics.loops.choices import TREE, By

HOST = "host"
LOOKED_AT = 64  # states of a first batch that are checked for open loops


@cache
def machine_of(device: str) -> Machine:
    """The machine of a name: "cuda", "cuda:1", or "host" for the same kernels on the processor at hand.

    Raises:
        NoDeviceError: there is no driver, or no device of that number.
        DriverTooOldError: the driver is too old.
        InputError: no device is named so.
    """
    if device == HOST:
        return HostThreads()
    named = re.fullmatch(r"cuda(?::(\d+))?", str(device))
    if named is None:
        message = f"device is {device!r}; it must be 'cpu', 'cuda', 'cuda:N', or 'host' to try kernels out."
        raise InputError(message, field="device", value=device, allowed=("cpu", "cuda", "cuda:N", HOST))
    from ada_dynamics.jit.gpu import Gpu  # here: most programs have none

    return Gpu(int(named[1] or 0))


@cache
def _pieces(device: str) -> Pieces:
    """Of all models: their blocks of memory are kept."""
    return Pieces(machine_of(device))


class DeviceDynamics(Dynamics):
    """Dynamics whose batches are computed on a device, in double or, for arrays of float32 alone, in single precision.

    Arrays on the device, of torch, CuPy, JAX or numba, are taken as they lie, whatever their strides; results stay
    there (`DeviceArray`). Columns, as of `x.T.contiguous().T`, are read at the memory's full speed. Arrays of this
    process are copied there and back, piece by piece; a single state, and every question of numpy arrays beside those
    below, is answered here.

    States that a kernel refuses are computed by the robust one, on the device, too, and in double precision. What that
    refuses - singular poses, not finite - is gathered and computed here by the tiers of `Dynamics`, with its warnings
    and errors: so results are waited for. With checked=False nothing on the device is waited for, and results of such
    states are NaN.
    """

    def __init__(self, model: Any, algorithm: Algorithm = "auto", *, device: str = "cuda", **options: Any) -> None:
        super().__init__(model, algorithm, device=device, **options)
        if self.kernels.generic or self.kernels.large:
            raise InputError(
                f"model {model.name!r} has {model.nv} velocities and no code of its own, which devices need. Leave "
                "device out; long chains run on the loop kernels of the processor at hand.",
                field="device",
                value=device,
                allowed=("cpu",),
            )
        self.machine = machine_of(device)
        self._pieces = _pieces(device)
        self._thread_kernels: dict[tuple[str, int], ThreadKernel] = {}
        self._quantities = DeviceQuantities(self.model, self.kernels, str(self._options["algorithm"]))
        self._others: dict[str, Callable[[], Quantity]] = {}  # quantities that arrays on the device asked for

    def runs_compiled(self, name: str) -> bool:
        """Calls are looked at first: a batch goes to the device."""
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
            q: positions, on the device or here.
            v: velocities.
            tau: joint efforts.
            external: wrenches on links, of this process.
            out: an array of the device for the result.
            stream: in which to work, of torch, CuPy or numba; the default one where it is not given.
        """
        here = partial(Dynamics.forward, self)
        return self._batch("forward", {"q": q, "v": v, "tau": tau}, here, external, out, stream)

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
        """Joint efforts; see `Dynamics.inverse`. Where a floating base takes what motors leave, they are found here."""
        here = partial(Dynamics.inverse, self)
        if self.kernels.closed is not None and self._quantities.shared_inverse(bool(external), 64, False) is None:
            what = f"inverse dynamics of model {self.model.name!r}, whose motors do not drive all that its loops allow,"
            self._refuse_on_device(what, (q, v, a))
            return here(q, v, a, external=external)
        return self._batch("inverse", {"q": q, "v": v, "a": a}, here, external, out, stream)

    def forward_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any,
        by: By = TREE,
        *,
        external: Mapping[str, ArrayLike] | None = None,
        out: Any = None,
        stream: Any = None,
    ) -> Derivatives:
        """∂a/∂q, ∂a/∂v, ∂a/∂τ; see `Dynamics.forward_derivatives`."""
        here = partial(Dynamics.forward_derivatives, self)
        if by != TREE or external or not self._is_written_out:
            self._refuse_on_device("derivatives along loops, with external wrenches or of long chains,", (q, v, tau))
            return here(q, v, tau, by, external=external)
        found = self._batch("forward_derivatives", {"q": q, "v": v, "tau": tau}, here, None, out, stream)
        return Derivatives._make(found)

    def joint_wrenches(
        self, q: Any, v: Any, tau: Any, external: Mapping[str, ArrayLike] | None = None, *, stream: Any = None
    ) -> Any:
        """Wrenches at all joints; see `Dynamics.joint_wrenches`.

        For arrays on the device: (N, joints, 6) there, tree joints first, then loop joints. Those of redundant loops
        need double precision.
        """
        closed = self.kernels.closed
        here = partial(Dynamics.joint_wrenches, self)
        if closed is not None and closed.plans.is_dense_only:
            self._refuse_on_device(f"joint wrenches of model {self.model.name!r}", (q, v, tau))
            return here(q, v, tau, external)
        values = {"q": q, "v": v, "tau": tau}
        if any(map(on_device, values.values())):

            def rows(q: Array, v: Array, tau: Array, **more: Any) -> Array:
                return _stacked(here(q, v, tau, **more))

            found = self._batch("joint_wrenches", values, rows, external, None, stream)
            return found[0] if isinstance(found, tuple) else found
        arrays = self._arguments(values)
        if external or not _is_batch(arrays):
            return here(q, v, tau, external)
        kernel = self.thread_kernel("joint_wrenches")
        results, refused = self._pieces.run(kernel, list(arrays.values()), robust=False)
        if len(refused):  # the result tells by which tier all were found
            return here(q, v, tau)
        wrenches, *multipliers = (np.asarray(x, dtype=np.float64) for x in results)
        states = np.broadcast_to(arrays["q"], (len(wrenches), self.model.nq))
        by_loop = {} if closed is None else closed.wrenches.by_loop(*multipliers)
        flags = everything_unique(self.model) if closed is None else closed.wrenches.unique
        length = 1.0 if closed is None else closed.study.numbers.length
        return JointWrenches(self.model, states, wrenches, by_loop, flags, FAST, length)

    def _compute(self, name: str, make: Callable[[], Quantity], **given: Any) -> Any:
        """Every other quantity that is one kernel: of arrays on the device there, of others here."""
        if not any(map(on_device, given.values())):
            return super()._compute(name, make, **given)
        own = super()._compute

        def here(*values: Array) -> Any:
            return own(name, make, **dict(zip(given, values, strict=True)))

        self._others.setdefault(name, make)
        return self._on_device(name, given, here, {}, None, None)

    # --- kernels ------------------------------------------------------------------------------------------------
    def thread_kernel(self, name: str, external: bool = False, bits: int = 64) -> ThreadKernel:
        """The kernel of a quantity, to measure it or to look at its code."""
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
        key = f"{self.kernels.fingerprint()}|{tree_fingerprint(self.model.full_tree)}|{quantity.name}"
        return ThreadKernel(signature, quantity.trace, key, self.machine, bits, **more)

    # --- the way of a batch -------------------------------------------------------------------------------------
    def _batch(
        self,
        name: str,
        values: dict[str, Any],
        here: Callable[..., Any],
        external: Mapping[str, ArrayLike] | None,
        out: Any,
        stream: Any,
    ) -> Any:
        closed = self.kernels.closed
        if closed is not None and name != "inverse":
            closed.refuse_locked()
        more = {"external": external} if external else {}
        if any(map(on_device, values.values())):
            if external:
                values = {**values, "wrenches": flat_wrenches(self.model, self._tree, external)}
            if closed is not None and closed.plans.is_dense_only:
                self._refuse_on_device(f"{name} of model {self.model.name!r}", values.values())
            return self._on_device(name, values, here, more, out, stream)
        if out is not None or stream is not None:
            message = "out and stream are for arrays on the device; these arrays are in this process."
            raise InputError(message, field="stream" if out is None else "out")
        arrays = self._arguments(values)
        if external:
            arrays["wrenches"] = flat_wrenches(self.model, self._tree, external)
        if not _is_batch(arrays) or (closed is not None and closed.plans.is_dense_only):
            return here(*values.values(), **more)  # which explains batches of several lengths
        return self._through_pieces(name, values, arrays, here, more)

    def _through_pieces(
        self,
        name: str,
        values: Mapping[str, Any],
        arrays: Mapping[str, Array],
        here: Callable[..., Any],
        more: Mapping[str, Any],
    ) -> Any:
        single = all(isinstance(x, np.ndarray) and x.dtype == np.float32 for x in values.values())
        kernel = self.thread_kernel(name, "wrenches" in arrays, 32 if single else 64)
        if self._is_to_be_looked_at(name):
            few = range(min(LOOKED_AT, next(len(x) for x in arrays.values() if x.ndim == 2)))
            self._look_once(name, _rows(arrays["q"], few), _rows(arrays["v"], few))
        results, refused = self._pieces.run(kernel, list(arrays.values()))
        if len(refused):
            if self.checked:
                self._check_state(arrays)
            again = here(*(_rows(x, refused) for x in list(arrays.values())[:3]), **_rows_of_wrenches(more, refused))
            for result, part in zip(results, again if isinstance(again, tuple) else (again,), strict=True):
                result[refused] = part
        return results[0] if len(results) == 1 else tuple(results)

    def _on_device(
        self,
        name: str,
        values: Mapping[str, Any],
        here: Callable[..., Any],
        more: Mapping[str, Any],
        out: Any,
        stream: Any,
    ) -> Any:
        number = stream_number(stream)
        arrays = {key: self._given(key, x, number) for key, x in values.items()}
        own = [x for x in arrays.values() if isinstance(x, Given)]
        dtypes = {x.dtype for x in own}
        if len(dtypes) > 1:
            raise InputError(
                "some arrays on the device are float64 and some float32; pass all of one kind: single precision is for "
                "arrays that are all float32.",
                field=", ".join(key for key, x in arrays.items() if isinstance(x, Given)),
                value=tuple(sorted(map(str, dtypes))),
            )
        bits = 8 * dtypes.pop().itemsize
        kernel = self.thread_kernel(name, "wrenches" in arrays, bits)
        places = None if out is None else self._places(kernel, out, arrays, number)
        results, refused = launch(kernel, arrays, places, number)
        if self.checked and "v" in arrays and self._is_to_be_looked_at(name):
            few = range(min(LOOKED_AT, refused.count))
            self._look_once(name, *(self._states(arrays[key], few, number) for key in ("q", "v")))
        if not self.checked:
            refused.redo()
        else:
            rows = refused.rows()
            if len(rows):
                again = self._again(arrays, rows, lambda *x: here(*x, **_rows_of_wrenches(more, rows)), number)
                own_places: Sequence[Given | DeviceArray] = results if places is None else places
                for place, part in zip(own_places, again, strict=False):
                    put_rows(self.machine, place, rows, part, number)
        if out is not None:
            return out
        return results[0] if len(results) == 1 else tuple(results)

    def _is_to_be_looked_at(self, name: str) -> bool:
        """True at the first batch of a mechanism with loops: some of its states may be off them (see `loop_state`)."""
        return self.kernels.closed is not None and name not in self._seen

    def _again(
        self, arrays: Mapping[str, Given | Array], rows: Any, here: Callable[..., Any], stream: int
    ) -> tuple[Array, ...]:
        """Results of states that the kernel refused, computed here."""
        parts = {name: self._states(x, rows, stream) for name, x in arrays.items() if name != "wrenches"}
        try:
            self._check_state(parts)
        except InputError as problem:
            raise InputError(
                f"{problem} (States are counted among those refused: {_few(rows)}.)",
                joint=problem.joint,
                field=problem.field,
                value=problem.value,
                allowed=problem.allowed,
            ) from None
        again = here(*parts.values())
        return again if isinstance(again, tuple) else (again,)

    def _states(self, x: Given | Array, rows: Any, stream: int) -> Array:
        """Some states of an argument, here."""
        if not isinstance(x, Given):
            return _rows(x, rows)
        wanted = [0] * len(rows) if x.states is None else rows
        return rows_of(self.machine, x, wanted, stream).astype(np.float64)

    def _given(self, name: str, value: Any, stream: int) -> Given | Array:
        size = {"q": self.model.nq, "wrenches": 6 * len(self._tree.bodies)}.get(name, self.model.nv)
        if not on_device(value):
            return value if name == "wrenches" else self._arguments({name: value})[name]
        found = given(name, value, self.machine, stream)
        if len(found.shape) not in (1, 2) or found.shape[-1] != size:
            raise InputError(
                f"{name} has shape {found.shape}; model {self.model.name!r} needs ({size},), or (N, {size}) for a "
                "batch of N states.",
                field=name,
                value=found.shape,
                allowed=((size,), ("N", size)),
            )
        return found

    def _places(self, kernel: ThreadKernel, out: Any, arrays: Mapping[str, Given | Array], stream: int) -> list[Given]:
        outputs = kernel.signature.outputs
        outs = [out] if len(outputs) == 1 and not isinstance(out, (tuple, list)) else list(out)
        if len(outs) != len(outputs):
            message = f"out must hold {len(outputs)} arrays, not {len(outs)}."
            raise InputError(message, field="out", value=len(outs), allowed=len(outputs))
        states = next((x.shape[0] for x in arrays.values() if len(x.shape) == 2), 1)
        places = [given(f"out ({name})", x, self.machine, stream) for (name, _), x in zip(outputs, outs, strict=True)]
        for (_, shape), place in zip(outputs, places, strict=True):
            if place.shape != (states, *shape) or place.dtype != kernel.dtype:
                raise InputError(
                    f"{place.name} is {place.dtype}{list(place.shape)}; it must be {kernel.dtype}{[states, *shape]}.",
                    field=place.name,
                    value=place.shape,
                    allowed=(states, *shape),
                )
            for name, array in arrays.items():
                if isinstance(array, Given) and max(array.span[0], place.span[0]) < min(array.span[1], place.span[1]):
                    message = f"{place.name} overlaps {name}; a state that is refused must still be there."
                    raise InputError(message, field=place.name, value=name)
        return places

    def _refuse_on_device(self, what: str, values: Any) -> None:
        if any(map(on_device, values)):
            message = f"{what} cannot be computed on a device; pass numpy arrays, and it is computed here."
            raise InputError(message, field="device", value=what, allowed="numpy arrays")


def _is_batch(arrays: Mapping[str, Array]) -> bool:
    """True if arrays are states and batches of one length."""
    lengths = {len(x) for x in arrays.values() if x.ndim == 2}
    return len(lengths) == 1 and 0 not in lengths


def _rows(x: Array, rows: Any) -> Array:
    return np.ascontiguousarray(
        x[list(rows)] if x.ndim == 2 else np.broadcast_to(x, (len(rows), len(x))), dtype=np.float64
    )


def _rows_of_wrenches(more: Mapping[str, Any], rows: Any) -> dict[str, Any]:
    """External wrenches of some states of a batch."""
    return {
        key: {link: np.asarray(w)[rows] if np.ndim(w) == 2 else w for link, w in wrenches.items()}
        for key, wrenches in more.items()
    }


def _stacked(found: JointWrenches) -> Array:
    return np.stack([found[name] for name in found], axis=-2)


def _few(rows: Any) -> str:
    shown = ", ".join(map(str, rows[:5]))
    return shown + (", ..." if len(rows) > 5 else "")
