# SPDX-License-Identifier: Apache-2.0
"""`ada sim` of robots of other people, with its defaults: to the end, on their feet, within limits, in the picture."""

import json

import numpy as np
import pytest
from foreign_robots import SHARE

from ada_dynamics import Log
from ada_dynamics.contact.stops import limit_violations

ROBOTS = {
    "panda": ("panda_description/urdf/panda.urdf", "fixed"),
    "allegro": ("allegro_hand_description/urdf/allegro_right_hand.urdf", "fixed"),
    "tiago": ("tiago_description/robots/tiago.urdf", "fixed"),
    "pr2": ("pr2_description/urdf/pr2.urdf", "fixed"),
    "a1": ("a1_description/urdf/a1.urdf", "floating"),
    "g1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", "floating"),
    "talos": ("talos_data/robots/talos_reduced.urdf", "floating"),
    "icub": ("icub_description/robots/icub.urdf", "floating"),
}
ALWAYS = ("panda", "allegro", "a1")
QUICK, WHOLE = 0.6, 2.0  # [s] of motion
SWINGS = 0.2 / 1e-3  # [1/s], at least, of a joint in its stop


def _all() -> list:
    return [pytest.param(name, QUICK, id=name) for name in ALWAYS] + [
        pytest.param(name, WHOLE, id=f"{name}-whole", marks=pytest.mark.soak) for name in ROBOTS
    ]


@pytest.mark.parametrize(("name", "duration"), _all())
def test_a_foreign_robot_runs_to_its_end_within_its_limits_and_is_not_thrown(ada, tmp_path, name, duration):
    if SHARE is None:
        pytest.skip("needs the package example-robot-data")
    pytest.importorskip("mcap")
    path, base = ROBOTS[name]
    file = SHARE / "example-robot-data/robots" / path
    record = tmp_path / "run.mcap"
    flags = ("--base", base, "--duration", duration, "--json", "--record", record)
    code, out, err = ada("sim", file, *flags)
    assert (code, "StiffStepWarning" in err) == (0, False)
    log = Log.load(record)
    assert log.t[-1] == pytest.approx(duration)
    assert np.isfinite(log.q).all() and np.isfinite(log.v).all()
    # the speed of a joint carries it 1/SWINGS into its stop; 0.05 rad are for the weight of all that presses on it
    for joint, over in limit_violations(log.model, log.q).items():
        assert over < float(np.max(np.abs(log.v[:, -len(log.model.joint_names) :]))) / SWINGS + 0.05, joint
    soon = log.t <= 0.01
    falling = 0.5 * log.model.total_mass * (9.81 * log.t[soon]) ** 2
    assert (log.energy.kinetic[soon] <= 1.05 * falling + 1e-9).all()
    figures = json.loads(out)
    assert figures["energy_drift"] < 0.02
    if base == "floating":
        assert log.contact_wrenches
        assert figures["energy"]["contact"] > 0.0
        assert np.min(log.com[:, 2]) > 0.0
