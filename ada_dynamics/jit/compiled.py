# SPDX-License-Identifier: Apache-2.0
"""Control laws over generic scalars, compiled: the lines that a person reads are the ones that run in a microsecond."""

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
    name: str,
    inputs: Mapping[str, int],
    body: Callable[..., Any],
    otherwise: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """A function of float64 vectors, as machine code.

    It gives an array for one output and a tuple of arrays for several. It is compiled here, or taken from the cache, so
    that its first call takes no longer than the others.

    Example::

        spring = compiled("spring", {"k": 2, "q": 2}, lambda k, q: {"tau": [-a * b for a, b in zip(k, q)]})
        spring(np.array([5.0, 2.0]), np.array([0.1, 0.2]))

    Args:
        name: for messages.
        inputs: length of each, by the names of the body's arguments.
        body: of generic scalars, with + - * / and `ada_dynamics.expr` only; gives lists by the names of outputs, or a
            `Traced` of them with what must not be negative.
        otherwise: called with the same arguments where they are no plain vectors of these lengths, where one of them or
            a result is not finite, or a guard is negative, and where nothing can be compiled. By default it raises
            InputError, or GuardError.
    """
    kernel = compiled_kernel(name, inputs, body)
    return kernel.python_call(kernel.single if otherwise is None else otherwise)


def compiled_kernel(name: str, inputs: Mapping[str, int], body: Callable[..., Any]) -> Kernel:
    """The kernel of `compiled`, for several callers, each with its own way out where it cannot be used."""
    function = trace(name, inputs, body)
    # what it computes, not what it is called, decides whether a compiled one can be taken
    key = hashlib.blake2b(python_source(function).encode(), digest_size=16).hexdigest()
    kernel = Kernel(Signature.of(function), lambda: function, f"{name} {key}")
    kernel.prepare()
    return kernel
