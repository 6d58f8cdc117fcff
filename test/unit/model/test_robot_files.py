# SPDX-License-Identifier: Apache-2.0
"""Descriptions of real robots are read as pinocchio reads them, and checked without false alarms."""

from dataclasses import replace
from functools import cached_property
from xml.etree import ElementTree

import numpy as np
import pytest
from foreign_robots import SHARE
from refused import refusal

import ada_dynamics as ada
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import link_poses
from ada_dynamics.robots.check import check
from ada_dynamics.robots.load import load

pin = pytest.importorskip("pinocchio")


# URDF files of the package example-robot-data, which lie beside pinocchio's in cmeel's prefix
FILES = sorted((SHARE / "example-robot-data/robots").rglob("*.urdf")) if SHARE else []
ROBOTS = {path.stem if path.stem != "anymal" else path.parent.parent.name: path for path in FILES}
EMPTY = "ur3"  # a file without links
DANGLING_MIMIC = "alex_psyonic_hands"  # fingers mimic joints that are not there
WITHOUT_JOINTS = {"quadrotor_base", "iris_simple"}
# Robots whose makers took care; every finding in one of them is a false alarm, or nearly so.
CLEAN = set("panda ur5_robot ur10_robot ur3_robot xarm7 z1 go2 kinova solo solo12 laikago tiago_pro".split())  # noqa: SIM905

pytestmark = pytest.mark.skipif(not ROBOTS, reason="needs the package example-robot-data")


class Robot:
    """One of them, each of its readings made once."""

    def __init__(self, name):
        self.name, self.path = name, ROBOTS[name]

    @cached_property
    def report(self):
        return check(self.path)

    @cached_property
    def free(self):
        return load(self.path, mimic="free")

    @cached_property
    def theirs(self):
        return pin.buildModelFromUrdf(str(self.path))


@pytest.fixture(scope="module", params=[name for name in ROBOTS if name != EMPTY])
def robot(request):
    return Robot(request.param)


def test_a_robot_whose_fingers_mimic_nobody_is_refused_by_name_and_read_with_free_fingers():
    refusal(ROBOTS[DANGLING_MIMIC], "'Left_index_q2'", "<mimic>", "Did you mean 'Left_index_q1'")
    assert load(ROBOTS[DANGLING_MIMIC], mimic="free").nq == 39


def test_a_robot_has_the_frames_masses_and_limits_that_pinocchio_reads(robot):
    ours, theirs = robot.free, robot.theirs
    assert sorted(ours.joint_names) == sorted(list(theirs.names)[1:])
    q, _ = ours.random_state(np.random.default_rng(1))
    q = np.clip(q, -3.0, 3.0)
    position = pin.neutral(theirs)
    for joint in ours.joint_names:
        own, k = theirs.joints[theirs.getJointId(joint)], ours.q_index(joint)
        if own.nq == 1:
            position[own.idx_q] = q[k][0]
        elif own.nq == 2:
            position[own.idx_q : own.idx_q + 2] = np.cos(q[k][0]), np.sin(q[k][0])
        else:  # a free body, the same in both
            position[own.idx_q : own.idx_q + own.nq] = ours.neutral()[k]
            q[k] = ours.neutral()[k]
    data = theirs.createData()
    pin.framesForwardKinematics(theirs, data, position)
    own_poses = link_poses(ours, q)
    for index, frame in enumerate(theirs.frames):
        if frame.type == pin.BODY and frame.name in own_poses:
            R, p = own_poses[frame.name]
            np.testing.assert_allclose(R, data.oMf[index].rotation, atol=1e-12)
            np.testing.assert_allclose(p, data.oMf[index].translation, atol=1e-12)
    moving = sum(float(b.inertia.mass) for b in ours.tree.bodies)
    assert moving == pytest.approx(sum(i.mass for i in list(theirs.inertias)[1:]), rel=1e-12)
    for body in ours.tree.bodies:
        own = theirs.inertias[theirs.getJointId(body.name)]
        assert own.mass == pytest.approx(float(body.inertia.mass), abs=1e-8)


def scaled_least_eigenvalue(model: pin.Model) -> float:
    """Least eigenvalue of pinocchio's mass matrix, rows and columns scaled to a unit diagonal, at a random pose."""
    pin.seed(1)
    q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    upper = np.triu(pin.crba(model, model.createData(), q))
    M = upper + np.triu(upper, 1).T
    if (np.diag(M) <= 0.0).any():
        return 0.0
    scale = 1.0 / np.sqrt(np.diag(M))
    return float(np.linalg.eigvalsh(M * scale[:, None] * scale)[0])


def test_the_check_says_singular_where_pinocchios_mass_matrix_is_and_raises_no_false_alarm(robot):
    report = robot.report
    assert str(report)
    assert report.to_dict()["ok"] == report.ok
    if robot.name in CLEAN:
        assert report.errors == report.warnings == []
    if robot.name not in WITHOUT_JOINTS:
        is_singular = any(f.code == "singular" for f in report.errors)
        assert is_singular == (scaled_least_eigenvalue(robot.theirs) < 1e-9)


def test_a_robot_is_read_with_its_mimics_and_may_float_unless_they_mimic_nobody(robot):
    if robot.name == DANGLING_MIMIC:
        assert not robot.report.ok
    else:
        joints = ElementTree.parse(robot.path).getroot().findall("joint")
        followers = sum(one.find("mimic") is not None and one.get("type") != "fixed" for one in joints)
        assert load(robot.path, base="floating").nv == robot.free.nv - followers + 6


@pytest.mark.parametrize("file", ["cassie_v2.sdf", "cassie_wo_gearbox_spring.sdf"])
def test_the_springs_of_cassie_pull_as_much_as_its_file_says(file):
    path = next(iter(ROBOTS.values())).parents[2] / "cassie_description/robots" / file
    model = ada.load(path)
    said = {
        joint.get("name"): float(joint.findtext("axis/dynamics/spring_stiffness") or 0.0)
        for joint in ElementTree.parse(path).iter("joint")
    }
    springs = {name: k for name, k in said.items() if k and name in model.joint_names}
    assert len(springs) == 4
    q, _ = model.random_state(np.random.default_rng(0))
    zero = np.zeros(model.nv)
    slack = Parts.of(model)
    slack.joints = {name: replace(joint, stiffness=0.0) for name, joint in slack.joints.items()}
    pull = ada.Dynamics(model).bias(q, zero) - ada.Dynamics(slack.build()).bias(q, zero)
    wanted = np.zeros(model.nv)
    for name, k in springs.items():
        wanted[model.v_index(name)] = k * q[model.q_index(name)]
    assert np.allclose(pull, wanted, rtol=1e-10, atol=1e-9)
