# SPDX-License-Identifier: Apache-2.0
"""The adaptive gripper closes on a box, with its springs and stops, as in MuJoCo with the same model."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.contact.contact import Box, ContactPair, ContactSphere, Material
from ada_dynamics.contact.stops import JointStops
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.robots.writers import render

mujoco = pytest.importorskip("mujoco")

DRIVE, OUTER_TIP = (0.031, 0.055), (0.0685, 0.098)  # pins of the right finger, opened [m]
SIDES = (("left", -1.0), ("right", 1.0))
STEP, SECONDS = 1e-4, 1.0
HARD = {
    "condim": "1",
    "solref": "0.001 1",
    "solimp": "0.99 0.999 0.0001",
}  # contacts of MuJoCo that yield by some 0.01 mm


class Grasp(NamedTuple):
    """Spheres on a link of each finger that touch a box on the palm without friction."""

    part: str
    xyz: tuple[float, float, float]  # centre of the right one in its link [m]
    radius: float
    size: tuple[float, float, float]
    at: tuple[float, float, float]
    torque: float  # of the motor [N m]


PADS = Grasp("inner_finger", (-0.005, 0.0, 0.037), 0.003, (0.04, 0.03, 0.06), (0.0, 0.0, 0.155), 1.0)
KNUCKLES = Grasp("inner_knuckle", (0.03, 0.0, 0.0344), 0.004, (0.05, 0.03, 0.05), (0.0, 0.0, 0.1), 0.3)


@pytest.fixture(scope="module")
def model() -> ada.Model:
    """The gripper with dampers, which bring it to rest, and without gravity."""
    parts = Parts.of(ada.load("robotiq_gripper"))
    for name, joint in parts.joints.items():
        parts.joints[name] = replace(joint, damping=0.02 if "outer_knuckle" in name else 0.002)
    parts.gravity = (0.0, 0.0, 0.0)
    return parts.build()


def ours(model: ada.Model, grasp: Grasp) -> tuple[dict[str, float], float]:
    """Positions of the joints and mean force on the box, at rest."""
    pairs, box = [], Box("palm", grasp.size, grasp.at)
    for side, sign in SIDES:
        at = (sign * grasp.xyz[0], *grasp.xyz[1:])
        pairs.append(ContactPair(f"{side}_touch", ContactSphere(side, f"{side}_{grasp.part}", at, grasp.radius), box))
    contact = ada.Contact(pairs=pairs, material=Material(stiffness=2e5, dissipation=1.0, friction=0.0))
    tau = np.zeros(model.nv)
    tau[model.v_index("left_outer_knuckle")] = grasp.torque
    options = {"contact": contact, "stops": JointStops(100.0, 1.0), "step": STEP, "integrator": "semi_implicit"}
    log = ada.Simulation(model, model.neutral(), tau=tau, **options).run(SECONDS)
    assert np.max(np.abs(log.v[-1])) < 1e-3
    positions = {n: float(log.q[-1][model.q_index(n)][0]) for n in model.joint_names if model.joints[n].mimic is None}
    return positions, float(np.mean([abs(wrench[-1][0]) for wrench in log.contact_wrenches.values()]))


def theirs(model: ada.Model, grasp: Grasp) -> tuple[dict[str, float], float]:
    (text,) = render(model, "mjcf").texts.values()
    root = ET.fromstring(text)
    option = root.find("option")
    assert option is not None
    option.attrib |= {"timestep": str(STEP), "integrator": "implicitfast"}
    for equality in root.iterfind("equality/*"):
        equality.set("solref", "0.0005 1")
    for joint in root.iter("joint"):
        if "range" in joint.attrib:
            joint.set("solreflimit", "0.001 1")
    sphere, half = [grasp.radius], [0.5 * x for x in grasp.size]
    geoms = [("palm", "box", grasp.at, half, "4")]
    geoms += [
        (f"{side}_{grasp.part}", "sphere", (sign * grasp.xyz[0], *grasp.xyz[1:]), sphere, "2") for side, sign in SIDES
    ]
    for link, kind, at, size, others in geoms:
        (body,) = [body for body in root.iter("body") if body.get("name") == link]
        values = {"type": kind, "pos": " ".join(map(str, at)), "size": " ".join(map(str, size)), "mass": "0"}
        ET.SubElement(body, "geom", {**values, "contype": str(6 - int(others)), "conaffinity": others, **HARD})
    other = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    data = mujoco.MjData(other)
    data.ctrl[0] = grasp.torque
    mujoco.mj_step(other, data, round(SECONDS / STEP))
    forces = np.zeros((data.ncon, 6))
    for i, row in enumerate(forces):
        mujoco.mj_contactForce(other, data, i, row)
    assert data.ncon == 2
    return {other.joint(i).name: float(data.qpos[i]) for i in range(other.njnt)}, float(np.mean(forces[:, 0]))


@pytest.mark.parametrize("grasp", [PADS, KNUCKLES], ids=["pads", "knuckles"])
def test_the_gripper_rests_on_a_box_as_in_mujoco(model: ada.Model, grasp: Grasp) -> None:
    (positions, force), (other, other_force) = ours(model, grasp), theirs(model, grasp)
    # Stops, mimic joint and contacts yield by different laws: by 2 mrad and 0.1 mm at 10 N.
    assert max(abs(positions[name] - other[name]) for name in positions) < 4e-3
    assert force == pytest.approx(other_force, rel=5e-3)
    bent = abs(positions["right_outer_finger"])
    if grasp is PADS:
        assert bent < 3e-3  # on its stop: the fingertips are parallel
        arm = np.subtract(OUTER_TIP, DRIVE)  # turns with the outer knuckle; virtual work of torque and both forces
        angle = positions["left_outer_knuckle"]
        assert force == pytest.approx(0.5 * grasp.torque / (arm @ [np.sin(angle), np.cos(angle)]), rel=5e-3)
    else:
        assert bent > 0.5 and abs(positions["right_inner_finger"]) > 0.3  # the fingertips enclose the box
