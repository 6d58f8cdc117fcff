# SPDX-License-Identifier: Apache-2.0
"""urdfdom, the parser of RViz, MoveIt and ros2_control, reads every published description and shipped file."""

import contextlib
import shutil
import subprocess

import pytest

import ada_dynamics as ada
from ada_dynamics.robots.catalogue import entry
from ada_dynamics.robots.writers import SPELLINGS, Inexpressible, render
from ada_dynamics.simulation.record.recorder import description

CHECK_URDF = shutil.which("check_urdf")
needs_urdfdom = pytest.mark.skipif(CHECK_URDF is None, reason="check_urdf is missing: apt-get install liburdfdom-tools")


def check(text, tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_text(text, encoding="utf-8")
    return subprocess.run([CHECK_URDF, file], capture_output=True, text=True)


@needs_urdfdom
def test_urdfdom_reads_the_description_and_all_files_of_every_robot_of_the_catalogue(tmp_path):
    for name in ada.robots():
        model = ada.load(name)
        texts = [description(model), entry(name).path.read_text(encoding="utf-8")]
        for spelling in SPELLINGS:
            with contextlib.suppress(Inexpressible):
                texts += [text for ending, text in render(model, spelling).texts.items() if ending == ".urdf"]
        for text in texts:
            found = check(text, tmp_path)
            assert found.returncode == 0, f"{name}: {found.stdout}{found.stderr}"


@needs_urdfdom
@pytest.mark.parametrize("kind", ["spherical", "cylindrical", "universal"])
def test_urdfdom_reads_written_files_with_joints_that_urdf_lacks(kind, tmp_path):
    builder = ada.Builder("pair").link("base").link("arm", mass=1.0)
    axes = {"spherical": {}, "cylindrical": {"axis": (0, 0, 1)}, "universal": {"axis": (0, 0, 1), "axis2": (0, 1, 0)}}
    model = builder.joint("joint", kind, "base", "arm", **axes[kind]).build()
    found = check(render(model, "loop_joint").texts[".urdf"], tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
