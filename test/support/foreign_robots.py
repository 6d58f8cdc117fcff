# SPDX-License-Identifier: Apache-2.0
"""Robots of other people, of the package example-robot-data."""

import sys
from pathlib import Path

import pytest

SHARES = [Path(entry) / "cmeel.prefix/share" for entry in sys.path]
SHARE = next((share for share in SHARES if (share / "example-robot-data").is_dir()), None)
EIGHT = {
    "panda": "panda_description/urdf/panda.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "tiago": "tiago_description/robots/tiago.urdf",
    "so101": "so_arm_description/urdf/so101.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "anymal": "anymal_c_simple_description/urdf/anymal.urdf",
    "talos": "talos_data/robots/talos_full_v2.urdf",
    "pr2": "pr2_description/urdf/pr2.urdf",
}


def foreign_robot(name: str) -> Path:
    """File of one of the eight; skips where the package is not installed."""
    if SHARE is None:
        pytest.skip("needs the package example-robot-data")
    return SHARE / "example-robot-data/robots" / EIGHT[name]
