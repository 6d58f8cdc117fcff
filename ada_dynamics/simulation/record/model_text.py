# SPDX-License-Identifier: Apache-2.0
"""A model as JSON text, bit for bit, so that a recording does not depend on other files.

Robot formats are not suitable: each of them lacks joint or loop types, or rounds orientations (roll, pitch, yaw).
"""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

import numpy as np

from ada_dynamics.errors import ModelError
from ada_dynamics.model.elements import Joint, Limits, Link, LoopJoint, Mimic, Shape
from ada_dynamics.model.model import Model
from ada_dynamics.model.turns import Turns

_ARRAYS = {
    Link: ("com", "inertia"),
    Joint: ("xyz", "rotation", "axis", "axis2"),
    LoopJoint: ("parent_xyz", "parent_rotation", "child_xyz", "child_rotation", "axis", "axis2"),
    Shape: ("xyz", "rotation"),
    Limits: (),
    Mimic: (),
    Turns: (),
}
_PARTS = {"limits": Limits, "mimic": Mimic, "turns": Turns, "visuals": Shape, "collisions": Shape}


def to_text(model: Model) -> str:
    """Return the text of a model."""
    content = {
        "name": model.name,
        "root": model.root,
        "gravity": list(model.gravity),
        "actuated": list(model.actuated),
        "links": [_plain(link) for link in model.links.values()],
        "joints": [_plain(joint) for joint in model.joints.values()],
        "loops": [_plain(loop) for loop in model.loops.values()],
        "source": model.source,
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def from_text(text: str) -> Model:
    """Return the model of a text.

    Raises:
        ModelError: the text is not a model.
    """
    try:
        content = json.loads(text)
        links = [_made(Link, one) for one in content["links"]]
        joints = [_made(Joint, one) for one in content["joints"]]
        loops = [_made(LoopJoint, one) for one in content["loops"]]
        name, root, gravity, source = (content[key] for key in ("name", "root", "gravity", "source"))
        model = Model(name, root, links, joints, gravity, source, loops, content["actuated"])
        _ = model.tree  # raises errors of unknown names and types
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as problem:
        raise ModelError(f"the model is invalid ({type(problem).__name__}: {problem})") from None
    return model


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no infinity
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if type(value) in _ARRAYS:
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


def _made(cls: Any, content: dict[str, Any]) -> Any:
    values: dict[str, Any] = {}
    for name, value in content.items():
        if name in _ARRAYS[cls]:
            values[name] = None if value is None else np.array(value, dtype=float)
        elif name in _PARTS and isinstance(value, list):
            values[name] = tuple(_made(_PARTS[name], one) for one in value)
        elif name in _PARTS and value is not None:
            values[name] = _made(_PARTS[name], value)
        elif isinstance(value, list):
            values[name] = tuple(value)
        else:
            values[name] = float(value) if cls is Limits else value
    return cls(**values)
