# SPDX-License-Identifier: Apache-2.0
"""The map between motors and joints: against closed forms, differences and power."""

import numpy as np
import pytest
from ankles import g1, turned_x, turned_y
from loop_robots import mechanism

import ada_dynamics as ada
from ada_dynamics.transmission import export_transmission, polynomial

MOTORS, JOINTS = ["left_crank", "right_crank"], ["ankle_pitch", "ankle_roll"]


@pytest.fixture(scope="module")
def ankle():
    model, q = mechanism("parallel_ankle")
    return ada.Transmission(model, MOTORS, JOINTS, q)


@pytest.fixture(scope="module")
def joints():
    return np.random.default_rng(0).uniform([-0.5, -0.35], [0.5, 0.35], (1000, 2))


def cranks(pitch, roll):
    """Both cranks in closed form: |R_y(pitch) R_x(roll) end - motor - R_y(angle) (-0.045, 0, 0)| = rod."""
    found = []
    for y, rod in ((0.035, 0.16), (-0.035, 0.24)):  # rods are as long as the motors are high
        d = turned_y(pitch) @ turned_x(roll) @ (-0.05, y, 0.0) - (0.0, y, rod)
        c = (d @ d + 0.045**2 - rod**2) / (2.0 * 0.045)  # d_z sin - d_x cos = c
        found.append(np.arctan2(d[2], -d[0]) + np.arccos(c / np.hypot(d[0], d[2])))
    return found


def test_both_directions_agree_with_the_closed_form(ankle, joints):
    state = ankle.from_joints(joints)
    np.testing.assert_allclose(state.motors, [cranks(*row) for row in joints], atol=1e-12)
    back = ankle.from_motors(state.motors)
    np.testing.assert_allclose(back.joints, joints, atol=1e-10)


def test_other_joints_of_a_whole_robot_are_locked():
    left = g1()  # of a robot with two ankles
    assert {name.split("_")[0] for name in left.transmission.model.joint_names} == {"left"}
    state = left.transmission.from_joints([0.1, -0.05])
    np.testing.assert_allclose(state.motors, left.motors(0.1, -0.05), atol=1e-12)


def test_velocities_accelerations_and_curvature_are_derivatives_of_the_closed_form(ankle):
    y, v, a, h = np.array([0.2, -0.15]), np.array([0.7, -1.1]), np.array([-2.0, 3.0]), 1e-4
    state = ankle.from_joints(y)
    path = np.array([cranks(*(y + v * t + a * t * t / 2)) for t in (-h, 0.0, h)])
    velocity, acceleration = (path[2] - path[0]) / (2 * h), (path[2] - 2 * path[1] + path[0]) / h**2
    np.testing.assert_allclose(state.motor_velocities(v), velocity, atol=1e-6)
    np.testing.assert_allclose(state.motor_accelerations(v, a), acceleration, atol=1e-5)
    np.testing.assert_allclose(state.joint_velocities(state.motor_velocities(v)), v, atol=1e-12)
    back = state.joint_accelerations(state.motor_velocities(v), state.motor_accelerations(v, a))
    np.testing.assert_allclose(back, a, atol=1e-10)
    moved = [ankle.from_motors(state.motors + h * e, near=state).jacobian for e in np.eye(2)]
    for k, jacobian in enumerate(moved):
        np.testing.assert_allclose(state.hessian[..., k], (jacobian - state.jacobian) / h, atol=1e-2)


def test_efforts_keep_the_power_and_agree_with_inverse_dynamics(ankle, joints):
    state = ankle.from_joints(joints)
    rng = np.random.default_rng(1)
    v, tau = rng.normal(size=(2, len(joints), 2))
    power = np.sum(state.motor_efforts(tau) * state.motor_velocities(v), axis=1)
    np.testing.assert_allclose(power, np.sum(tau * v, axis=1), atol=1e-11)
    np.testing.assert_allclose(state.joint_efforts(state.motor_efforts(tau)), tau, atol=1e-11)
    # the weight of the whole mechanism at the joints, carried by the motors
    dyn = ankle.dynamics
    zero = np.zeros(ankle.model.nv)
    for q, motors in zip(state.q[:20], dyn.inverse(state.q[:20], zero, zero), strict=True):
        T = dyn.constraints.tangent_map(q, JOINTS)
        expected = ada.Transmission(ankle.model, MOTORS, JOINTS, q).from_joints(q[ankle.by_joints.places])
        own = motors[[ankle.model.v_index(name).start for name in MOTORS]]
        np.testing.assert_allclose(expected.joint_efforts(own), T.T @ dyn.gravity(q), atol=1e-11)


def test_stiffness_is_the_derivative_of_the_elastic_efforts_and_inertia_that_of_the_energy(ankle):
    K, rest, h = np.diag([30.0, 12.0]), np.array([0.1, 0.0]), 1e-6
    state = ankle.from_joints([0.25, -0.1])

    def efforts(motors):
        at = ankle.from_motors(motors, near=state)
        return at.motor_efforts(K @ (rest - at.joints))

    slope = np.array([(efforts(state.motors - h * e) - efforts(state.motors + h * e)) / (2 * h) for e in np.eye(2)]).T
    found = state.motor_stiffness([30.0, 12.0], K @ (rest - state.joints))
    np.testing.assert_allclose(found, slope, atol=1e-5)
    np.testing.assert_allclose(state.joint_stiffness(state.motor_stiffness(K)), K, atol=1e-9)
    v = np.array([0.3, -0.8])
    whole = ankle.dynamics.constraints.complete_velocity(state.q, v, MOTORS)
    kinetic = ankle.dynamics.energy(state.q, whole).kinetic
    assert 0.5 * v @ state.motor_inertia @ v == pytest.approx(kinetic, rel=1e-12)
    np.testing.assert_allclose(
        state.joint_inertia, state.inverse_jacobian.T @ state.motor_inertia @ state.inverse_jacobian, rtol=1e-9
    )


def test_the_workspace_and_what_cannot_be_reached(ankle):
    space = ankle.workspace(9, "joints")
    assert (space.status == 0).all() and space.motors.shape == (81, 2)
    assert ankle.is_reachable([0.3, 0.1]) and not ankle.is_reachable([1.6, 1.4])
    with pytest.raises(ada.InputError):
        ada.Transmission(ada.load("five_bar"), ["left_crank", "right_crank"], ["left_rod", "right_rod"]).workspace()
    with pytest.raises(ada.InputError) as few:
        ada.Transmission(ankle.model, ["left_crank"], ["ankle_pitch"])
    assert few.value.field == "coordinates"


def test_polynomials_state_their_error(ankle, joints):
    errors = []
    for order in (1, 3, 5):
        fit = polynomial(ankle, order, "joints", samples=15)
        exact = ankle.from_joints(joints).motors
        errors.append(np.abs(fit(joints) - exact).max())
        assert errors[-1] <= 1.1 * fit.max_error.max()
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert "ankle_roll" in polynomial(ankle, 2, "joints").yaml()
    model, q = mechanism("parallel_knee")
    knee = ada.Transmission(model, ["crank"], ["knee"], q)
    fit = polynomial(knee, 4, "joints", ["crank", "rod"], [(0.2, 1.0)])
    assert fit.polycoef().count("<joint ") == 2 and fit.max_error.max() < 1e-3
    assert polynomial(knee, 1, "joints").mimic().startswith('<mimic joint="knee"')
    with pytest.raises(ada.InputError):
        fit.mimic()


def test_mujoco_follows_the_polynomial_of_a_knee():
    mujoco = pytest.importorskip("mujoco")
    model, q = mechanism("parallel_knee")
    knee = ada.Transmission(model, ["crank"], ["knee"], q)
    fit = polynomial(knee, 4, "joints", ["crank"], [(0.2, 1.0)])
    arm = (
        '<body pos="0 {} 0"><joint name="{}" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size=".1"/></body>'
    )
    bodies = "".join(arm.format(i, name) for i, name in enumerate(("knee", "crank")))
    text = f"<mujoco><option gravity='0 0 0'/><worldbody>{bodies}</worldbody>{fit.polycoef()}</mujoco>"
    other = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(other)
    for angle in (0.3, 0.6, 0.9):
        data.qpos[:] = angle, knee.from_joints([angle]).motors[0]
        mujoco.mj_forward(other, data)
        assert abs(data.efc_pos[0]) < 2 * fit.max_error[0]


def test_refusals_of_the_export(ankle, tmp_path):
    for wrong in ({"target": "rust"}, {"name": "2 legs"}):
        with pytest.raises(ada.InputError):
            export_transmission(ankle, directory=tmp_path, **wrong)
