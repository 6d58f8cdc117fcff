# SPDX-License-Identifier: Apache-2.0
"""Generation of C, C++ and Python sources from definitions (.msg, .srv, .action), with the generators of ROS 2.

`__main__` runs this file as a separate process, because the generators print, raise arbitrary exceptions and use
AMENT_PREFIX_PATH. It imports nothing of this package.

    python generate.py DEFINITIONS PREFIX OUT
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

KINDS = ("msg", "srv", "action")
INTERFACES = "share/ament_index/resource_index/rosidl_interfaces"  # index of the installed packages
# serialization, and description for the middleware; publishers need both
TYPE_SUPPORTS = ("rosidl_typesupport_fastrtps_c", "rosidl_typesupport_introspection_c")
HASHES = "rosidl_generator_type_description"
PYTHON = "rosidl_generator_py"
# separate folders, because two generators use equal file names
SOURCES = ("rosidl_generator_c", *TYPE_SUPPORTS, "rosidl_typesupport_c", PYTHON)


def definition_files(folder: Path) -> list[Path]:
    """Return the definitions of a package, relative to its folder."""
    return sorted(path.relative_to(folder) for kind in KINDS for path in (folder / kind).glob(f"*.{kind}"))


def generate(definitions: Path, prefix: Path, out: Path) -> None:
    """Write OUT/idl/PACKAGE, OUT/rosidl_generator_type_description/PACKAGE and OUT/GENERATOR/PACKAGE.

    Args:
        definitions: folder with msg/, srv/, action/, which has the name of the package.
        prefix: environment with the generators and the used packages.
        out: empty folder.
    """
    package, files = definitions.name, definition_files(definitions)
    idl = out / "idl" / package
    for path in files:
        kind = path.suffix[1:]
        convert = getattr(import_module(f"rosidl_adapter.{kind}"), f"convert_{kind}_to_idl")
        convert(definitions, package, path, idl / kind)
    names = [path.with_suffix(".idl").as_posix() for path in files]
    known = sorted(path.name for path in (prefix / INTERFACES).iterdir())
    common = {
        "package_name": package,
        "idl_tuples": [f"{idl}:{name}" for name in names],
        "target_dependencies": [],
        "ros_interface_files": [str(definitions / path) for path in files],
        "include_paths": [f"{other}:{prefix / 'share' / other}" for other in known if other != package],
    }

    def run(generator: str, entry: str, *more: Any, **arguments: Any) -> None:
        target = out / generator / package
        templates = prefix / "share" / generator / "resource"
        _write_visibility_header(generator, package, templates, target)
        listed = out / f"{generator}.json"
        listed.write_text(
            json.dumps({**common, "output_dir": str(target), "template_dir": str(templates), **arguments}),
            encoding="utf-8",
        )
        function: Callable[..., object] = getattr(import_module(generator), entry)
        function(str(listed), *more)

    run(HASHES, "generate_type_hash")
    described = {
        "type_description_tuples": [f"{name}:{(out / HASHES / package / name).with_suffix('.json')}" for name in names]
    }
    run("rosidl_generator_c", "generate_c", **described)
    run("rosidl_typesupport_fastrtps_c", "generate_typesupport_fastrtps_c", **described)
    run("rosidl_typesupport_introspection_c", "generate_c", **described)
    run("rosidl_typesupport_c", "generate_c", list(TYPE_SUPPORTS), **described)
    run(PYTHON, "generate_py", ["rosidl_typesupport_c"], **described)
    (out / PYTHON / package / "__init__.py").touch()


def _write_visibility_header(generator: str, package: str, templates: Path, target: Path) -> None:
    """Write the header that CMake configures in regular builds."""
    name = f"{generator}__visibility_control.h"
    template = templates / f"{name}.in"
    if template.is_file():
        text = template.read_text(encoding="utf-8")
        text = text.replace("@PROJECT_NAME@", package).replace("@PROJECT_NAME_UPPER@", package.upper())
        (target / "msg").mkdir(parents=True)
        (target / "msg" / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    generate(*map(Path, sys.argv[1:4]))
