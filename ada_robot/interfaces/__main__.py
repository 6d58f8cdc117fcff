# SPDX-License-Identifier: Apache-2.0
"""`python -m ada_robot.interfaces`: build the message packages missing on PyPI."""

from __future__ import annotations

import argparse
import hashlib
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
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from ada_dynamics._version import __version__
from ada_dynamics.errors import INTERRUPTED, USAGE_ERROR, AdaError, CompileError, InputError
from ada_dynamics.resources import how_to_install
from ada_robot.interfaces import generate
from ada_robot.processes import posix_module, restore_sigint

NAME = "python -m ada_robot.interfaces"
DEFINITIONS = Path(__file__).parent / "definitions"  # packages that the nodes need and PyPI lacks
MARK = "built_by_ada_dynamics"  # file in a built package with its sources and tools; other packages are not modified
ROOT, SITE = Path(sys.prefix), Path(sysconfig.get_path("platlib"))
_WHEELS = ("share/rosidl_generator_py/resource", "lib/librosidl_runtime_c.so")  # the last ones of the generators
_WORK = ".ada_interfaces-"  # prefix of temporary folders
_TYPE_OF_PACKAGE = re.compile(r"(?m)^\s*([a-z][a-z0-9_]*)/")
# libraries that other message packages have separately; the library built here replaces all of them
_PARTS = ("rosidl_generator_c", "rosidl_generator_py", "rosidl_typesupport_c", *generate.TYPE_SUPPORTS)
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the missing packages and return the exit code."""
    if arguments is None:
        restore_sigint()
    parser = argparse.ArgumentParser(
        NAME,
        description="Build the message packages that PyPI lacks (tf2_msgs, for /tf) into this virtual environment, "
        "with the generators of the ROS 2 wheels. Packages that can be imported already are left alone.",
    )
    parser.add_argument(
        "--from",
        dest="folder",
        type=Path,
        default=DEFINITIONS,
        metavar="DIR",
        help="folder of packages: DIR/PACKAGE/{msg,srv,action}/* (default: those that the nodes need)",
    )
    try:
        _build_missing(parser.parse_args(arguments).folder.resolve())
    except AdaError as problem:
        print(f"{NAME}: error: {' '.join(str(problem).split())}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print(f"{NAME}: interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0


def _build_missing(folder: Path) -> None:
    packages = sorted(path for path in folder.iterdir() if generate.definition_files(path)) if folder.is_dir() else []
    if not packages:
        raise InputError(f"{folder} has no interface packages of the form PACKAGE/msg/Type.msg (or srv, action).")
    for definitions in packages:
        if place := _found(definitions):
            print(f"{definitions.name}: there already, in {place}")
            continue
        check_environment(os.environ)
        compilers = _compilers(os.environ)
        with (ROOT / ".ada_interfaces.lock").open("w") as lock:  # concurrent builds wait for each other
            locking = posix_module("fcntl", "Building message packages")
            locking.flock(lock, locking.LOCK_EX)
            for remains in ROOT.glob(f"{_WORK}*"):  # of killed builds
                shutil.rmtree(remains, ignore_errors=True)
            begin = time.monotonic()
            if place := _found(definitions):
                print(f"{definitions.name}: there already, in {place}")
                continue
            print(f"{definitions.name}: building, which needs seconds to minutes", flush=True)
            with tempfile.TemporaryDirectory(dir=ROOT, prefix=_WORK) as work:
                _build(definitions, Path(work), compilers)
            print(f"{definitions.name}: built in {time.monotonic() - begin:.1f} s, in {SITE / definitions.name}")


def check_environment(environment: Mapping[str, str]) -> None:
    """Check that packages can be built into the environment of this Python.

    Args:
        environment: environment variables, which show whether a ROS is sourced.

    Raises:
        InputError: if it is no virtual environment, a ROS is sourced, or the wheels are missing.
    """
    sourced = environment.get("ROS_DISTRO")
    if sourced:
        raise InputError(
            f"ROS 2 {sourced} is sourced, and must not be mixed with other packages. Install the missing "
            f"package there: sudo apt install ros-{sourced}-tf2-msgs"
        )
    if sys.prefix == sys.base_prefix:
        raise InputError(
            f"{sys.prefix} is no virtual environment; packages are not built into the system's Python. "
            f"Create one: python3 -m venv .venv && . .venv/bin/activate && {how_to_install('ros')} "
            "(a checkout: make setup)"
        )
    if not all(Path(sys.prefix, path).exists() for path in _WHEELS):
        raise InputError(
            f"the ROS 2 wheels with the message generators are missing in {sys.prefix}; they exist for Linux on x86-64 "
            f"with Python 3.10 to 3.14. Install: {how_to_install('ros')} (a checkout: make setup)"
        )


def _compilers(environment: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the commands of the compilers, named by the variables CC and CXX, or found on the path.

    Raises:
        InputError: if a compiler or Python.h is missing; the message has the command that installs it.
    """
    found: dict[str, tuple[str, ...]] = {}
    lacks = []
    for variable, names, what in (("CC", ("gcc", "cc", "clang"), "C"), ("CXX", ("g++", "c++", "clang++"), "C++")):
        given = shlex.split(environment.get(variable, ""))
        commands = [given] if given else [[name] for name in names]
        usable = [one for one in commands if shutil.which(one[0], path=environment.get("PATH", ""))]
        if usable:
            found[variable] = tuple(usable[0])
        else:
            lacks.append(f"a {what} compiler ({' or '.join(one[0] for one in commands[:2])})")
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        lacks.append(f"Python.h (in {sysconfig.get_path('include')})")
    if lacks:
        raise InputError(
            f"not found: {' and '.join(lacks)}; without the built packages, nodes run and publish no /tf. On Debian "
            f"and Ubuntu: sudo apt install g++ python3-dev"
        )
    return found


def _found(definitions: Path) -> Path | None:
    """Return the folder of an importable package, or None if it is missing or was built from other sources."""
    importlib.invalidate_caches()
    found = importlib.util.find_spec(definitions.name)
    if found is None or found.origin is None:
        return None
    place = Path(found.origin).parent
    mark = place / MARK
    return None if mark.is_file() and mark.read_text(encoding="utf-8") != _mark_of(definitions) else place


def _mark_of(definitions: Path) -> str:
    """Return sources and tools of a build as text, to detect changes."""
    digest = hashlib.sha256()
    for path in generate.definition_files(definitions):
        digest.update(path.as_posix().encode() + b"\0" + (definitions / path).read_bytes() + b"\0")
    wheels = sorted(
        f"{one.metadata['Name']} {one.version}".lower()
        for one in importlib.metadata.distributions()
        if str(one.metadata["Name"]).lower().startswith("ros-")
    )
    made_by = f"ada_dynamics {__version__}, Python {sys.version_info.major}.{sys.version_info.minor}"
    return "\n".join([made_by, f"definitions sha256 {digest.hexdigest()}", *wheels]) + "\n"


def _build(definitions: Path, work: Path, compilers: Mapping[str, Sequence[str]]) -> None:
    """Generate, compile and install a package.

    Raises:
        InputError: if a definition is invalid, or uses an unknown package.
        CompileError: if a compiler fails; the message contains its output.
    """
    texts = ((definitions / path).read_text(encoding="utf-8") for path in generate.definition_files(definitions))
    used = {name for text in texts for name in _TYPE_OF_PACKAGE.findall(text)} - {definitions.name}
    lacking = sorted(used - {path.name for path in (ROOT / generate.INTERFACES).iterdir()})
    if lacking:
        wheels = " ".join(f"ros-{name.replace('_', '-')}" for name in lacking)
        raise InputError(
            f"{definitions} uses {', '.join(lacking)}, missing in {ROOT}. Install from PyPI: pip install {wheels}"
        )
    command = [sys.executable, generate.__file__, *map(str, (definitions, ROOT, work))]
    environment = {**os.environ, "AMENT_PREFIX_PATH": str(ROOT)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if result.returncode:
        said = result.stderr.strip().splitlines() or ["no reason given"]
        read = re.findall(r"(?m)^Reading input file: (.*)$", result.stdout) or [definitions]
        raise InputError(f"{read[-1]}: refused by the generators of ROS 2: {said[-1]}")
    _install(definitions, work, _compiled(definitions.name, work, compilers))


def _compiled(package: str, work: Path, compilers: Mapping[str, Sequence[str]]) -> Path:
    """Compile all generated sources to one library: C messages, type support, and conversion to Python."""
    roots = [work / generator for generator in generate.SOURCES]
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
    used = _used_packages(work) - {package}
    parts = sorted(str(ROOT / "lib" / f"lib{other}__{part}.so") for other in used for part in _PARTS)
    to_lib = os.path.relpath((ROOT / "lib").resolve(), SITE.resolve() / package)
    options = [
        "-shared",
        f"-Wl,-soname,lib{package}__rosidl_typesupport_c.so",
        f"-Wl,-rpath,$ORIGIN/{to_lib}",
        "-Wl,--as-needed",
    ]
    libraries = [f"-L{ROOT / 'lib'}", *(f"-l{name}" for name in _RUNTIME)]
    _run([*compilers["CXX"], *options, "-o", str(library), *objects, *parts, *libraries])
    return library


def _used_packages(work: Path) -> set[str]:
    """Return all packages referenced by the type descriptions."""
    found = set()
    for path in (work / generate.HASHES).rglob("*.json"):
        description = json.loads(path.read_text(encoding="utf-8"))["type_description_msg"]
        found |= {one["type_name"].split("/")[0] for one in description["referenced_type_descriptions"]}
        if path.parent.name == "action":  # references to status and cancellation are implicit
            found.add("action_msgs")
    return found


def _run(command: Sequence[str]) -> None:
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode:
        said = result.stdout.strip().splitlines() or ["no output"]
        shown = next((line for line in said if "error" in line), said[-1])
        raise CompileError(f"{command[0]} ended with code {result.returncode}: {shown.strip()}")


def _install(definitions: Path, work: Path, library: Path) -> None:
    """Install a package for Python, the dynamic loader and the tools of ROS 2, replacing one that was built here.

    The Python package is moved into place last, by one rename, so that an interrupted build leaves nothing importable.
    """
    package = definitions.name
    python, share = work / "install_python", work / "install_share"
    _copy((work / generate.PYTHON / package).rglob("*.py"), work / generate.PYTHON / package, python)
    shutil.copy2(library, python / library.name)
    (python / MARK).write_text(_mark_of(definitions), encoding="utf-8")
    for source in (work / "idl" / package, work / generate.HASHES / package):
        _copy([path for path in source.rglob("*") if path.is_file()], source, share)
    _copy((definitions / path for path in generate.definition_files(definitions)), definitions, share)
    interfaces = sorted(
        path.relative_to(share).as_posix()
        for path in share.rglob("*")
        if path.suffix in (".idl", ".msg", ".srv", ".action")
    )
    _replace(share, ROOT / "share" / package, work)
    (ROOT / generate.INTERFACES / package).write_text("\n".join(interfaces) + "\n", encoding="utf-8")
    (ROOT / generate.INTERFACES).with_name("packages").joinpath(package).touch()
    for part in _PARTS:
        link = ROOT / "lib" / f"lib{package}__{part}.so"
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(SITE.resolve() / package / library.name, (ROOT / "lib").resolve()))
    _replace(python, SITE / package, work)


def _copy(files: Iterable[Path], root: Path, target: Path) -> None:
    for path in files:
        copy = target / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)


def _replace(new: Path, place: Path, work: Path) -> None:
    if place.exists():
        place.rename(work / f"old_{new.name}")
    new.rename(place)


if __name__ == "__main__":
    sys.exit(main())
