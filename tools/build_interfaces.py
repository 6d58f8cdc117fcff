# SPDX-License-Identifier: Apache-2.0
"""Build message packages that PyPI lacks (tf2_msgs, for /tf) into the virtual environment of this Python.

The ROS 2 wheels contain the generators, headers and libraries; the C and C++ compilers are those of the system.
Packages that can be imported are left alone, unless they were built here from other sources or with other wheels.

    python tools/build_interfaces.py                 tf2_msgs
    python tools/build_interfaces.py --from DIR      DIR/PACKAGE/{msg,srv,action}/*
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

TRANSFORMS = "# Interface of the package tf2_msgs (geometry2).\ngeometry_msgs/TransformStamped[] transforms\n"
MARK = "built_by_ada_dynamics"  # file in a built package with its sources and tools; other packages are not modified
ROOT, SITE = Path(sys.prefix), Path(sysconfig.get_path("platlib"))
INDEX = "share/ament_index/resource_index/rosidl_interfaces"  # index of the installed packages
_WHEELS = ("share/rosidl_generator_py/resource", "lib/librosidl_runtime_c.so")  # the last ones of the generators
_KINDS = ("msg", "srv", "action")
_TYPE_OF_PACKAGE = re.compile(r"(?m)^\s*([a-z][a-z0-9_]*)/")
# serialization, and description for the middleware; publishers need both
_TYPE_SUPPORTS = ("rosidl_typesupport_fastrtps_c", "rosidl_typesupport_introspection_c")
_HASHES, _PYTHON = "rosidl_generator_type_description", "rosidl_generator_py"
# separate folders, because two generators use equal file names
_SOURCES = ("rosidl_generator_c", *_TYPE_SUPPORTS, "rosidl_typesupport_c", _PYTHON)
# libraries that other message packages have separately; the library built here replaces all of them
_PARTS = ("rosidl_generator_c", "rosidl_generator_py", "rosidl_typesupport_c", *_TYPE_SUPPORTS)
_RUNTIME = (
    "rosidl_runtime_c",
    "rosidl_typesupport_c",
    "rosidl_typesupport_fastrtps_c",
    "rosidl_typesupport_fastrtps_cpp",
    "rosidl_typesupport_introspection_c",
    "fastcdr",
    "rmw",
    "rcutils",
)


def main() -> None:
    """Build the missing packages."""
    parser = argparse.ArgumentParser(description="Build message packages that PyPI lacks, such as tf2_msgs for /tf.")
    parser.add_argument(
        "--from", dest="folder", type=Path, metavar="DIR", help="packages: DIR/PACKAGE/{msg,srv,action}/*"
    )
    parser.add_argument("--generate", nargs=2, type=Path, help=argparse.SUPPRESS)  # of the separate process
    options = parser.parse_args()
    if options.generate:
        _generate(*options.generate)
        return
    with tempfile.TemporaryDirectory() as own:
        folder = Path(own) if options.folder is None else options.folder.resolve()
        if options.folder is None:
            (folder / "tf2_msgs/msg").mkdir(parents=True)
            (folder / "tf2_msgs/msg/TFMessage.msg").write_text(TRANSFORMS, encoding="utf-8")
        packages = sorted(path for path in folder.iterdir() if _definition_files(path)) if folder.is_dir() else []
        if not packages:
            _fail(f"{folder} has no interface packages of the form PACKAGE/msg/Type.msg (or srv, action).")
        for definitions in packages:
            if _is_there(definitions):
                print(f"{definitions.name}: there already")
            else:
                _build(definitions, _compilers())
                print(f"{definitions.name}: built in {SITE / definitions.name}")


def _fail(text: str) -> NoReturn:
    print(f"build_interfaces: error: {text}", file=sys.stderr)
    raise SystemExit(2)


def _compilers() -> dict[str, list[str]]:
    """Return the commands of the C and C++ compiler, from CC and CXX; fail where packages cannot be built."""
    distribution = os.environ.get("ROS_DISTRO")
    if distribution:
        _fail(f"ROS 2 {distribution} is sourced; install it there: sudo apt install ros-{distribution}-tf2-msgs")
    if sys.prefix == sys.base_prefix:
        _fail(f"{sys.prefix} is no virtual environment. Create one: make setup")
    if not all(Path(ROOT, path).exists() for path in _WHEELS):
        _fail(f"the ROS 2 wheels (x86-64 Linux, Python 3.10 to 3.14) are missing in {ROOT}. Install them: make setup")
    commands = {name: shlex.split(os.environ.get(name) or usual) for name, usual in (("CC", "gcc"), ("CXX", "g++"))}
    lacks = [f"the compiler {one[0]}" for one in commands.values() if not shutil.which(one[0])]
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        lacks.append(f"Python.h (in {sysconfig.get_path('include')})")
    if lacks:
        _fail(
            f"not found: {' and '.join(lacks)}; without the built packages, nodes run and publish no /tf. On Debian "
            f"and Ubuntu: sudo apt install g++ python3-dev"
        )
    return commands


def _definition_files(folder: Path) -> list[Path]:
    """Return the definitions of a package, relative to its folder."""
    return sorted(path.relative_to(folder) for kind in _KINDS for path in (folder / kind).glob(f"*.{kind}"))


def _is_there(definitions: Path) -> bool:
    """Return True if a package can be imported, and was not built here from other sources."""
    importlib.invalidate_caches()
    found = importlib.util.find_spec(definitions.name)
    if found is None or found.origin is None:
        return False
    mark = Path(found.origin).parent / MARK
    return not mark.is_file() or mark.read_text(encoding="utf-8") == _mark_of(definitions)


def _mark_of(definitions: Path) -> str:
    """Return sources and tools of a build as text, to detect changes."""
    names = [(one.metadata["Name"], one.version) for one in importlib.metadata.distributions()]
    wheels = sorted(f"{name} {version}".lower() for name, version in names if str(name).lower().startswith("ros-"))
    sources = [(definitions / path).read_text(encoding="utf-8") for path in _definition_files(definitions)]
    return "\n".join([f"Python {sys.version_info.major}.{sys.version_info.minor}", *wheels, *sources])


def _build(definitions: Path, compilers: Mapping[str, Sequence[str]]) -> None:
    """Generate, compile and install a package."""
    print(f"{definitions.name}: building, which needs seconds to minutes", flush=True)
    texts = ((definitions / path).read_text(encoding="utf-8") for path in _definition_files(definitions))
    used = {name for text in texts for name in _TYPE_OF_PACKAGE.findall(text)} - {definitions.name}
    lacking = sorted(used - {path.name for path in (ROOT / INDEX).iterdir()})
    if lacking:
        wheels = " ".join(f"ros-{name.replace('_', '-')}" for name in lacking)
        _fail(f"{definitions} uses {', '.join(lacking)}, missing in {ROOT}. Install from PyPI: pip install {wheels}")
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".ada_interfaces-") as folder:
        work = Path(folder)
        # a separate process: the generators print, raise arbitrary exceptions and use AMENT_PREFIX_PATH
        command = [sys.executable, __file__, "--generate", str(definitions), folder]
        environment = {**os.environ, "AMENT_PREFIX_PATH": str(ROOT)}
        result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if result.returncode:
            said = result.stderr.strip().splitlines() or ["no reason given"]
            read = re.findall(r"(?m)^Reading input file: (.*)$", result.stdout) or [definitions]
            _fail(f"{read[-1]}: refused by the generators of ROS 2: {said[-1]}")
        _install(definitions, work, _compiled(definitions.name, work, compilers))


def _generate(definitions: Path, out: Path) -> None:
    """Write OUT/idl/PACKAGE, OUT/rosidl_generator_type_description/PACKAGE and OUT/GENERATOR/PACKAGE."""
    package, files, idl = definitions.name, _definition_files(definitions), out / "idl" / definitions.name
    for path in files:
        kind = path.suffix[1:]
        convert = getattr(import_module(f"rosidl_adapter.{kind}"), f"convert_{kind}_to_idl")
        convert(definitions, package, path, idl / kind)
    names = [path.with_suffix(".idl").as_posix() for path in files]
    known = sorted(path.name for path in (ROOT / INDEX).iterdir())
    common = {
        "package_name": package,
        "idl_tuples": [f"{idl}:{name}" for name in names],
        "target_dependencies": [],
        "ros_interface_files": [str(definitions / path) for path in files],
        "include_paths": [f"{other}:{ROOT / 'share' / other}" for other in known if other != package],
    }

    def run(generator: str, entry: str, *more: Any, **arguments: Any) -> None:
        target, templates = out / generator / package, ROOT / "share" / generator / "resource"
        header = f"{generator}__visibility_control.h"
        if (templates / f"{header}.in").is_file():  # CMake configures it in regular builds
            text = (templates / f"{header}.in").read_text(encoding="utf-8")
            text = text.replace("@PROJECT_NAME@", package).replace("@PROJECT_NAME_UPPER@", package.upper())
            (target / "msg").mkdir(parents=True)
            (target / "msg" / header).write_text(text, encoding="utf-8")
        listed = out / f"{generator}.json"
        content = {**common, "output_dir": str(target), "template_dir": str(templates), **arguments}
        listed.write_text(json.dumps(content), encoding="utf-8")
        function: Callable[..., object] = getattr(import_module(generator), entry)
        function(str(listed), *more)

    run(_HASHES, "generate_type_hash")
    described = {
        "type_description_tuples": [f"{name}:{(out / _HASHES / package / name).with_suffix('.json')}" for name in names]
    }
    run("rosidl_generator_c", "generate_c", **described)
    run("rosidl_typesupport_fastrtps_c", "generate_typesupport_fastrtps_c", **described)
    run("rosidl_typesupport_introspection_c", "generate_c", **described)
    run("rosidl_typesupport_c", "generate_c", list(_TYPE_SUPPORTS), **described)
    run(_PYTHON, "generate_py", ["rosidl_typesupport_c"], **described)
    (out / _PYTHON / package / "__init__.py").touch()


def _compiled(package: str, work: Path, compilers: Mapping[str, Sequence[str]]) -> Path:
    """Compile all generated sources to one library: C messages, type support, and conversion to Python."""
    roots = [work / generator for generator in _SOURCES]
    wheels = [path for path in (ROOT / "include").iterdir() if path.is_dir() and not path.name.startswith("python")]
    folders = [*roots, ROOT / "include", *sorted(wheels), sysconfig.get_path("include"), np.get_include()]
    include = [f"-I{folder}" for folder in folders]

    def compile_one(source: Path) -> str:
        target = source.with_name(source.name + ".o")
        command = (*compilers["CC"], "-std=gnu11") if source.suffix == ".c" else (*compilers["CXX"], "-std=c++17")
        _run([*command, "-O1", "-fPIC", "-w", "-c", str(source), "-o", str(target), *include])
        return str(target)

    sources = sorted(path for root in roots for path in root.rglob("*") if path.suffix in (".c", ".cpp"))
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        objects = list(pool.map(compile_one, sources))
    library = work / f"{package}_s__rosidl_typesupport_c.so"  # the name of the Python module of the conversions
    used = {"action_msgs"} if any((work / _HASHES).rglob("action/*.json")) else set()  # implicit references
    for path in (work / _HASHES).rglob("*.json"):
        description = json.loads(path.read_text(encoding="utf-8"))["type_description_msg"]
        used |= {one["type_name"].split("/")[0] for one in description["referenced_type_descriptions"]}
    parts = sorted(str(ROOT / "lib" / f"lib{other}__{part}.so") for other in used - {package} for part in _PARTS)
    to_lib = os.path.relpath((ROOT / "lib").resolve(), SITE.resolve() / package)
    names = [f"-Wl,-soname,lib{package}__rosidl_typesupport_c.so", f"-Wl,-rpath,$ORIGIN/{to_lib}"]
    libraries = ["-Wl,--as-needed", "-o", str(library), *objects, *parts, f"-L{ROOT / 'lib'}"]
    _run([*compilers["CXX"], "-shared", *names, *libraries, *(f"-l{name}" for name in _RUNTIME)])
    return library


def _run(command: Sequence[str]) -> None:
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode:
        said = result.stdout.strip().splitlines() or ["no output"]
        shown = next((line for line in said if "error" in line), said[-1])
        _fail(f"{command[0]} ended with code {result.returncode}: {shown.strip()}")


def _install(definitions: Path, work: Path, library: Path) -> None:
    """Install a package for Python, the dynamic loader and the tools of ROS 2, replacing one that was built here.

    The Python package is moved into place last, by one rename, so that an interrupted build leaves nothing importable.
    """
    package = definitions.name
    python, share = work / "install_python", work / "install_share"
    shutil.copytree(work / _PYTHON / package, python, ignore=shutil.ignore_patterns("*.c*", "*.o", "*.h"))
    shutil.copy2(library, python / library.name)
    (python / MARK).write_text(_mark_of(definitions), encoding="utf-8")
    for source in (work / "idl" / package, work / _HASHES / package):
        shutil.copytree(source, share, dirs_exist_ok=True)
    for path in _definition_files(definitions):
        shutil.copy2(definitions / path, share / path)
    shown = sorted(path for path in share.rglob("*") if path.suffix in (".idl", ".msg", ".srv", ".action"))
    _replace(share, ROOT / "share" / package, work)
    names = [path.relative_to(share).as_posix() for path in shown]
    (ROOT / INDEX / package).write_text("\n".join(names) + "\n", encoding="utf-8")
    (ROOT / INDEX).with_name("packages").joinpath(package).touch()
    for part in _PARTS:
        link = ROOT / "lib" / f"lib{package}__{part}.so"
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(SITE.resolve() / package / library.name, (ROOT / "lib").resolve()))
    _replace(python, SITE / package, work)


def _replace(new: Path, place: Path, work: Path) -> None:
    if place.exists():
        place.rename(work / f"old_{new.name}")
    new.rename(place)


if __name__ == "__main__":
    main()
