# SPDX-License-Identifier: Apache-2.0
"""Areas of the core: their files and tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Area(NamedTuple):
    """Patterns of source files and test files."""

    sources: Sequence[str]
    tests: Sequence[str]

    def source_files(self, root: Path) -> list[str]:
        """Source files relative to a root."""
        return _files(root, self.sources)

    def test_files(self, root: Path) -> list[str]:
        """Test files relative to a root."""
        return _files(root, self.tests)


def _files(root: Path, patterns: Sequence[str]) -> list[str]:
    found = set()
    for pattern in patterns:
        paths = list(root.glob(pattern))
        if not paths:
            raise FileNotFoundError(f"no file is called {pattern} below {root}; correct trials/mutants/areas.py")
        found |= {path.relative_to(root).as_posix() for path in paths}
    return sorted(found)


def _library(name: str, *others: str) -> Area:
    """An area of the library, judged by all of its unit tests and by some of other areas."""
    tests = (f"test/unit/{name}/test_*.py", *(f"test/unit/{one}.py" for one in others))
    return Area((f"ada_dynamics/{name}/**/*.py",), tests)


def _of(folder: str, names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/test_{name}" for name in names.split())


def _device(*sources: str, names: str) -> Area:
    """Codecs of a device."""
    return Area(sources, tuple(f"test/unit/hardware/test_{name}.py" for name in names.split()))


# Tests that take minutes or need a device do not take part: what only they would detect counts as not detected.
AREAS = {
    "expr": _library("expr", "jit/test_jit_kernel"),
    "jit": _library(
        "jit",
        "expr/test_lanes",
        "dynamics/test_trees_against_pinocchio",
        *_of("simulation", "integrators motion_derivatives"),
    ),
    "spatial": _library("spatial", "model/test_geometry"),
    "model": _library("model", *_of("algorithms", "ada_thin_links joint_types springs"), "dynamics/test_helical"),
    "algorithms": _library(
        "algorithms",
        *_of("dynamics", "along_loops closed_derivatives dynamics geometry_derivatives helical"),
        "dynamics/test_quantities_against_pinocchio",
        *_of("simulation", "contact stops"),
        "analysis/test_balance",
        "hybrid/test_hybrid",
        "controllers/test_reaction_null_space",
        "identification/test_identify",
        "constraints/test_check",
    ),
    "constraints": _library(
        "constraints",
        *_of("dynamics", "along_loops closed inverse_at_singular_poses singular_passing solvers_of_loops"),
        "analysis/test_singularity",
    ),
    "dynamics": _library("dynamics", "algorithms/test_springs", "controllers/test_pose_servo"),
    "safety": Area(
        ("ada_robot/safety/*.py", "ada_robot/limits.py"),
        (
            "test/unit/hardware/test_safety_*.py",
            "test/unit/hardware/test_tool_rules.py",
            "test/unit/hardware/test_arming.py",
            "test/unit/nodes/test_commands.py",
            "test/unit/frame/test_pages.py",
            "test/process/hardware/test_flight_recorder.py",
        ),
    ),
    "pa10": _device("ada_hardware/pa10/packets.py", names="pa10_codec pa10_controller"),
    "kondo": _device(
        "ada_hardware/kondo/rcb*/codec.py",
        names="kondo_codecs kondo_emulators",
    ),
}
