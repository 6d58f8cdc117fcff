# SPDX-License-Identifier: Apache-2.0
"""Every file that is written of a robot of the catalogue is read by us, by MuJoCo and by urdfdom."""

import pytest
from written_files import refusals

import ada_dynamics as ada

pytest.importorskip("mujoco")


@pytest.mark.parametrize("name", ada.robots())
def test_readers_and_engines_take_all_files_that_are_written(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warnings there
    assert refusals(name, tmp_path, processes=True) == {}
