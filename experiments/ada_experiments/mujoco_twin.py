# SPDX-License-Identifier: Apache-2.0
"""Simulation of a model and its ground contacts in MuJoCo, with the MJCF of `ada`, for comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.joints import Floating
from ada_dynamics.model.model import Model
from ada_dynamics.robots.writers import render
from ada_tools.engines.mujoco_model import MujocoModel

Controller = Callable[[float, Array, Array], ArrayLike]

_CORNER = 1e-3  # [m], radius of the contact spheres; the lowest point of a sphere is the contact point


@dataclass(frozen=True)
class Ground:
    """Parameters of MuJoCo's soft contact.

    Attributes:
        friction: coefficient of Coulomb friction.
        time: time constant of the contact [s], at least two time steps; a body at rest sinks by about g·time².
    """

    friction: float = 0.8
    time: float = 5e-3


@dataclass(frozen=True)
class TwinMotion:
    """A simulated motion in the coordinates of `ada`.

    Attributes:
        t: (N,) [s].
        q: (N, nq).
        v: (N, nv).
        tau: (N, nv).
        forces: force of the ground on each link in the world frame, (N, 3) [N].
    """

    t: Array
    q: Array
    v: Array
    tau: Array
    forces: dict[str, Array]


class Twin:
    """A model in MuJoCo."""

    def __init__(
        self, model: Model, points: Mapping[str, ArrayLike], step: float, ground: Ground | None = None
    ) -> None:
        """Compile the MuJoCo model.

        Args:
            model: has a floating base.
            points: contact points of each link with the ground z = 0, (n, 3) in the link frame [m].
            step: time step [s].
            ground: contact parameters.

        Raises:
            InputError: MuJoCo is not installed, the model has no floating base or has joints that MuJoCo does not
                support,
                or a link is unknown.
            ModelError: the model cannot be written as MJCF.
        """
        if not model.joint_names or model.joints[model.joint_names[0]].kind != Floating.kind:
            words = f"model {model.name!r} must have a floating base."
            raise InputError(words, field="base")
        self.model, self.step = model, step
        self._other = MujocoModel(model, twin_text(model, points, step, ground or Ground()))
        self._touching = {self._other.model.body(link).id: link for link in points}

    def run(self, q: Array, v: Array, controller: Controller, duration: float, control_period: float) -> TwinMotion:
        """Simulate with a controller that is evaluated once per control period.

        Args:
            q: initial position.
            v: initial velocity.
            controller: (t, q, v) -> joint forces for all velocity coordinates, zero for the base.
            duration: [s].
            control_period: a multiple of the step [s].
        """
        other = self._other
        other.set_state(q, v)
        every = max(1, round(control_period / self.step))
        steps = round(duration / self.step)
        rows: list[tuple[float, Array, Array, Array]] = []
        forces = {link: np.zeros((steps + 1, 3)) for link in self._touching.values()}
        tau = np.zeros(self.model.nv)
        for i in range(steps + 1):
            q, v = other.state()
            if i % every == 0:
                tau = np.array(controller(i * self.step, q, v), dtype=np.float64)
            other.set_efforts(tau)
            rows.append((i * self.step, q, v, tau))
            other.mujoco.mj_step(other.model, other.data)
            for link, force in self._forces().items():
                forces[link][i] = force
        t, qs, vs, taus = (np.array(column) for column in zip(*rows, strict=True))
        return TwinMotion(t, qs, vs, taus, forces)

    def _forces(self) -> dict[str, Array]:
        """Force of the ground on each link in the last step."""
        found = {link: np.zeros(3) for link in self._touching.values()}
        wrench = np.zeros(6)
        other = self._other
        for i in range(other.data.ncon):
            contact = other.data.contact[i]
            # The floor is the first geom: the normal points from it to the geom of the robot.
            link = self._touching[int(other.model.geom_bodyid[contact.geom2])]
            other.mujoco.mj_contactForce(other.model, other.data, i, wrench)
            found[link] += contact.frame.reshape(3, 3).T @ wrench[:3]
        return found


def twin_text(model: Model, points: Mapping[str, ArrayLike], step: float, ground: Ground) -> str:
    """Return the MJCF of the model with a floor and a small sphere at each contact point."""
    root = ElementTree.fromstring(render(model, "mjcf").texts[".xml"])
    for geom_holder in root.iter("body"):  # remove the visual shapes
        for geom in geom_holder.findall("geom"):
            geom_holder.remove(geom)
    option = root.find("option")
    world = root.find("worldbody")
    if option is None or world is None:
        raise InputError(f"the MJCF of {model.name!r} has no <option> or <worldbody>.")
    # Elliptic friction cone; implicit damping, which stiff servos need.
    option.attrib.update(timestep=repr(step), integrator="implicitfast", cone="elliptic", impratio="10")
    touch = {
        "condim": "3",
        "friction": f"{ground.friction!r} 0.005 0.0001",
        "solref": f"{ground.time!r} 1",
        "solimp": "0.95 0.99 0.0005",
    }
    floor = {"name": "floor", "type": "plane", "size": "0 0 1", "contype": "1", "conaffinity": "0", **touch}
    world.insert(0, ElementTree.Element("geom", floor))
    bodies = {body.get("name"): body for body in root.iter("body")}
    for link, places in points.items():
        if link not in bodies:
            raise unknown_name("link", link, model.links)
        for i, xyz in enumerate(np.asarray(places, dtype=float).reshape(-1, 3)):
            at = " ".join(repr(float(x)) for x in np.add(xyz, (0.0, 0.0, _CORNER)))
            sphere = {"name": f"{link} point {i}", "type": "sphere", "size": repr(_CORNER), "pos": at, "mass": "0"}
            own = {**sphere, "contype": "0", "conaffinity": "1", **touch}
            bodies[link].append(ElementTree.Element("geom", own))
    return ElementTree.tostring(root, encoding="unicode")
