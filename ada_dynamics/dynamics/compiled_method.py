# SPDX-License-Identifier: Apache-2.0
"""Methods whose plain calls go straight to compiled code, no matter when they were taken from their object."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from ada_dynamics.errors import CompileError
from ada_dynamics.jit.fallback import announce, reason_for_fallback
from ada_dynamics.jit.native import Entry
from ada_dynamics.jit.python_call import make_builtin
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target
from ada_dynamics.model.model import Model

if TYPE_CHECKING:
    from ada_dynamics.dynamics.computation import Computation, QueryGroup

P = ParamSpec("P")
R = TypeVar("R")
Owner = TypeVar("Owner", bound="Computation | QueryGroup")
_lock = threading.RLock()


# Names of arguments that are vectors: positions, and as many numbers as there are velocities.
VECTORS = ("q", "v", "tau", "a", "w", "d_q", "d_v", "d_tau", "d_a")
Shape = Callable[[Model], tuple[int, ...]]


def compiled_method(
    function: Callable[Concatenate[Owner, P], R],
) -> Callable[Concatenate[Owner, P], R]:
    """A method of vectors among q, v, tau and a that gives a vector of length nv; see `compiled_method_of`."""
    return compiled_method_of(per_velocity)(function)


def compiled_method_of(
    *shapes: Shape, record: type[tuple[Any, ...]] | None = None
) -> Callable[[Callable[Concatenate[Owner, P], R]], Callable[Concatenate[Owner, P], R]]:
    """A method of vectors among those of VECTORS, and perhaps of one more argument that has a default.

    Taken from an object it is a builtin function, which runs the kernel that is connected to the method's name as soon
    as there is one, and the method itself until then and for every call that needs Python.

    Args:
        shapes: of each result, by model.
        record: named tuple of them, where there are several.
    """

    def decorate(function: Callable[Concatenate[Owner, P], R]) -> Callable[Concatenate[Owner, P], R]:
        return cast("Callable[Concatenate[Owner, P], R]", CompiledMethod(function, shapes, record))

    return decorate


def per_velocity(model: Model) -> tuple[int, ...]:
    """A number for each velocity."""
    return (model.nv,)


def per_pair(model: Model) -> tuple[int, ...]:
    """A number for each pair of velocities."""
    return (model.nv, model.nv)


class CompiledMethod:
    """The descriptor: what it makes for an object stays in the object's own dictionary, which is looked at first."""

    def __init__(
        self, function: Callable[..., Any], shapes: Sequence[Shape], record: type[tuple[Any, ...]] | None
    ) -> None:
        self.__doc__ = function.__doc__
        self.function, self.shapes, self.record = function, shapes, record

    def __get__(self, instance: Computation | QueryGroup | None, owner: type | None = None) -> Callable[..., Any]:
        if instance is None:
            return self.function
        name = self.function.__name__
        with _lock:  # threads that meet here get the same one
            call: Callable[..., Any] | None = instance.__dict__.get(name)
            if call is None:
                call = instance.__dict__[name] = self._call(instance, MethodType(self.function, instance))
        return call

    def _call(self, instance: Computation | QueryGroup, method: Callable[..., Any]) -> Callable[..., Any]:
        name = self.function.__name__
        owner = cast("Computation", getattr(instance, "_dynamics", instance))  # of a group, or the dynamics
        if not owner._runs_compiled(name) or reason_for_fallback() is not None:
            return method
        every = inspect.signature(method).parameters.values()
        parameters = [one.name for one in every if one.kind is not one.KEYWORD_ONLY]
        model = owner.model
        inputs = tuple((one, model.nq if one == "q" else model.nv) for one in parameters if one in VECTORS)
        signature = Signature(name, inputs, tuple((f"result_{i}", shape(model)) for i, shape in enumerate(self.shapes)))
        entry = Entry(Target.host().lanes, takes_few=True)
        try:
            call = make_builtin(signature, entry, method, parameters, self.record)
        except CompileError as error:
            announce(str(error))
            return method
        owner._entries[name] = entry
        return call
