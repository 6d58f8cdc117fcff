# SPDX-License-Identifier: Apache-2.0
"""A transmission as C99, as C++17, or as a plugin of ros2_control; the texts are in the folder `templates`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from string import Template
from typing import Literal, get_args

from ada_dynamics._version import __version__
from ada_dynamics.constraints.closure import BEYOND
from ada_dynamics.dynamics.constraint_queries import tangent_map_quantity
from ada_dynamics.dynamics.loop_closure import ACCEPTED, FAR, LEAST_DETERMINANT, PARTS, STEPS, LoopClosure
from ada_dynamics.dynamics.quantities import Quantity, Vector, quantity
from ada_dynamics.errors import InputError, SingularConfigurationError
from ada_dynamics.expr import Traced, to_c
from ada_dynamics.transmission.transmission import Transmission

Target = Literal["c", "cpp", "ros2_control"]
TARGETS: tuple[Target, ...] = get_args(Target)
TEMPLATES = Path(__file__).parent / "templates"
_PLUGIN = {  # file of the package: template
    "package.xml": "ros2_control/package.xml.in",
    "CMakeLists.txt": "ros2_control/CMakeLists.txt.in",
    "transmission_plugin.xml": "ros2_control/transmission_plugin.xml.in",
    "urdf/{name}.urdf": "ros2_control/transmission.urdf.in",
    "src/{name}_transmission.cpp": "ros2_control/transmission.cpp.in",
    "src/{name}.c": "transmission.c.in",
    "include/{name}.h": "transmission.h.in",
    "include/{name}.hpp": "transmission.hpp.in",
}
_FILES: dict[Target, dict[str, str]] = {
    "c": {"{name}.c": "transmission.c.in", "{name}.h": "transmission.h.in"},
    "cpp": {"{name}.c": "transmission.c.in", "{name}.h": "transmission.h.in", "{name}.hpp": "transmission.hpp.in"},
    "ros2_control": _PLUGIN,
}


def export_transmission(
    transmission: Transmission,
    target: Target = "c",
    directory: str | os.PathLike[str] = ".",
    name: str = "transmission",
) -> list[Path]:
    """Write a transmission as source code that needs neither Python nor other libraries.

    Args:
        transmission: the transmission, in the assembly mode of its reference.
        target: "c" (NAME.c and NAME.h), "cpp" (these, and a class in NAME.hpp), or "ros2_control" (a package with a
            plugin of `transmission_interface`).
        directory: where to write; made where it does not exist, files in it are replaced.
        name: of the files and functions, and of the package NAME_transmission.

    Returns:
        The written files.

    Raises:
        InputError: the name is no identifier, the target is unknown, or the files cannot be written.
        SingularConfigurationError: motors or joints do not determine the motion in the reference.
    """
    if target not in TARGETS:
        message = f"target is {target!r}; choose one of {', '.join(TARGETS)}."
        raise InputError(message, field="target", value=target, allowed=TARGETS)
    if not (name.isidentifier() and name.isascii() and name[0].isalpha()):
        message = f"name is {name!r}; it must be an identifier of C, such as 'ankle'."
        raise InputError(message, field="name", value=name)
    words = _words(transmission, name)
    written = []
    try:
        for file, template in _FILES[target].items():
            path = Path(directory) / file.format(name=name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(Template((TEMPLATES / template).read_text(encoding="utf-8")).substitute(words), "utf-8")
            written.append(path)
    except OSError as problem:
        raise InputError(f"the code cannot be written to {directory}: {problem}", file=Path(directory)) from None
    return written


def _words(transmission: Transmission, name: str) -> dict[str, object]:
    """The values of the placeholders in the templates."""
    motors, joints = transmission.motors, transmission.joints
    by_motors, by_joints = transmission.by_motors, transmission.by_joints
    for closure, names in ((by_motors, motors), (by_joints, joints)):
        if closure.is_singular:
            raise SingularConfigurationError(
                f"model {transmission.model.name!r}: {', '.join(names)} do not determine the motion in the reference "
                "of the transmission; create it with another reference=q.",
                joint=names[0],
                field="reference",
            )
    class_name = "".join(part.capitalize() for part in name.split("_")) + "Transmission"
    return {
        "name": name,
        "guard": name.upper(),
        "class_name": class_name,
        "package": f"{name}_transmission",
        "model": transmission.model.name,
        "version": __version__,
        "size": len(motors),
        "positions": transmission.model.nq,
        "coordinates": ", ".join(transmission.model.joint_names),
        "steps": STEPS,
        "parts": PARTS[-1],
        "far": repr(FAR),
        "accepted": repr(ACCEPTED),
        "least_determinant": repr(LEAST_DETERMINANT),
        "limit_tolerance": repr(BEYOND),
        "reference": ", ".join(map(repr, transmission.reference.tolist())),
        "motor_places": ", ".join(map(str, by_motors.places)),
        "joint_places": ", ".join(map(str, by_joints.places)),
        "motor_sign": repr(by_motors.sign),
        "joint_sign": repr(by_joints.sign),
        "step_motors": _function(by_motors, f"{name}_step_motors"),
        "step_joints": _function(by_joints, f"{name}_step_joints"),
        "map_motors": _map(transmission, motors, transmission.joints, f"{name}_map_motors"),
        "map_joints": _map(transmission, joints, transmission.motors, f"{name}_map_joints"),
        "motor_list": ", ".join(motors),
        "joint_list": ", ".join(joints),
        "motor_strings": ", ".join(f'"{motor}"' for motor in motors),
        "joint_strings": ", ".join(f'"{joint}"' for joint in joints),
        "actuator_tags": "\n".join(f'  <actuator name="{motor}" role="{motor}"/>' for motor in motors),
        "joint_tags": "\n".join(f'  <joint name="{joint}" role="{joint}"/>' for joint in joints),
    }


def _function(closure: LoopClosure, name: str) -> str:
    """The step of Newton's method as a C function."""
    if closure.step is None:
        raise InputError(
            f"model {closure.model.name!r} has no loops that its {name.rpartition('_')[2]} close; its transmission "
            "is the identity.",
            field="model",
        )
    return _definition(closure.step, name)


def _map(transmission: Transmission, coordinates: tuple[str, ...], rows: tuple[str, ...], name: str) -> str:
    """The rows of a tangent map that belong to joints with one velocity, as a C function."""
    model = transmission.model
    whole = tangent_map_quantity(transmission.dynamics.constraints, list(coordinates))
    assert whole is not None  # there are loops, and few joints
    places = [model.v_index(row).start for row in rows]

    def body(q: Vector) -> Traced:
        T = whole.body(q=q).outputs["T"]
        return Traced({"jacobian": [T[k] for k in places]})

    shape = len(rows), len(coordinates)
    return _definition(quantity(f"{whole.name}_rows", model.tree, ("q",), {"jacobian": shape}, body), name)


def _definition(of: Quantity, name: str) -> str:
    """The definition of a C function, without comment and includes."""
    source = to_c(replace(of.trace(), name=name)).source
    return source[source.index(f"int {name}(") :].rstrip()
