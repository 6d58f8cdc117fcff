# SPDX-License-Identifier: Apache-2.0
"""From recordings: a payload by encoders and motors with friction, a platform on six legs, an arm in another engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.identification import Excitation, excitation
from ada_dynamics.model.edit import with_parts
from ada_dynamics.robots import mechanisms
from ada_experiments.mujoco_twin import MujocoModel

PAYLOAD, AT = 5.0, np.array([0.03, -0.02, 0.15])  # [kg], [m] in link_7
ASKED = ("link_7.*", "*.damping", "*.friction")
FRICTION = {"s": 2.0, "e": 1.0, "w": 0.3}  # [N m] of shoulder, elbow, wrist
COUNT = 1e-4  # [rad] of an encoder
TORQUE = 0.05  # [N m] standard deviation of measured efforts


def loaded(model: ada.Model) -> ada.Model:
    link = model.links["link_7"]
    mass = link.mass + PAYLOAD
    com = (link.mass * link.com + PAYLOAD * AT) / mass
    rubbing = [replace(model.joints[name], damping=3.0, friction=FRICTION[name[0]]) for name in model.joint_names]
    return with_parts(model, replace(link, mass=mass, com=com, inertia=link.inertia + 0.03 * np.eye(3)), *rubbing)


def driven(model: ada.Model, way: Excitation, seconds: float, stiffness: float = 400.0) -> ada.Log:
    """A simulation in which motors follow a motion, by the dynamics of the model without load and a spring."""
    places = [model.v_index(name).start for name in way.joints]
    columns = [model.q_index(name).start for name in way.joints]
    plain = way.dynamics

    def motors(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        y, dy, ddy = way.joint_trajectory(t)
        tau = np.zeros(model.nv)
        wanted = ddy + stiffness * (y - q[columns]) + 2.0 * stiffness**0.5 * (dy - v[places])
        a = plain.constraints.complete_acceleration(q, v, wanted, coordinates=way.joints) if model.loops else wanted
        tau[places] = plain.inverse(q, v, a)[places]
        return tau

    q, v, _ = (x[0] for x in way.states(0.0))
    return ada.Simulation(
        model, q, v, controller=motors, control_period=2e-3, step=1e-3, integrator="semi_implicit"
    ).run(seconds)


def measured(log: ada.Log, seed: int, count: float = COUNT) -> ada.Log:
    rng = np.random.default_rng(seed)
    moved = np.isin(np.arange(log.model.nv), [log.model.v_index(name).start for name in log.model.actuated])
    tau = log.tau + TORQUE * moved * rng.normal(size=log.tau.shape)
    q = np.round(log.q / count) * count if count else log.q
    return ada.Log(log.model, log.t, q, np.zeros_like(log.v), None, tau, info=log.info)


@pytest.fixture(scope="module")
def arm() -> ada.Dynamics:
    return ada.Dynamics(ada.load("pa10"))


@pytest.fixture(scope="module")
def recordings(arm: ada.Dynamics) -> list[ada.Log]:
    heavy = loaded(arm.model)
    ways = [excitation(arm, parameters=ASKED, evaluations=n, seed=n) for n in (300, 1)]
    return [measured(driven(heavy, way, 10.0), seed) for seed, way in enumerate(ways)]


def test_the_payload_of_an_arm_with_friction_and_encoders(arm: ada.Dynamics, recordings: list[ada.Log]) -> None:
    plain, found = (ada.identify(arm, recordings[0], parameters=asked) for asked in (ASKED[1:], ASKED))
    mass = found.values["link_7.mass"] - arm.parameters["link_7.mass"]
    moments = [found.values[f"link_7.m{x}"] - arm.parameters[f"link_7.m{x}"] for x in "xyz"]
    assert mass == pytest.approx(PAYLOAD, rel=0.002)
    assert np.array(moments) == pytest.approx(PAYLOAD * AT, abs=0.005 * PAYLOAD * np.linalg.norm(AT))
    assert [found.values[f"{joint}.damping"] for joint in arm.model.joint_names] == pytest.approx([3.0] * 7, rel=0.05)
    for joint in arm.model.joint_names:
        assert found.values[f"{joint}.friction"] == pytest.approx(FRICTION[joint[0]], rel=0.05)
    before, after = (x.validate(recordings[1]).percent for x in (plain, found))
    assert np.max(after) < 8.0
    assert np.min(before / after) > 4.0


def test_the_payload_of_a_platform_on_six_legs() -> None:
    model, start = mechanisms.stewart()
    platform = model.links["platform"]
    heavy = with_parts(model, replace(platform, mass=16.0, com=np.array([0.02, -0.03, 0.05])))
    dynamics, asked = ada.Dynamics(model), ("platform.m*", "platform.I*")
    way = excitation(dynamics, start, parameters=asked, evaluations=1, harmonics=2, travel=0.08, period=2.0)
    recorded = measured(driven(heavy, way, 4.0), 0, count=0.0)
    found = ada.identify(dynamics, recorded[:3000], parameters=asked)
    assert found.values["platform.mass"] == pytest.approx(16.0, rel=0.001)
    moments = [found.values[f"platform.m{x}"] for x in "xyz"]
    assert moments == pytest.approx([0.32, -0.48, 0.8], abs=0.005)
    assert np.max(found.validate(recorded[3000:]).percent) < 0.5


def test_an_arm_that_moves_in_another_engine(arm: ada.Dynamics) -> None:
    heavy = loaded(arm.model)
    other = MujocoModel(heavy)
    other.model.opt.timestep = 1e-3
    logs = []
    for n in (1, 2):
        way, rng = excitation(arm, parameters=ASKED, evaluations=200, seed=n), np.random.default_rng(n)
        q, v, _ = (x[0] for x in way.states(0.0))
        other.set_state(q, v)
        rows = []
        for k in range(10_000):
            q, v = other.state()
            if k % 2 == 0:
                y, dy, ddy = way.joint_trajectory(1e-3 * k)
                tau = arm.inverse(q, v, ddy + 400.0 * (y - q) + 40.0 * (dy - v))
                rows.append((1e-3 * k, q + 5e-5 * rng.normal(size=7), tau + TORQUE * rng.normal(size=7)))
            other.set_efforts(tau)
            other.mujoco.mj_step(other.model, other.data)
        t, q, tau = map(np.array, zip(*rows, strict=True))
        logs.append(ada.Log(arm.model, t, q, np.zeros_like(q), None, tau))
    found = ada.identify(arm, logs[0], parameters=ASKED)
    gained = {name: found.values[name] - arm.parameters[name] for name in found.names}
    assert gained["link_7.mass"] == pytest.approx(PAYLOAD, rel=0.005)
    moments = [gained[f"link_7.m{x}"] for x in "xyz"]
    assert moments == pytest.approx(PAYLOAD * AT, abs=0.01 * PAYLOAD * np.linalg.norm(AT))
    assert np.max(found.validate(logs[1]).percent) < 8.0
