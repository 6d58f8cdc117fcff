# SPDX-License-Identifier: Apache-2.0
"""Virtual closed chains: a robot moves as if additional loops were closed (Takahashi 2012, chapter 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ada_controllers.command_shaping import ShapingSettings
from ada_controllers.controller import Controller
from ada_controllers.state import JointReference, PoseReference, Reference, ReferenceRefused, State, StateRefused
from ada_controllers.virtual.law import FORCE, PATH, Law
from ada_controllers.virtual.manifold import Branch, Manifold, Targets, flat_pose
from ada_controllers.virtual.mechanism import virtual_mechanism
from ada_controllers.virtual.pressing import Pressing
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.description import ROOT_JOINT
from ada_dynamics.model.edit.parts import has_free_root
from ada_dynamics.model.model import Model
from ada_robot.contract import Command
from ada_robot.settings import setting

HELD, PRESSED = "held", "pressed"
_NONE = (0.0,) * 6


@dataclass(frozen=True)
class VirtualClosedChainSettings:
    """Virtual loops, their gains, and gains towards the reference."""

    loops: str = setting("", "file of the virtual loops, a path or a name in config/; empty: loops of the robot only")
    feedback: str = setting(
        FORCE,
        "force: virtual forces move the mechanism, as in the thesis; path: the distance along its loops is reduced",
        choices=(FORCE, PATH),
    )
    weight: bool = setting(False, "whether gravity acts on the virtual mechanism")
    link: str = setting("", "link of pose references")
    joint_stiffness: tuple[float, ...] = setting(
        (5.0,), "virtual effort per position error; one value for all joints", unit="N m/rad, N/m", lower=0.0
    )
    joint_damping: tuple[float, ...] = setting(
        (5.0,), "virtual effort per velocity error; one value for all joints", unit="N m s/rad, N s/m", lower=0.0
    )
    pose_stiffness: tuple[float, ...] = setting(
        _NONE, "virtual force per pose error of the link [fx, fy, fz, nx, ny, nz]", unit="N/m, N m/rad", lower=0.0
    )
    pose_damping: tuple[float, ...] = setting(
        _NONE,
        "virtual force per velocity error of the link [fx, fy, fz, nx, ny, nz]",
        unit="N s/m, N m s/rad",
        lower=0.0,
    )
    path_stiffness: float = setting(25.0, "acceleration per distance left (feedback path)", unit="1/s^2", lower=0.0)
    path_damping: float = setting(10.0, "acceleration per velocity (feedback path)", unit="1/s", lower=0.0)
    loop_stiffness: float = setting(400.0, "acceleration per closure error; 0: as the thesis", unit="1/s^2", lower=0.0)
    loop_damping: float = setting(
        40.0, "acceleration per rate of the constraint violation; 0: as in the thesis", unit="1/s", lower=0.0
    )
    contacts: str = setting(
        HELD,
        "loops between a floating robot and the world; held: bilateral constraints; pressed: contacts, which only push "
        "along z of their frames in the world",
        choices=(HELD, PRESSED),
    )
    friction: float = setting(
        0.1, "ratio of tangential and normal force with equal weight (contacts pressed)", lower=1e-3, upper=10.0
    )
    sole: float = setting(0.03, "lever between contact moments and forces (contacts pressed)", unit="m", lower=1e-4)
    hold: float = setting(0.0, "duration of a command, computed for its middle", unit="s", lower=0.0, upper=0.1)
    largest_gap: float = setting(0.05, "constraint violation that prevents activation", unit="m, rad", lower=0.0)
    reach: float = setting(1e-3, "allowed distance from the reference (feedback path)", unit="m, rad", lower=0.0)


class VirtualClosedChain(Controller[VirtualClosedChainSettings]):
    """a* = FD of the mechanism with loops (eq. 7.5), τ = ID of the robot without them (eq. 7.4).

    Attributes:
        mechanism: robot and virtual mechanism.
    """

    NAME = "virtual_closed_chain"
    SUMMARY = "closed-chain motion of a robot: forward dynamics with virtual loops, inverse dynamics without"
    KIND = "effort"
    REFERENCES = (JointReference, PoseReference)
    SETTINGS = VirtualClosedChainSettings

    def __init__(
        self,
        model: Model,
        settings: VirtualClosedChainSettings | Mapping[str, object] | None = None,
        shaping: ShapingSettings | Mapping[str, object] | None = None,
        virtual: Model | None = None,
    ) -> None:
        """Prepare the law; see `Controller`.

        Args:
            model: robot model with a fixed or floating base, with or without loops.
            settings: settings of the law.
            shaping: command limits.
            virtual: robot model with virtual loops, instead of the setting `loops`.

        Raises:
            InputError: if the loops cannot be read or closed, or the robot cannot move like the mechanism.
        """
        super().__init__(model, settings, shaping)
        chosen = self.settings
        self.mechanism = virtual_mechanism(self.NAME, model, self.joints, chosen.loops, virtual, chosen.weight)
        self._pressing = self._pressed() if chosen.contacts == PRESSED else None
        self._stiffness = self.per_joint("joint_stiffness", chosen.joint_stiffness)
        self._damping = self.per_joint("joint_damping", chosen.joint_damping)
        self._pose_stiffness = self.numbers("pose_stiffness", chosen.pose_stiffness, 6)
        self._pose_damping = self.numbers("pose_damping", chosen.pose_damping, 6)
        self._link = chosen.link or None
        if self._link is None and (self._pose_stiffness.any() or self._pose_damping.any()):
            text = (
                f"{self.NAME}: pose_stiffness and pose_damping need a link; set link to one of "
                f"{', '.join(model.link_names)}."
            )
            raise InputError(text, field="link", value="", allowed=tuple(model.link_names))
        if chosen.link and chosen.link not in model.links:
            raise unknown_name("link", chosen.link, model.links)
        law = Law(self.mechanism, self._link, chosen.feedback, chosen.hold > 0.0)
        self._loops = np.array([chosen.loop_stiffness, chosen.loop_damping])
        self._gains = np.array([chosen.path_stiffness, chosen.path_damping])
        self._hold = np.array([chosen.hold])
        self._law_call = law.compile(self._by_numbers)
        self._desired_call = law.compile_desired()
        self._parts = law.parts
        self._manifold = Manifold(self.mechanism)
        self._branch = Branch(self._manifold)
        self._is_path = chosen.feedback == PATH
        weights = self._stiffness, self._pose_stiffness
        self._targets = Targets(self.NAME, law, self._manifold, weights, chosen.reach)
        self._is_open = model.nv == len(self.joints) and not model.loops
        self._rest, self._no_twist = np.zeros(model.nv), np.zeros(6)
        self._time = 0.0
        self._result: tuple[Array, ...] = ()
        self._singular = 0.0
        self._q = np.zeros(0)
        self._followed: tuple[Array, ...] = ()
        self._target = self._rest

    # --- preparation -------------------------------------------------------------------------------------------------
    def _pressed(self) -> Pressing:
        carrier = self.mechanism.carrier
        if not has_free_root(carrier) or carrier.nv != len(self.joints) + carrier.v_index(ROOT_JOINT).stop:
            text = (
                f"{self.NAME}: contacts: pressed requires a floating base and a motor at every joint; the motors of "
                f"{carrier.name!r} are {', '.join(self.joints)}. Set contacts: held."
            )
            raise InputError(text, field="contacts", value="pressed", allowed=("held",))
        return Pressing(self.NAME, carrier, self.settings.friction, self.settings.sole)

    # --- references --------------------------------------------------------------------------------------------------
    def _begin(self, state: State, time: float) -> None:
        gap = self.mechanism.gap(state.q)
        largest = float(np.max(np.abs(gap), initial=0.0))
        if largest > self.settings.largest_gap:
            closed = self.mechanism.closed
            loop, _, kind = closed.analysis.constraints.rows[closed.plans.nontrivial[int(np.argmax(np.abs(gap)))]]
            unit = "m" if kind.is_force else "rad"
            text = (
                f"{self.NAME}: closure error {largest:.3g} {unit} of loop {loop!r} exceeds largest_gap "
                f"{self.settings.largest_gap:g}. Move the robot to a configuration with closed loops first: "
                "ada.close_loops(virtual, q) returns one."
            )
            raise StateRefused(text, loop=loop, field="largest_gap", value=largest, allowed=self.settings.largest_gap)
        self._time = time
        self._branch.forget()
        self._result = ()
        self._q = state.q
        pose = self._rest if self._link is None else flat_pose(self._pose_of_link(state.q))
        rest = np.zeros(len(self.joints))
        target = self._manifold.closed(state.q, 20) if self._is_path else state.q
        self._way: Array | None = None
        self._follow(JointReference(target[self.q_index], rest), (pose, self._no_twist), target, self._rest, self._rest)

    def _reference_at(self, state: State) -> Reference | None:
        if self._stiffness.any() or self._link is None:
            return JointReference(state.q[self.q_index])
        return PoseReference(self._pose_of_link(state.q))

    def _check_reference(self, reference: Reference) -> None:
        if isinstance(reference, PoseReference):
            if self._link is None or not self._pose_stiffness.any():
                raise ReferenceRefused(
                    f"{self.NAME}: a pose reference needs the setting link, and pose_stiffness above zero in the "
                    "controlled directions.",
                    field="pose_stiffness",
                )
        elif not self._stiffness.any():
            text = f"{self.NAME}: joint position references need a joint_stiffness above zero."
            raise ReferenceRefused(text, field="joint_stiffness", value=0.0)

    def _accept(self, reference: Reference, state: State, time: float) -> None:
        joints, pose = self._joint_reference, self._pose_reference
        target, rate, forward = self._target, self._rest, self._rest
        if isinstance(reference, PoseReference):
            pose = flat_pose(reference.pose), self._no_twist if reference.twist is None else reference.twist
        elif isinstance(reference, JointReference):
            joints = reference
        if self._is_path:
            found = self._targets.of(reference, self._target, self._way)
            target, self._way = found.q, found.motions
            rate, forward = self._targets.feedforward(reference, found)
        self._follow(joints, pose, target, rate, forward)

    def _follow(
        self, joints: JointReference, pose: tuple[Array, Array], target: Array, rate: Array, forward: Array
    ) -> None:
        """Set the checked reference."""
        self._joint_reference, self._pose_reference, self._target = joints, pose, target
        if self._is_path:
            self._followed = (rate, forward, self._gains, self._loops, self._hold)
            return
        velocity = np.zeros(len(self.joints)) if joints.velocity is None else joints.velocity
        by_pose = () if self._link is None else (*pose, self._pose_stiffness, self._pose_damping)
        by_joints = (joints.position, velocity, self._stiffness, self._damping)
        self._followed = (*by_joints, *by_pose, self._loops, self._hold)

    # --- control law -------------------------------------------------------------------------------------------------
    def _law(self, state: State, time: float) -> Command:
        q = self._q = state.q
        self._time, self._singular = time, 0.0
        if self._is_path:
            self._result = self._law_call(q, state.v, self._way_left(q), *self._followed)
        else:
            self._result = self._law_call(q, state.v, *self._followed)
        effort = self._result[0]
        if self._is_open:
            return Command(effort=effort)
        if self._pressing is not None:
            effort = self._pressing.efforts(q, effort)
        elif self.mechanism.carrier.loops:
            rest = np.zeros_like(state.v)
            effort = kernels_of(self.mechanism.dynamics).closed.efforts(q, state.v, effort, rest)  # type: ignore[union-attr]
        return Command(effort=effort[self.v_index])

    def _way_left(self, q: Array) -> Array:
        """Return the difference to the target; zero for a floating base, whose motion follows from the joints."""
        model = self.model
        left = model.difference(q, self._target) if model.has_manifold_coordinates else self._target - q
        left[: self.mechanism.base] = 0.0
        return left

    def _by_numbers(self, q: Array, v: Array, *given: Array) -> tuple[Array, ...]:
        """Compute the law near singular configurations; the last acceleration predicts the middle of the cycle."""
        self._singular = 1.0
        h, before = 0.5 * self.settings.hold, self._result[1] if self._result else self._rest
        step = h * v + (0.5 * h * h) * before
        at, rate = self.model.integrate(q, step), v + h * before
        signals = self._desired_call(q, v, *given)[1]
        if self._is_path:
            given = (given[0] - step, *given[1:])
        desired = self._desired_call(at, rate, *given)[0]
        a = self._branch.acceleration(at, rate, desired, self._is_path, self._loops, self._time)
        dynamics = self.mechanism.dynamics
        return np.asarray(dynamics.mass_matrix(at) @ a + dynamics.bias(at, rate)), a, signals

    def _pose_of_link(self, q: Array) -> Array:
        assert self._link is not None
        pose = self.mechanism.dynamics.pose(self._link, q)
        if not self.mechanism.base:
            return np.asarray(pose)
        return np.asarray(np.linalg.solve(self.mechanism.dynamics.pose(self.model.root, q), pose))

    # --- signals -----------------------------------------------------------------------------------------------------
    def signals(self) -> dict[str, Array]:
        """Return signals by name.

        `acceleration`: a*; `gap`: closure errors; `singular`: 1 if the configuration was too close to a singular one
        for the compiled law; `joint_error`; with virtual forces `virtual_effort` of the joints; with a link
        `virtual_force`, `pose_error` and `pose_rate` [linear, angular]; with feedback: path `path_error`; with
        contacts: pressed `pressure`, the assumed normal force of each contact [N].
        """
        if not self._result:
            return {}
        found = {name: self._result[2][part] for name, part in self._parts.items()}
        found |= {
            "acceleration": self._result[1][self.v_index],
            "singular": np.array([self._singular]),
            "joint_error": self._joint_reference.position - self._q[self.q_index],
        }
        if self._pressing is not None:
            found["pressure"] = self._pressing.pressures
        if self._is_path:
            return found | {"path_error": self._way_left(self._q)[self.v_index]}
        return found | {"virtual_effort": found["virtual_effort"][self.v_index]}
