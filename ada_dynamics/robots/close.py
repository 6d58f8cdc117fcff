# SPDX-License-Identifier: Apache-2.0
"""Close more loops of a model, by joints from a file or from data."""

from __future__ import annotations

from ada_dynamics.errors import InputError
from ada_dynamics.model.description import Description
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model
from ada_dynamics.robots.readers.loops import LoopSource, add_loops
from ada_dynamics.robots.readers.xml import Element


def with_loops(model: Model, loops: LoopSource) -> Model:
    """The model with more loop joints.

    Example::

        closed = with_loops(ada.load("planar_4r"), "loops/parallel_four_bar.yaml")

    Args:
        model: the model; it is not changed.
        loops: as for `ada.load`: path of a YAML or JSON file, or its content. Which joints have motors stays as it is.

    Raises:
        InputError: a loop has the name of another one.
        ModelError: the file cannot be read, or a loop joins links that do not exist.
    """
    read = Description(model.name, "the loops", Element("robot", {}, 0))
    add_loops(read, loops)
    twice = [loop.name for loop in read.loops if loop.name in model.loops]
    if twice:
        raise InputError(f"model {model.name!r} has a loop {twice[0]!r} already; give the other one another name.")
    parts = Parts.of(model)
    parts.loops |= {loop.name: loop for loop in read.loops}
    return parts.build()
