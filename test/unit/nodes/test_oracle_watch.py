# SPDX-License-Identifier: Apache-2.0
"""What the oracle node reports over time, on a clock that the test moves, without ROS."""

import pytest

pytest.importorskip("pinocchio")

from ada_dynamics.clock import ManualClock
from ada_robot.ros.status import Level
from ada_tools.nodes.oracle.oracle_settings import OracleSettings
from ada_tools.nodes.oracle.oracle_watch import Arrived, OracleWatch

PENDULUM = """<robot name="pendulum">
  <link name="ceiling"/>
  <link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="pivot" type="continuous"><parent link="ceiling"/><child link="rod"/><axis xyz="1 0 0"/></joint>
</robot>"""


def test_after_a_silence_engines_agree_only_when_they_were_asked_again():
    clock = ManualClock(100.0)
    joints = ["pivot"], [0.3], [0.0], [0.0]
    watch = OracleWatch(lambda: OracleSettings(base="fixed"), lambda raw: joints, lambda raw: pytest.fail(), clock)
    watch.description = PENDULUM
    watch.joints = Arrived(clock(), b"before")
    assert watch.compare() is not None
    assert watch.status().level is Level.OK

    clock.advance(3.0)
    assert watch.status().message.startswith("no states for 3.0 s")
    watch.joints = Arrived(clock(), b"after")
    waiting = watch.status()
    assert waiting.level is Level.STALE
    assert waiting.message == "the newest comparison is 3.0 s old; the next one is under way"
    assert watch.compare() is not None
    again = watch.status()
    assert (again.level, again.values["compared"]) == (Level.OK, 2)
