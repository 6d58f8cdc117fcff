# SPDX-License-Identifier: Apache-2.0
"""Compilation of functions over generic scalars, such as control laws."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ada_dynamics.expr import trace
from ada_dynamics.expr.printing import python_source
from ada_dynamics.jit import Kernel, Signature
from ada_dynamics.spatial.vector import Scalar

Vector = Sequence[Scalar]


def compiled(
    name: str, inputs: Mapping[str, int], body: Callable[..., Any], otherwise: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Compile a function of float64 vectors, which returns one array or a tuple of arrays.

    The code is compiled or loaded from the cache before the function returns, so that the first call is fast.

    Example::

        spring = compiled("spring", {"k": 2, "q": 2}, lambda k, q: {"tau": [-a * b for a, b in zip(k, q)]})
        spring(np.array([5.0, 2.0]), np.array([0.1, 0.2]))

    Args:
        name: name of the function in messages.
        inputs: length of each argument of the body, by name.
        body: function of generic scalars that uses + - * / and `ada_dynamics.expr` only; it returns lists by output
            name, or a `Traced` of lists and guards, which must not be negative.
        otherwise: function that is called with the same arguments if they are not float64 vectors of these lengths, if
            a number is not finite, if a guard is negative, or if nothing can be compiled. By default InputError or
            GuardError is raised.
    """
    kernel = compiled_kernel(name, inputs, body)
    return kernel.python_call(kernel.single if otherwise is None else otherwise)


def compiled_kernel(name: str, inputs: Mapping[str, int], body: Callable[..., Any]) -> Kernel:
    """Kernel of `compiled`, for callers with different functions `otherwise`."""
    function = trace(name, inputs, body)
    # the key depends on the computation, so that equal functions share an object
    key = hashlib.blake2b(python_source(function).encode(), digest_size=16).hexdigest()
    kernel = Kernel(Signature.of(function), lambda: function, f"{name} {key}")
    kernel.prepare()
    return kernel
