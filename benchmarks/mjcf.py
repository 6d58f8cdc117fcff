# SPDX-License-Identifier: Apache-2.0
"""Which MJCF files of the world are read here, and how far from MuJoCo: `python -m benchmarks.mjcf FOLDER ...`.

The files belong to others and are not part of this package. They are had by

    pip download --no-deps dm_control && unzip dm_control-*.whl -d dm_control
    git clone --depth 1 https://github.com/google-deepmind/mujoco
    git clone --depth 1 https://github.com/google-deepmind/mujoco_menagerie

and found below the folders that are given, and in what is installed.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ada_dynamics.errors import AdaError
from ada_dynamics.execution import silence_logger
from ada_dynamics.robots.load import find_robot
from benchmarks.mjcf_comparison import compare

SUITE = (
    "acrobot ball_in_cup cartpole cheetah dog finger fish hopper humanoid humanoid_CMU lqr manipulator pendulum "
    "point_mass quadruped reacher stacker swimmer walker"
)
FILES = (
    *(f"dm_control/suite/{name}.xml" for name in SUITE.split()),
    "model/humanoid/humanoid.xml",
    "model/slider_crank/slider_crank.xml",
    "universal_robots_ur5e/ur5e.xml",
    "robotiq_2f85/2f85.xml",
)
INSTALLED = ("dm_control", "mujoco_menagerie")
LIMIT = 1e-9  # largest relative difference that is rounding
_COLUMNS = ("mass", "mass_matrix", "efforts", "accelerations", "gaps")


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 0, or 1 where a file that is read differs from MuJoCo."""
    parser = argparse.ArgumentParser("python -m benchmarks.mjcf", description=__doc__)
    parser.add_argument("folder", nargs="*", type=Path, help="where to look for the files, at any depth")
    parser.add_argument("--all", action="store_true", help="every .xml file below the folders, not only those known")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    chosen = parser.parse_args(arguments)
    for folder in chosen.folder:
        if not folder.is_dir():
            parser.error(f"there is no folder {str(folder)!r}")
    folders = [*chosen.folder, *_installed()]
    files = _below(chosen.folder) if chosen.all else _known(folders)
    rows = []
    for name, path in files.items():
        with silence_logger("ada_dynamics", logging.ERROR):  # the table does not list ignored elements
            rows.append(_row(name, path))
        print(_text(rows[-1]), flush=True)
    counts = {kind: sum(row["state"] == kind for row in rows) for kind in ("same", "differs", "refused", "not found")}
    print(f"\n{len(rows)} files: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    print(f"same: every difference below {LIMIT:g}, relative to the largest value (gaps in m)")
    if counts["not found"]:
        print("files that are not found are had as `python -m benchmarks.mjcf --help` says")
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 1 if counts["differs"] else 0


def _installed() -> list[Path]:
    """Folders of installed packages that carry such files."""
    specs = [find_spec(name) for name in INSTALLED]
    return [Path(place).parent for spec in specs if spec for place in spec.submodule_search_locations or ()]


def _known(folders: Iterable[Path]) -> dict[str, Path | None]:
    found: dict[str, Path | None] = dict.fromkeys(FILES)
    for folder in folders:
        for path in sorted(folder.rglob("*.xml")):
            place = path.resolve().as_posix()
            for name in FILES:
                if found[name] is None and place.endswith(f"/{name}"):
                    found[name] = path
    return found


def _below(folders: Iterable[Path]) -> dict[str, Path | None]:
    return {str(path): path for folder in folders for path in sorted(folder.rglob("*.xml"))}


def _row(name: str, path: Path | None) -> dict[str, Any]:
    if path is None:
        return {"file": name, "state": "not found"}
    start = time.perf_counter()
    try:
        notes = find_robot(path)[1].notes
        took = time.perf_counter() - start
        found = compare(path)
    except AdaError as problem:
        return {"file": name, "state": "refused", "why": str(problem)}
    state = "same" if found.worst < LIMIT else "differs"
    figures = {what: None if value != value else value for what, value in asdict(found).items()}  # JSON has no nan
    return {"file": name, "state": state, **figures, "seconds": took, "notes": notes}


def _text(row: dict[str, Any]) -> str:
    if "mass" not in row:
        return f"{row['file'][-44:]:<44} {row['state']}" + (f": {row['why']}" if "why" in row else "")
    figures = "  ".join(f"{what} -" if row[what] is None else f"{what} {row[what]:.0e}" for what in _COLUMNS)
    meshes = "  (MuJoCo without meshes, which are not there)" if row["without_meshes"] else ""
    return f"{row['file'][-44:]:<44} {row['state']:<8} nv {row['velocities']:3}  {figures}{meshes}"


if __name__ == "__main__":
    sys.exit(main())
