# SPDX-License-Identifier: Apache-2.0
"""Installation of a built package for Python, the dynamic loader and the tools of ROS 2.

Files are prepared on the same file system. The Python package is moved into place last, by one rename, so that an
interrupted build leaves nothing importable.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from ada_robot.interfaces.compile import PARTS, library_name, shared_name
from ada_robot.interfaces.generate import HASHES, PYTHON, SOURCES, definition_files
from ada_robot.interfaces.prefix import Prefix

# file in the Python package with the sources and tools of the build; packages without it are not modified
MARK = "built_by_ada_dynamics"

_PACKAGE_XML = """\
<?xml version="1.0"?>
<package format="3">
  <name>{package}</name>
  <version>0.0.0</version>
  <description>Built from its definitions by ada_robot.interfaces.</description>
  <maintainer email="maintainers@ada-dynamics.invalid">The ada_dynamics developers</maintainer>
  <license>see the definitions</license>
  <member_of_group>rosidl_interface_packages</member_of_group>
</package>
"""


def install(package: str, definitions: Path, generated: Path, library: Path, prefix: Prefix, mark: str) -> None:
    """Install a package, replacing an older one that was built here.

    Args:
        package: package name.
        definitions: folder of its .msg, .srv and .action files.
        generated: output of `generate`, on the file system of the prefix.
        library: output of `compile_library`, on that file system.
        prefix: target environment.
        mark: content of the file MARK.
    """
    stage = generated / "install"
    python, share, include = stage / "python", stage / "share", stage / "include"
    _copy((generated / PYTHON / package).rglob("*.py"), generated / PYTHON / package, python)
    shutil.copy2(library, python / library_name(package))
    (python / MARK).write_text(mark, encoding="utf-8")
    _copy((generated / "idl" / package).rglob("*.idl"), generated / "idl" / package, share)
    _copy((generated / HASHES / package).rglob("*.json"), generated / HASHES / package, share)
    _copy((definitions / path for path in definition_files(definitions)), definitions, share)
    (share / "package.xml").write_text(_PACKAGE_XML.format(package=package), encoding="utf-8")
    for generator in SOURCES:
        _copy((generated / generator / package).rglob("*.h"), generated / generator, include)

    _replace(share, prefix.share / package, stage)
    _replace(include, prefix.include / package, stage)
    interfaces = sorted(
        path.relative_to(prefix.share / package).as_posix()
        for path in (prefix.share / package).rglob("*")
        if path.suffix in (".idl", ".msg", ".srv", ".action")
    )
    _write_index(prefix, "packages", package, "")
    _write_index(prefix, "rosidl_interfaces", package, "\n".join(interfaces) + "\n")
    for part in PARTS:
        link = prefix.lib / shared_name(package, part)
        link.unlink(missing_ok=True)
        target = prefix.site.resolve() / package / library_name(package)
        link.symlink_to(os.path.relpath(target, prefix.lib.resolve()))
    _replace(python, prefix.site / package, stage)


def _copy(files: Iterable[Path], root: Path, target: Path) -> None:
    for path in files:
        copy = target / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)


def _replace(new: Path, place: Path, stage: Path) -> None:
    if place.exists():
        place.rename(stage / f"old-{place.parent.name}")
    place.parent.mkdir(parents=True, exist_ok=True)
    new.rename(place)


def _write_index(prefix: Prefix, kind: str, package: str, text: str) -> None:
    folder = prefix.index / kind
    folder.mkdir(parents=True, exist_ok=True)
    (folder / package).write_text(text, encoding="utf-8")
