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


def _library(name: str, *tests: str) -> Room:
    return Room((f"ada_dynamics/{name}/**/*.py",), tuple(f"test/{one}.py" for one in tests))


def _of(folder: str, names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/test_{name}" for name in names.split())


# Tests that take minutes, compare with fleets of robots or need a device stay out: what they alone would see, counts as
# not seen.
ROOMS = {
    "expr": _library("expr", *_of("expr", "*"), "jit/test_tape_kernel"),
    "jit": _library(
        "jit",
        *_of(
            "jit",
            "cuda device_array jit_* keeping kernels lane_text lanes march_memory ptx spares table_entry tape_kernel",
        ),
        *_of("jit", "tape_large threads"),
        "expr/test_columns",
        "dynamics/test_generic_ada",
        *_of("simulation", "marches motion_derivatives"),
    ),
    "spatial": _library("spatial", *_of("spatial", "*")),
    "model": _library(
        "model",
        *_of("model", "adjustable building check configuration_rows coordinates edit edit_recut joint_kinds load"),
        *_of("model", "loop_formats mechanisms mechanisms_oracle read_only shapes small_geometry turns urdf_reader"),
        *_of("model", "urdf_refusals"),
        *_of("algorithms", "ada_thin_links joint_types springs"),
        "dynamics/test_helical",
    ),
    "algorithms": _library(
        "algorithms",
        *_of("algorithms", "*"),
        *_of("dynamics", "along_loops closed_derivatives compiled_quantities front_door helical parameters"),
        *_of("simulation", "consistent contact contact_input profiles stops"),
        "analysis/test_balance",
        "hybrid/test_hybrid",
        "controllers/test_reaction_null_space",
        "identification/test_identify",
        "loops/test_check",
    ),
    "loops": _library(
        "loops",
        *_of("loops", "*"),
        *_of("dynamics", "along_loops closed inverse_at_singular_poses singular_passing solvers_of_loops"),
        *_of("analysis", "closing_joints singularity"),
    ),
    "dynamics": _library(
        "dynamics",
        *_of("dynamics", "along_loops ambient closed closed_derivatives closed_inverse compiled_quantities front_door"),
        *_of("dynamics", "generic_ada geometry_derivatives helical inverse_at_singular_poses long_chains"),
        *_of("dynamics", "loops_to_the_world on_device parameters poses row_threads second_derivatives"),
        *_of("dynamics", "singular_passing solvers_of_loops trees_against_pinocchio wrench_derivatives"),
        "algorithms/test_springs",
        "controllers/test_pose_servo",
    ),
    "safety": Room(
        ("ada_robot/safety/*.py", "ada_robot/limits.py", "ada_robot/command/*.py"),
        (
            "test/hardware/test_safety_[cmrs]*.py",
            "test/hardware/test_tool_rules.py",
            "test/hardware/test_arming.py",
            "test/hardware/test_flight_recorder.py",
            "test/hardware/test_robot_dry_run.py",
            "test/nodes/test_commands.py",
            "test/nodes/test_lateness.py",
            "test/frame/test_parameters_file.py",
        ),
    ),
    "codecs": Room(
        (
            "ada_hardware/*/packets.py",
            "ada_hardware/*/*/codec.py",
            "ada_hardware/*/*/messages.py",
            "ada_hardware/kondo/rcb*/commands.py",
            "ada_hardware/force_torque/rdt/[ns]*.py",
        ),
        (
            "test/hardware/test_*_codec*.py",
            "test/hardware/test_hexa_packets.py",
            "test/hardware/test_pa10_words.py",
            "test/hardware/test_kondo_emulators.py",
            "test/hardware/test_rcb1_motions.py",
            "test/hardware/test_rdt_*.py",
            "test/hardware/test_force_torque_drivers.py",
        ),
    ),
}
