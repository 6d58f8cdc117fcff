# SPDX-License-Identifier: Apache-2.0
"""Identify mass and centre of mass of a payload of the PA-10 from encoders and motor torques, with friction."""

import warnings
from dataclasses import replace

import numpy as np

import ada_dynamics as ada
from ada_dynamics.identification import excitation
from ada_dynamics.model.edit import with_parts

MASS, COM = 5.0, np.array([0.03, -0.02, 0.12])  # of the payload [kg], from the flange [m]
ENCODER, TORQUE = 1e-4, 0.2  # a count [rad], noise of what the motors tell [N m]
WANTED = ("link_7.*", "*.friction", "*.damping")
model = ada.load("pa10")
dyn, flange = ada.Dynamics(model), model.joints["flange_fixed"].xyz


def real_arm():
    """The arm as nobody knows it: with the payload, and joints that rub."""
    payload = replace(model.links["flange"], mass=MASS, com=COM, inertia=0.02 * np.eye(3), has_inertial=True)
    rubbing = [replace(model.joints[name], friction=1.0, damping=2.0) for name in model.joint_names]
    return with_parts(model, payload, *rubbing)


def record(way, seconds=10.0, seed=0):
    """Follow a motion, and record the sensors."""

    def motors(t, q, v):
        wanted, speed, acceleration = way.joint_trajectory(t)
        return dyn.inverse(q, v, acceleration + 400.0 * (wanted - q) + 40.0 * (speed - v))

    arm, noise = real_arm(), np.random.default_rng(seed)
    sim = ada.Simulation(
        arm, way.joint_trajectory(0.0)[0], controller=motors, control_period=2e-3, integrator="semi_implicit"
    )
    log = sim.run(seconds)
    tau = log.tau + TORQUE * noise.normal(size=log.tau.shape)
    return ada.Log(model, log.t, np.round(log.q / ENCODER) * ENCODER, np.zeros_like(log.v), None, tau)


way = excitation(dyn, parameters=WANTED, evaluations=500)  # within the limits of the joints
found = ada.identify(dyn, record(way), parameters=WANTED)
gained = {
    name: found.values[f"link_7.{name}"] - dyn.parameters[f"link_7.{name}"] for name in ("mass", "mx", "my", "mz")
}
mass, moment = gained.pop("mass"), np.array([*gained.values()])
deviations = {row.name: row.deviation for row in found.parameters()}
off = np.linalg.norm(moment - MASS * (COM + flange)) / np.linalg.norm(MASS * (COM + flange))
print(f"payload: {mass:.3f} kg ± {deviations['link_7.mass']:.3f}, off by {100 * abs(mass / MASS - 1):.2f} %")
print(
    f"centre of mass from the flange: {np.round(moment / mass - flange, 4)} m, first moments off by {100 * off:.2f} %"
)

unseen = record(excitation(dyn, parameters=WANTED, evaluations=1, seed=1), seed=1)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ada.PoorFitWarning)  # friction alone cannot explain the payload
    known = ada.identify(dyn, record(way), parameters=WANTED[1:])
without, with_payload = known.validate(unseen), found.validate(unseen)
print("unexplained on another motion, without the payload [%]:", without.percent.round(1))
print("unexplained on another motion, with it             [%]:", with_payload.percent.round(1))
