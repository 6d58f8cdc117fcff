# SPDX-License-Identifier: Apache-2.0
"""Control laws over generic scalars, compiled: the lines that a person reads are the ones that run in a microsecond."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ada_dynamics.expr import trace
from ada_dynamics.expr.evaluate import python_source
from ada_dynamics.jit import Kernel, Signature
from ada_dynamics.spatial.scalar import Scalar

Vector = Sequence[Scalar]


def compiled(name: str, inputs: Mapping[str, int], body: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
    """A function of float64 vectors, as machine code.

    It gives an array for one output and a tuple of arrays for several, and raises InputError where an input is not
    finite. It is compiled at its first call, or taken from the cache.

    Example::

        spring = compiled("spring", {"k": 2, "q": 2}, lambda k, q: {"tau": [-a * b for a, b in zip(k, q)]})
        spring(np.array([5.0, 2.0]), np.array([0.1, 0.2]))

    Args:
        name: for messages.
        inputs: length of each, by the names of the body's arguments.
        body: of generic scalars, with + - * / and `ada_dynamics.expr` only; gives lists by the names of outputs.
    """
    function = trace(name, inputs, body)
    # what it computes, not what it is called, decides whether a compiled one can be taken
    key = hashlib.blake2b(python_source(function).encode(), digest_size=16).hexdigest()
    kernel = Kernel(Signature.of(function), lambda: function, f"{name} {key}")
    return kernel.python_call(kernel.single)
