# SPDX-License-Identifier: Apache-2.0
"""Change gravity, replace parts, and remove loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ada_dynamics.errors import WrongTypeError, unknown_name
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.elements import Joint, Link, LoopJoint
from ada_dynamics.model.model import Model


def with_gravity(model: Model, gravity: Sequence[float]) -> Model:
    """Return the model with another gravity vector (x, y, z) [m/s²] in world axes.

    Raises:
        ModelError: gravity is not three finite numbers.
    """
    parts = Parts.of(model)
    parts.gravity = gravity
    return parts.build()


def with_parts(model: Model, *changed: Link | Joint | LoopJoint) -> Model:
    """Return the model with some links, joints or loop joints replaced by parts of the same names.

    Example::

        heavier = with_parts(model, dataclasses.replace(model.links["hand"], mass=2.0))

    Raises:
        InputError: the model has no part of that kind and name.
        ModelError: the parts do not fit together.
    """
    parts = Parts.of(model)
    for part in changed:
        for kind, own in ((Link, parts.links), (Joint, parts.joints), (LoopJoint, parts.loops)):
            if isinstance(part, kind):
                if part.name not in own:
                    raise unknown_name("loop" if kind is LoopJoint else kind.__name__.lower(), part.name, own)
                own[part.name] = part  # type: ignore[assignment]
                break
        else:
            raise WrongTypeError(
                f"part is {part!r:.100}; it must be a Link, Joint or LoopJoint, such as model.links has."
            )
    return parts.build()


def remove_loop(model: Model, name: str) -> Model:
    """Return the model without one of its loop joints."""
    return open_loops(model, [name])


def open_loops(model: Model, names: Iterable[str] | None = None) -> Model:
    """Return the model without some or all of its loop joints.

    Args:
        model: the model; it is not changed.
        names: loop joints to remove; all by default.

    Raises:
        InputError: there is no such loop joint.
    """
    gone = list(model.loops if names is None else names)
    for name in gone:
        if name not in model.loops:
            raise unknown_name("loop", name, model.loops)
    parts = Parts.of(model)
    parts.loops = {name: loop for name, loop in parts.loops.items() if name not in gone}
    return parts.build()
