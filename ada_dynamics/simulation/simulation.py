# SPDX-License-Identifier: Apache-2.0
"""`Simulation(model)`: forward simulation of robots with closed loops, contact, joint stops, servos and controllers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics._version import __version__
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import Contact, contact_frames
from ada_dynamics.contact.stops import FRICTION_SPEED, JointStops
from ada_dynamics.display import View, open_page
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.dynamics.computation import options_of
from ada_dynamics.errors import AdaError, InputError, invalid
from ada_dynamics.model.edit import with_gravity
from ada_dynamics.model.model import Model
from ada_dynamics.progress import reporting
from ada_dynamics.simulation.accuracy_checks import EVERY, EnergyMonitor
from ada_dynamics.simulation.context import (
    SimulationContext,
    checked_start,
    closed_states,
    initial_state,
    require_determinate,
)
from ada_dynamics.simulation.control import CompiledController, Controller, checked_controller, continuous_law
from ada_dynamics.simulation.derivatives import StepDerivatives, step_derivatives
from ada_dynamics.simulation.events import Event
from ada_dynamics.simulation.forces import Axes, Forces, Inputs, WrenchProfile
from ada_dynamics.simulation.integrator import Integrator
from ada_dynamics.simulation.log import Log, LogBuffer
from ada_dynamics.simulation.methods import IntegratorName, Method, method_for, warn_if_unstable
from ada_dynamics.simulation.options import NotCopyable, as_tuple, finite_array, is_positive, whole_steps
from ada_dynamics.simulation.rollout import Rollout, SimulationBatch
from ada_dynamics.simulation.rollout_gradient import TrajectoryGradient, rollout_vjp
from ada_dynamics.simulation.run_loop import RunLoop
from ada_dynamics.simulation.servos import JointServos, ServoBank
from ada_dynamics.simulation.system import System, tree_of

PathLike = str | os.PathLike[str]
_NOTHING = np.zeros(0)


class Simulation(NotCopyable):
    """Forward simulation of a robot.

    Example::

        sim = Simulation(ada.load("pa10"), q=start)
        log = sim.run(3.0)                                  # 3 s without joint torques
        log.plot("fall.png")

    The integrator is a compiled loop around the compiled dynamics. After each step the state is projected onto the
    loop constraints, position and velocity, in the metric of the mass matrix. The simulation continues through
    singular configurations on its branch.

    Args:
        model: the robot.
        q: initial configuration; by default the neutral one, for models with loops a closed configuration near it.
        v: initial velocity; zero by default.
        controller: function of t, q and v that returns joint torques, which are held until the next call. A
            `CompiledController` without a control period acts continuously.
        integrator: a `Method`, or one of "rkf45" (Fehlberg, fixed steps), "rk4", "semi_implicit" (first order;
            implicit in stiff contacts, joint stops and damping), "dop853" and "tsit5" (orders 8 and 5, adaptive
            steps). "auto" selects "semi_implicit" for contacts and for forces that respond within a step, else
            "rkf45"; see `integrator_reason`.
        step: step length [s]; for adaptive methods the interval of the log.
        contact: contact with the ground and between links.
        algorithm: algorithm of forward dynamics, see `Dynamics`.
        dynamics: dynamics of the same model without joint friction, instead of an algorithm.
        control_period: time between two calls of the controller [s]; one step by default.
        tau: constant joint torques without a controller.
        external: external wrenches on links over time.
        stops: joint stops at the position limits; by default none, and the limits have no effect.
            `JointStops.for_model(model, step, q=q)` returns them; `simulation.scene_for` returns stops, ground and
            initial configuration together, as `ada sim` uses them.
        friction_speed: velocity below which Coulomb friction in joints is regularized [rad/s, m/s].
        events: events to locate; terminal events end a run.
        gravity: gravity vector that replaces the one of the model [m/s²].
        tolerance: tolerance of adaptive methods: relative, and absolute for components below 1.
        log_every: number of steps between two rows of the log.
        pushable: whether `push` is available.
        servos: servos of the actuated joints, commanded through the attribute `servos`; none by default.

    Raises:
        InputError: an argument is invalid; `field`, `value` and `allowed` name it.

    Attributes:
        model: the robot.
        dynamics: dynamics of the robot.
        forces: contact, joint stops, external wrenches and servos.
        method: the integration method.
        integrator_reason: reason for the method if `integrator` was "auto".
        context: system, integrator, inputs and time.
        step_length: step length [s].
    """

    _alternative = (
        "create another Simulation of the same model, simulate a batch with batch(q, v), or restore a state with "
        "reset(q, v, t)"
    )

    def __init__(
        self,
        model: Model,
        q: ArrayLike | Mapping[str, ArrayLike] | None = None,
        v: ArrayLike | None = None,
        controller: Controller | CompiledController | None = None,
        integrator: IntegratorName | Method = "rkf45",
        step: float = 1e-3,
        contact: Contact | None = None,
        *,
        algorithm: Algorithm = "auto",
        dynamics: Dynamics | None = None,
        control_period: float | None = None,
        tau: ArrayLike | None = None,
        external: Sequence[WrenchProfile] = (),
        stops: JointStops | None = None,
        friction_speed: float = FRICTION_SPEED,
        events: Sequence[Event] = (),
        gravity: Sequence[float] | None = None,
        tolerance: float = 1e-10,
        log_every: int = 1,
        pushable: bool = False,
        servos: JointServos | None = None,
    ) -> None:
        """Initialize the simulation."""
        if not is_positive(step):
            raise invalid("step", step, "a positive number of seconds, such as 1e-3")
        if not is_positive(tolerance) or not 1e-15 <= tolerance <= 1.0:
            raise invalid("tolerance", tolerance, "between 1e-15 and 1", allowed=(1e-15, 1.0))
        self.step_length, log_every = float(step), whole_steps("log_every", log_every)
        law = continuous_law(controller, control_period, tau)
        self.forces = forces = Forces(contact, stops, friction_speed, external, servos, pushable)
        watched = as_tuple("events", events, Event, "an Event(name, function)")
        if not isinstance(model, Model):
            raise invalid("model", model, "a Model, such as ada.load('pa10')")
        self.model = model = model if gravity is None else with_gravity(model, gravity)
        self.dynamics, self._start = initial_state(model, q, v, algorithm, dynamics)
        q0 = self._start[: model.nq]
        bank = None if forces.servos is None else ServoBank(self.dynamics, forces.servos, q0)
        rates = forces.rates(model, q0, bank)
        self.method, self.integrator_reason = method_for(integrator, self.step_length, rates, contact is not None)
        warn_if_unstable(self.method, self.step_length, rates, model.name)
        system = System(model, self.dynamics, forces.loads(model, tree_of(self.dynamics), bank, law))
        constant = finite_array("tau", np.zeros(model.nv) if tau is None else tau, (model.nv,))
        sampled = None if controller is None or law is not None else checked_controller(controller, model)
        self.context = SimulationContext(
            system,
            Integrator(system, self.method, tolerance),
            Inputs(system, forces.external, constant, bank, sampled, float(control_period or step)),
            self.step_length,
            log_every,
            contact,
            watched,
            None if law is None else law.kernel(model),
        )
        self._steady_input: Array | None = None
        self.reset()

    def __repr__(self) -> str:
        given = ", ".join(name for name in ("contact", "stops", "servos", "external") if getattr(self.forces, name))
        how = f"{self.method.name}, step {self.step_length:g} s" + (f", with {given}" if given else "")
        return f"<Simulation of {self.model.name!r} at t = {self.t:g} s: {how}>"

    @property
    def contact(self) -> Contact | None:
        """Contact with the ground and between links."""
        return self.forces.contact

    @property
    def stops(self) -> JointStops | None:
        """Joint stops."""
        return self.forces.stops

    # --- state --------------------------------------------------------------------------------------------------
    @property
    def t(self) -> float:
        """Current time [s]."""
        return self.context.t

    @property
    def q(self) -> Array:
        """Current configuration."""
        return self.context.integrator.x[: self.model.nq]

    @property
    def v(self) -> Array:
        """Current velocity."""
        return self.context.integrator.x[self.model.nq :]

    @property
    def tau(self) -> Array:
        """Current joint torques of controllers and servos."""
        return self.context.tau

    @property
    def servos(self) -> ServoBank:
        """Servos; a command acts from the next step on.

        Raises:
            InputError: the simulation has no servos.
        """
        bank = self.context.inputs.servos
        if bank is None:
            raise InputError("the simulation has no servos; create it with servos=JointServos().", field="servos")
        return bank

    def contact_wrenches(self) -> dict[str, Array]:
        """Return the wrench [f, n] of each contact on its body, in world axes about the origin of the contact."""
        contacts = self.context.system.contacts
        if self.contact is None or contacts is None:
            return {}
        found = np.reshape(contacts.single(self.q, self.v), (-1, 6))
        return dict(zip(self.contact.names, found, strict=True))

    def external_wrenches(self) -> dict[str, Array]:
        """Return the wrench [f, n] of profiles and pushes on each link, at its origin in its axes."""
        q, v = self.q, self.v
        u = self.context.inputs.at(self.t, q, v)
        found = self.context.inputs.external(np.array([self.t]), q[None, :], u[None, :])
        return {link: rows[0] for link, rows in found.items()}

    def reset(self, q: ArrayLike | None = None, v: ArrayLike | None = None, t: float = 0.0) -> None:
        """Restart from the initial state or from another state.

        Args:
            q: configuration; the initial one by default.
            v: velocity; the initial one by default, or zero if q is given.
            t: time [s].
        """
        x = self._start
        if q is not None or v is not None:
            q, v = checked_start(self.model, x[: self.model.nq] if q is None else q, v)
            x = closed_states(self.model, self.dynamics, q[None], v[None])[0]
        self.context.restart(x, t)
        self._energy = EnergyMonitor(self.context, self.context.integrator.x[None])

    # --- simulation ---------------------------------------------------------------------------------------------
    def run(
        self,
        duration: float,
        record: PathLike | None = None,
        progress: str | Callable[[float, str], None] | None = None,
        keep: bool = True,
    ) -> Log:
        """Simulate for a duration and return the log.

        Args:
            duration: simulated time [s].
            record: .mcap file that is written during the run; if the process is killed, at most the last chunk is lost.
            progress: "auto" for a progress bar on a terminal and lines elsewhere, or a callback with fraction and text.
            keep: whether the log contains all rows; if False, it contains the first and the last row, for long
                recordings.

        Raises:
            IntegrationError: the integration cannot continue.
            ControllerError: the controller failed.
            RecordingError: the recording cannot be written.
            Each error has the log until then as `log`.
        """
        if not is_positive(duration):
            raise invalid("duration", duration, "a positive number of seconds")
        require_determinate(self.model, self.dynamics, self.q, self.v)
        began = time.perf_counter()
        frames, info = contact_frames(self.contact), self.info()
        own = self.dynamics if self.dynamics.model is self.model else None
        buffer = LogBuffer(self.model, keep)
        receivers = [buffer.append]
        recorder = None
        if record is not None:
            from ada_dynamics.simulation.record.recorder import McapRecorder

            recorder = McapRecorder(record, self.model, contact_frames=frames, info=info, dynamics=self.dynamics)
            receivers.append(recorder.append)  # the last one, because a full disk ends the run
        run = RunLoop(self.context, self._energy, receivers)

        def log() -> Log:
            figures = run.figures(began)
            return Log(**buffer.content(), contact_frames=frames, info={**info, **figures}, dynamics=own)

        try:
            with reporting(progress, f"simulating {self.model.name}", duration, "s") as run.progress:
                run.until(self.t + duration)
        except BaseException as problem:
            if isinstance(problem, Exception):
                with suppress(AdaError):  # the recording may have failed
                    run.flush()
                problem.log = log()  # type: ignore[attr-defined]
            raise
        finally:
            if recorder is not None:
                recorder.close(run.figures(began))
        return log()

    def step(self, n: int = 1) -> None:
        """Take n steps without a log."""
        n, context = whole_steps("n", n), self.context
        if context.inputs.is_steady and not context.events and not self.method.is_adaptive:
            u = context.inputs.at(self.t, _NOTHING, _NOTHING)  # without the overhead of `RunLoop`
            if u is not self._steady_input:
                context.integrator.u = self._steady_input = u
            before = context.done
            context.integrator.advance(context.origin, before, n, context.step, 0)
            context.done += n
            if before // EVERY != context.done // EVERY:
                self._energy.follow(context.integrator.x, context.inputs.tau, EVERY)
        else:
            RunLoop(context, self._energy).until(self.t + n * self.step_length)

    def rollout(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        duration: float,
        tau: ArrayLike | None = None,
        rows_every: int = 1,
        device: str = "cpu",
        threads: int = 1,
        t: float | None = None,
    ) -> Rollout:
        """Simulate a batch of initial states; the state of the simulation does not change.

        Rows after a failure are NaN. Events are not located; terminal events are rejected.

        Args:
            q: initial configurations, (N, nq).
            v: initial velocities, (N, nv); zero if None.
            duration: simulated time, a multiple of the step [s].
            tau: constant joint torques, (nv,) or (N, nv); the current ones by default.
            rows_every: number of steps between two rows.
            device: device of the computation as for `Dynamics`, such as "cuda".
            threads: number of threads; the results do not depend on it.
            t: initial time, for control laws that depend on it; the current time by default [s].
        """
        return SimulationBatch(self.context, q, v, t).rollout(duration, tau, rows_every, device, threads)

    def batch(self, q: ArrayLike, v: ArrayLike | None = None, *, t: float | None = None) -> SimulationBatch:
        """Return a batch of simulations with this system that advance together, for learning and search.

        The batch starts at time t, by default the current time. Events are treated as in `rollout`.

        Args:
            q: initial configurations, (N, nq).
            v: initial velocities, (N, nv); zero if None.
            t: initial time [s].

        Example::

            batch = sim.batch(q, v)
            batch.run(10, tau)  # (N, nv)
            batch.t, batch.q, batch.v
        """
        return SimulationBatch(self.context, q, v, t)

    def step_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, *, steps: int = 1, t: ArrayLike | None = None
    ) -> StepDerivatives:
        """Return the state after a step and its derivatives with respect to the state and the torques.

        The state of the simulation does not change. Differentials of q are velocities.

        Args:
            q: configuration, (nq,), or (N, nq) for N states.
            v: velocity.
            tau: joint torques; those of the simulation by default.
            steps: number of steps with the same torques.
            t: time before the step, for control laws that depend on it, or N times; the current time by default [s].

        Raises:
            InputError: the steps of the simulation have no derivatives, or the state violates the loop constraints.
            SingularConfigurationError: a step passes through a singular configuration.
        """
        return step_derivatives(self.context, q, v, tau, steps, t)

    def rollout_vjp(
        self, q: ArrayLike, v: ArrayLike | None, tau: ArrayLike, *, hold: int = 1, t: float | None = None
    ) -> tuple[Rollout, Callable[..., TrajectoryGradient]]:
        """Simulate with given torques; return the trajectory and its vector-Jacobian product (discrete adjoint).

        Example::

            trajectory, pull = sim.rollout_vjp(q, v, tau)
            g = pull(trajectory.q[-1] - goal, trajectory.v[-1])     # of ½ |q - goal|² + ½ |v|² at the end

        `pull(by_q, by_v)` takes the gradient of a scalar with respect to q (as a velocity) and v at the last row,
        (nv,), or at all rows, (R + 1, nv); None for zero. It returns the gradients with respect to the initial state
        and the torques. Its cost is a small multiple of the simulation, independent of their number; its memory is
        16 MiB, or that of about √N states for N steps. The state of the simulation does not change.

        Args:
            q: initial configuration.
            v: initial velocity; zero if None.
            tau: rows of joint torques, (R, nv).
            hold: number of steps per row of torques.
            t: initial time; the current time by default [s].

        Raises:
            InputError: the steps of the simulation have no derivatives, or the state violates the loop constraints.
            SingularConfigurationError: a step passes through a singular configuration.
        """
        return rollout_vjp(self.context, q, v, tau, hold, t)

    def push(
        self,
        link: str,
        wrench: ArrayLike,
        duration: float = 0.1,
        frame: Axes = "world",
        replaces: bool = False,
    ) -> None:
        """Apply a wrench to a link from the current time on.

        Args:
            link: name of the link.
            wrench: [fx, fy, fz, nx, ny, nz] at the origin of the link [N, N m].
            duration: duration of the wrench [s].
            frame: axes of the wrench, "world" or "link".
            replaces: whether earlier pushes of this link end; otherwise the wrench is added.
        """
        self.context.inputs.push(link, wrench, self.t, duration, frame, replaces)

    def view(self, *, port: int = 8080, open_browser: bool = True, height: int = 480) -> View:
        """Simulate in real time in the browser, or inline in a notebook, without blocking the program.

        Until it is closed, only the page steps the simulation. Links can be dragged if the simulation is `pushable`.

        Args:
            port: port of the page, or of the first free one after it.
            open_browser: whether a browser is opened; otherwise the address is printed.
            height: height of the frame in a notebook [px].

        Raises:
            InputError: the extra `view` is not installed.
        """
        return open_page("live.live", self, port=port, open_browser=open_browser, height=height)

    # --- log ----------------------------------------------------------------------------------------------------
    def info(self) -> dict[str, object]:
        """Return the settings of the simulation for logs and recordings."""
        info: dict[str, object] = {
            "integrator": self.method.name,
            "step": self.step_length,
            "algorithm": options_of(self.dynamics)["algorithm"],
            "log_every": self.context.log_every,
            "version": __version__,
        }
        info |= self.forces.info(self.model) | self.context.inputs.timing(self.t)
        if self.context.law is not None or self.forces.servos is not None:
            info["efforts"] = "continuous"
        if self.method.is_adaptive:
            info["tolerance"] = self.context.integrator.tolerance
        return info
