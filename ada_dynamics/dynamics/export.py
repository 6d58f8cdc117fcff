# SPDX-License-Identifier: Apache-2.0
"""Quantities as C files, for machines without Python: micro-controllers, ros2_control, other languages."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ada_dynamics.dynamics.computation import kernels_of, require_link
from ada_dynamics.dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.kernels import SPECIALISE_UP_TO
from ada_dynamics.dynamics.quantities import Quantity, forward, of_tree
from ada_dynamics.errors import InputError, check_name
from ada_dynamics.expr import to_c

_OF_ROBOT = ("mass_matrix", "bias", "gravity", "com", "energy")
_OF_LINK = {"pose": (), "jacobian": ("local_world_aligned",)}  # with the frame
QUANTITIES = ("forward", "inverse", *_OF_ROBOT, *_OF_LINK)


class ExportedC(NamedTuple):
    """The written files."""

    source: Path
    header: Path


def export_c(
    dynamics: Dynamics,
    quantity: str = "forward",
    directory: str | os.PathLike[str] = ".",
    name: str | None = None,
    link: str | None = None,
) -> ExportedC:
    """Write a quantity of a robot as one C99 file, which requires sin, cos and sqrt only, and its header.

    The function is `int NAME(const double *q, const double *v, const double *tau, double *a)` for forward dynamics; the
    header describes the arguments of each. It returns 0, or 1 where q is unusable (a quaternion off unit length).

    Args:
        dynamics: of the robot, with specialised kernels.
        quantity: forward, inverse, mass_matrix, bias, gravity, com, energy, pose or jacobian (as in `Dynamics`).
        directory: where to write NAME.c and NAME.h; made where it does not exist, files in it are replaced.
        name: of the function and the files; the quantity by default.
        link: for pose and jacobian.

    Raises:
        InputError: there is no such quantity, the name is no identifier of C, the robot uses generic kernels, or the
            files cannot be written.
    """
    check_name("quantity", quantity, QUANTITIES)
    chosen = quantity if name is None else name
    if not (chosen.isidentifier() and chosen.isascii()) or chosen in _KEYWORDS:
        message = f"name is {chosen!r}; it must be an identifier of C, such as {quantity!r}."
        raise InputError(message, field="name", value=chosen)
    if kernels_of(dynamics).generic:
        raise InputError(
            f"model {dynamics.model.name!r} uses the generic kernels, which are no C code of one robot. Ask for "
            f"Dynamics(model, kernel='specialised'); past {SPECIALISE_UP_TO} velocities the file becomes large.",
            field="kernel",
            value="generic",
            allowed=("specialised",),
        )
    text = to_c(replace(quantity_of(dynamics, quantity, link).trace(), name=chosen))
    folder = Path(directory)
    written = ExportedC(folder / f"{chosen}.c", folder / f"{chosen}.h")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written.source.write_text(text.source, encoding="utf-8")
        written.header.write_text(text.header, encoding="utf-8")
    except OSError as problem:
        raise InputError(f"the C files cannot be written to {folder}: {problem}", file=folder) from None
    return written


def quantity_of(dynamics: Dynamics, name: str, link: str | None) -> Quantity:
    """One of QUANTITIES; InputError where it cannot be written down, or lacks its link."""
    tree = dynamics.model.tree
    if dynamics.model.loops and name in ("forward", "inverse"):
        return _closed(dynamics, name)
    if name == "forward":
        return forward(tree, dynamics.algorithm, external=False)
    if name not in _OF_LINK:
        return of_tree(tree, name)
    if link is None:
        names = dynamics.model.link_names
        raise InputError(f"{name} needs a link; this model has {', '.join(names)}.", field="link", allowed=names)
    require_link(dynamics, link)
    return of_tree(tree, name, link, *_OF_LINK[name])


def _closed(dynamics: Dynamics, name: str) -> Quantity:
    """Dynamics with loops; the status reports a vanishing pivot, as in singular configurations."""
    kernels, closed = kernels_of(dynamics), kernels_of(dynamics).closed
    assert closed is not None
    found = closed.inverse_quantity(external=False) if name == "inverse" else None
    if name == "forward" and not closed.plans.is_dense_only:
        found = closed.quantity(kernels.candidate, external=False, multipliers=False)
    if found is None:
        raise InputError(
            f"{name} dynamics of model {dynamics.model.name!r} cannot be written as a function: its loops need a "
            "solution on numbers. Write the tree's own 'bias' and 'mass_matrix'.",
            loop=", ".join(dynamics.model.loop_names),
            field="quantity",
            value=name,
        )
    return found


_C_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long main register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
"""
_KEYWORDS = frozenset(_C_WORDS.split())
