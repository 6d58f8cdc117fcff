# SPDX-License-Identifier: Apache-2.0
"""The HEXA's mechanism in motion and its weight, against closed-chain dynamics, eq. 15 and balances."""

import math

import numpy as np
import pytest
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics.robots.mechanisms.parallel_robots import HexaGeometry
from ada_dynamics.spatial.orientation import pose_of
from ada_hardware.hexa.emulator import DAMPING, servo_torques
from ada_hardware.hexa.kinematics import HOME, HexaKinematics
from ada_hardware.hexa.plant import HexaPlant, Probe

TABLE = HexaKinematics()
POSE, POSITION, RPY = pose_of((0.02, -0.01, -0.52), (0.05, -0.03, 0.04)), (0.02, -0.01, -0.52), (0.05, -0.03, 0.04)


def hold(plant, angles, periods, kp=400.0, on_period=lambda: None):
    for _ in range(periods):
        state = angles, np.zeros(6), plant.angles, plant.rates, plant.weight_torques
        plant.drive(servo_torques(kp, DAMPING, *state))
        plant.run()
        on_period()


@pytest.mark.parametrize("mass", [nightly(0.5), 1.7])
def test_the_weight_is_carried_as_virtual_work_says(mass):
    # half of a rod's weight acts at either end: its centre of mass is in its middle (0.1 kg; cranks 0.5 kg)
    plant, geometry, g = HexaPlant(POSE, plate_mass=mass), HexaGeometry(), np.array([0.0, 0.0, -9.81])
    crank = plant.simulation.model.links["leg_1_crank"]
    wrench, expected = np.zeros(6), np.zeros(6)
    wrench[:3] = mass * g
    for i, q in enumerate(plant.angles):
        half, arm = 0.5 * 0.1 * g, POSE[:3, :3] @ geometry.ball(i)
        wrench += [*half, *np.cross(arm, half)]
        azimuth = geometry.azimuth(i)
        tangent = -np.array([math.sin(q) * math.cos(azimuth), math.sin(q) * math.sin(azimuth), math.cos(q)])
        expected[i] = -(crank.mass * crank.com[0] + 0.05 * geometry.crank) * (tangent @ g)
    expected -= TABLE.jacobians(POSE).forward.T @ wrench
    np.testing.assert_allclose(plant.weight_torques, expected, rtol=0, atol=1e-9)


def test_brakes_stop_a_table_in_motion_and_hold_it_there():
    plant = HexaPlant()
    for _ in range(25):
        plant.drive([-6.0] * 6)
        plant.run()
    assert np.min(np.abs(plant.rates)) > 1.0
    speed = plant.rates.copy()
    plant.brake()
    plant.run(100)
    assert np.max(np.abs(plant.rates)) < 1e-2 * np.min(np.abs(speed))
    where = plant.angles
    plant.run(200)
    np.testing.assert_allclose(plant.angles, where, rtol=0, atol=2e-4)


def test_the_servo_holds_the_pose_to_what_assemble_says():
    plant = HexaPlant(POSE)
    wanted = TABLE.inverse(pose_of((0.03, 0.0, -0.53), (0.0, 0.05, 0.1)))
    hold(plant, wanted, 300)
    np.testing.assert_allclose(plant.angles, wanted, rtol=0, atol=1e-6)
    model = plant.simulation.model
    guess = plant.simulation.q
    closed = ada.close_loops(model, guess)
    np.testing.assert_allclose(plant.pose, ada.Dynamics(model).pose("platform", closed), rtol=0, atol=1e-9)
    np.testing.assert_allclose(plant.pose, TABLE.forward(plant.angles).pose, rtol=0, atol=1e-9)


def test_the_motors_carry_the_wrench_on_the_plate_which_is_that_on_the_probe_turned_round():
    tip = np.array([0.04, -0.03, -0.5602])
    plant = HexaPlant(HOME, Probe(tip=tuple(tip), stiffness=1e5, dissipation=1.0, friction=0.3))
    hold(plant, TABLE.inverse(pose_of((0.001, 0.0, -0.551), (0.02, 0.01, 0.0))), 300)
    on_probe, on_plate = plant.probe_wrench, plant.plate_wrench
    assert on_probe[2] < -0.1
    np.testing.assert_allclose(on_plate[:3], -on_probe[:3], rtol=0, atol=1e-12)
    # at rest the motors carry it: J^T F + weight = -tau
    J = TABLE.jacobians(plant.pose, plant.angles).forward
    np.testing.assert_allclose(J.T @ on_plate, plant.weight_torques - plant.torques, rtol=0, atol=5e-3)
