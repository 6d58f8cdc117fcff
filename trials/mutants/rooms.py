# SPDX-License-Identifier: Apache-2.0
"""The rooms of the core: their files, and the tests that judge them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Room(NamedTuple):
    """Patterns of files below a root. Tests of another room's folder judge too where they import this one."""

    sources: Sequence[str]
    tests: Sequence[str]
    root: Path = ROOT

    def source_files(self) -> list[str]:
        """Relative to the root."""
        return sorted(set(self._found(self.sources)))

    def test_files(self) -> list[str]:
        """Relative to the root."""
        return sorted(set(self._found(self.tests)))

    def _found(self, patterns: Sequence[str]) -> Iterator[str]:
        for pattern in patterns:
            paths = list(self.root.glob(pattern))
            if not paths:
                raise FileNotFoundError(f"no file is called {pattern} below {self.root}; mend trials/mutants/rooms.py")
            yield from (path.relative_to(self.root).as_posix() for path in paths)


def _library(name: str, *others: str) -> Room:
    """A room of the library, judged by all of its unit tests and by some of other rooms."""
    tests = (f"test/unit/{name}/test_*.py", *(f"test/unit/{one}.py" for one in others))
    return Room((f"ada_dynamics/{name}/**/*.py",), tests)


def _of(folder: str, names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/test_{name}" for name in names.split())


def _device(*sources: str, names: str) -> Room:
    """Codecs of a device."""
    return Room(sources, tuple(f"test/unit/hardware/test_{name}.py" for name in names.split()))


# Tests that take minutes, compare with fleets of robots or need a device stay out: what they alone would see, counts as
# not seen.
ROOMS = {
    "expr": _library("expr", "jit/test_jit_kernel"),
    "jit": _library(
        "jit",
        "expr/test_columns",
        "dynamics/test_trees_against_pinocchio",
        *_of("simulation", "integrators motion_derivatives"),
    ),
    "spatial": _library("spatial"),
    "model": _library("model", *_of("algorithms", "ada_thin_links joint_types springs"), "dynamics/test_helical"),
    "algorithms": _library(
        "algorithms",
        *_of("dynamics", "along_loops closed_derivatives compiled_quantities front_door helical parameters"),
        *_of("simulation", "consistent contact contact_input profiles stops"),
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
    "safety": Room(
        ("ada_robot/safety/*.py", "ada_robot/limits.py", "ada_robot/command_guard.py"),
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
        "ada_hardware/kondo/rcb*/commands.py",
        names="kondo_codecs kondo_emulators",
    ),
    "codecs": _device(
        "ada_hardware/*/packets.py",
        "ada_hardware/*/*/codec.py",
        "ada_hardware/kondo/rcb*/commands.py",
        "ada_hardware/force_torque/rdt/driver.py",
        names="*_codec* hexa_packets pa10_controller kondo_emulators rdt force_torque_drivers",
    ),
}
