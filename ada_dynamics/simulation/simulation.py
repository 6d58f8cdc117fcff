# SPDX-License-Identifier: Apache-2.0
"""`Simulation(model)`: the motion of a robot over time, with its loops closed and its energy kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics._version import __version__
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import Contact
from ada_dynamics.contact.stops import FRICTION_SPEED, JointStops
from ada_dynamics.contact.wrenches import contact_frames
from ada_dynamics.display import View, open_page
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import Algorithm, options_of
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.edit import with_gravity
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.accuracy_checks import EVERY, EnergyMonitor, warn_if_energy_rises, warn_if_inconsistent
from ada_dynamics.simulation.context import SimulationContext
from ada_dynamics.simulation.control import CompiledController, Controller, ControlOptions
from ada_dynamics.simulation.derivatives import SimulationDerivatives
from ada_dynamics.simulation.events import Event, checked_events
from ada_dynamics.simulation.forces import Forces
from ada_dynamics.simulation.inputs import Inputs
from ada_dynamics.simulation.integrator import Integrator
from ada_dynamics.simulation.log import Log, LogBuffer, Recorder
from ada_dynamics.simulation.methods import IntegratorName, Method
from ada_dynamics.simulation.options import IntegrationOptions, NotCopyable, is_positive, whole_steps
from ada_dynamics.simulation.profiles import Axes, WrenchProfile
from ada_dynamics.simulation.progress import reporting
from ada_dynamics.simulation.rollout import Rollout, SimulationBatch, rollout
from ada_dynamics.simulation.run_loop import RunLoop
from ada_dynamics.simulation.scene import checked_dynamics, checked_start, closed_start, require_determinate
from ada_dynamics.simulation.servos import JointServos, ServoBank
from ada_dynamics.simulation.system import System, dynamics_for, frictionless, tree_of

PathLike = str | os.PathLike[str]
_NOTHING = np.zeros(0)


class Simulation(NotCopyable, SimulationDerivatives):
    """A robot in motion.

    Example::

        sim = Simulation(ada.load("pa10"), q=start)
        log = sim.run(3.0)                                  # 3 s on their own
        log.plot("fall.png")

    The integrator runs as a compiled loop around the compiled dynamics. Closed loops are brought back onto their
    conditions after each step, positions and velocities, in the metric of the mass matrix. Singular poses are passed on
    their branch.

    Attributes:
        model: the robot.
        dynamics: its dynamics.
        acting: contact, stops, wrenches and servos, as they were given.
        method: the integrator.
        why_integrator: what decided on it where it was "auto".
        motion: how far it is.
        step_length: [s].
    """

    _alternative = (
        "make another Simulation of the same model, take batch(q, v) for many that go on side by side, or go back by "
        "reset(q, v, t)"
    )

    def __init__(
        self,
        model: Model,
        q: ArrayLike | None = None,
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
        """Set the robot up at rest, or as given.

        Args:
            model: the robot.
            q: positions to start from; by default the neutral ones, with loops a pose near them that closes them.
            v: velocities to start with; zero by default.
            controller: gives efforts from t, q and v; they hold until it is called again. A `CompiledController`
                without a control period acts continuously.
            integrator: a `Method`, or one of rkf45 (Fehlberg's, fixed step), rk4, semi_implicit (first order; stiff
                contacts, stops and damping are implicit), dop853 or tsit5 (orders 8 and 5, step lengths by the
                tolerance). "auto": semi_implicit with contacts, or where something reacts within a step; else rkf45.
                `why_integrator` says what decided.
            step: [s]; with dop853 and tsit5 the interval of the log.
            contact: with the ground and between links.
            algorithm: of forward dynamics, see `Dynamics`.
            dynamics: to be used, instead of an algorithm; of the same model, without joint friction.
            control_period: between two calls of the controller [s]; each step by default.
            tau: constant efforts where there is no controller.
            external: wrenches that act on links over time.
            stops: soft stops at the model's position limits; none by default: joints then turn on as the equations of
                motion have it. `JointStops.for_model(model, step, q=q)` keeps the limits, `simulation.scene_for` sets
                up stops, ground and start together, as `ada sim` does.
            friction_speed: speed under which Coulomb friction in joints is as good as viscous [rad/s, m/s].
            events: to be found, and to end a run.
            gravity: another gravity vector [m/s²].
            tolerance: of dop853 and tsit5: relative, and absolute for numbers below 1.
            log_every: a row of the log for every so many steps.
            pushable: whether `push` can be used.
            servos: of the motors, which follow the commands of `servos`; none by default.

        Raises:
            InputError: a value cannot be used; the message names it.
        """
        if not isinstance(model, Model):
            raise InputError(f"model is {model!r:.100}; Simulation needs a Model, such as ada.load('pa10') returns.")
        self.model = model if gravity is None else with_gravity(model, gravity)
        options = IntegrationOptions(integrator, step, tolerance, log_every)
        control = ControlOptions(controller, control_period)
        self.forces = Forces(contact, stops, friction_speed, external, servos, pushable)
        watched = checked_events(events)
        q0, v0 = checked_start(self.model, q, v)
        if dynamics is None:
            self.dynamics = dynamics_for(frictionless(self.model), algorithm, q0)
        else:
            self.dynamics = checked_dynamics(dynamics, self.model)
        q0, v0 = closed_start(self.model, self.dynamics, q0, v0)
        self.step_length = float(step)
        self._servos = None if servos is None else ServoBank(self.dynamics, servos, q0)
        stiff = self.forces.stiffest(self.model, q0, self._servos)
        self.method, self.integrator_reason = options.chosen(stiff, contact is not None)
        law, tree = control.law, tree_of(self.dynamics)
        system = System(self.model, self.dynamics, self.forces.loads(self.model, tree, self._servos, law))
        self.context = SimulationContext(
            system,
            Integrator(system, self.method, tolerance),
            Inputs(system, self.forces.external, control.sampler(self.model, self.step_length), tau, self._servos),
            self.step_length,
            int(log_every),
            contact,
            watched,
            None if law is None else law.kernel(self.model),
        )
        options.warn_if_too_stiff(self.model, self.method, stiff)
        self._start = q0, v0
        self._steady_input: Array | None = None
        self.reset()

    def __repr__(self) -> str:
        given = str(self.forces)
        how = f"{self.method.name}, step {self.step_length:g} s" + (f", with {given}" if given else "")
        return f"<Simulation of {self.model.name!r} at t = {self.t:g} s: {how}>"

    @property
    def contact(self) -> Contact | None:
        """With the ground and between links."""
        return self.forces.contact

    @property
    def stops(self) -> JointStops | None:
        """Of the joints."""
        return self.forces.stops

    # --- state --------------------------------------------------------------------------------------------------
    @property
    def t(self) -> float:
        """Present time [s]."""
        return self.context.t

    @property
    def q(self) -> Array:
        """Present positions."""
        return self.context.q

    @property
    def v(self) -> Array:
        """Present velocities."""
        return self.context.v

    @property
    def tau(self) -> Array:
        """Present efforts of the motors."""
        return self.context.tau

    @property
    def servos(self) -> ServoBank:
        """The servos; their commands act from the next step on.

        Raises:
            InputError: the simulation has none.
        """
        if self._servos is None:
            raise InputError("this simulation has no servos; make it with servos=JointServos().")
        return self._servos

    def contact_wrenches(self) -> dict[str, Array]:
        """By contact, the wrench [f, n] on its body, in the world's axes, at the contact's place."""
        contacts = self.context.system.contacts
        if self.contact is None or contacts is None:
            return {}
        found = np.reshape(contacts.single(self.q, self.v), (-1, 6))
        return dict(zip(self.contact.names, found, strict=True))

    def external_wrenches(self) -> dict[str, Array]:
        """By link, the wrench [f, n] of profiles and pushes, at its origin in its axes."""
        if not self.context.inputs.has_wrenches:
            return {}
        q, v = self.q, self.v
        u = self.context.inputs.at(self.t, q, v)
        found = self.context.inputs.external(np.array([self.t]), q[None, :], u[None, :])
        return {link: rows[0] for link, rows in found.items()}

    def reset(self, q: ArrayLike | None = None, v: ArrayLike | None = None, t: float = 0.0) -> None:
        """Start anew: from where the simulation started, or from another state.

        Args:
            q: positions; those of the start by default.
            v: velocities; those of the start by default, or zero where q is given.
            t: time [s].
        """
        q0, v0 = self._start
        if q is not None or v is not None:
            q0, v0 = closed_start(self.model, self.dynamics, *checked_start(self.model, q0 if q is None else q, v))
        self.context.restart(q0, v0, t)
        self._gain: EnergyMonitor | None = None

    # --- motion -------------------------------------------------------------------------------------------------
    def run(
        self,
        duration: float,
        record: PathLike | None = None,
        progress: str | Callable[[float, str], None] | None = None,
        keep: bool = True,
    ) -> Log:
        """Move on for some time.

        Args:
            duration: [s].
            record: an .mcap file that is written meanwhile; a run that is killed leaves all but its last chunk there.
            progress: "auto" shows a bar on a terminal, and lines elsewhere; a function gets share and text.
            keep: whether the log holds all rows, or, where they are recorded, the first and the last one alone.

        Raises:
            MotionError: the motion cannot be computed any further.
            ControllerError: the controller failed.
            RecordingError: the recording cannot be written.
            Each has the motion until then as `log`.
        """
        if not is_positive(duration):
            raise InputError(f"duration is {duration!r}; it must be a positive number of seconds.")
        require_determinate(self.model, self.dynamics, self.q, self.v)
        began = time.perf_counter()
        recorders = [] if record is None else [self._recorder(record)]
        buffer = LogBuffer(
            self.model,
            recorders=recorders,
            keep=keep,
            contact_frames=contact_frames(self.contact),
            info=self.info(),
            dynamics=self.dynamics if self.dynamics.model is self.model else None,
        )
        run = RunLoop(self.context, buffer)
        try:
            with reporting(progress, f"simulating {self.model.name}", duration, "s") as run.progress:
                run.until(self.t + duration)
        except BaseException as problem:
            if isinstance(problem, Exception):
                with suppress(AdaError):  # the recording itself may be what failed
                    run.flush()
                problem.log = buffer.log(**run.figures(began))  # type: ignore[attr-defined]
            raise
        finally:
            for recorder in recorders:
                recorder.close(run.figures(began))
        log = buffer.log(**run.figures(began))
        # A direct method's accelerations are what it did, by definition; commands of servos jump between the rows.
        if not self.method.is_direct and self._servos is None:
            warn_if_inconsistent(log)
        if keep:
            warn_if_energy_rises(self.context, log)
        return log

    def step(self, n: int = 1) -> None:
        """Take n steps; nothing is logged."""
        n = whole_steps("n", n)
        before = self.context.done
        self._take(n)
        if before // EVERY != self.context.done // EVERY:
            self._look_at_energy()

    def _look_at_energy(self) -> None:
        """Of steps without efforts of motors."""
        x = self.context.integrator.x[None]
        if self.context.inputs.tau.any():
            self._gain = None
        elif self._gain is None:
            self._gain = EnergyMonitor(self.context, x)
        else:
            self._gain.look(x)

    def _take(self, n: int) -> None:
        """n steps."""
        if self.context.inputs.is_steady and not self.context.events and not self.method.is_adaptive:
            self._steady_steps(n)
            return
        RunLoop(self.context).until(self.t + n * self.step_length)

    def _steady_steps(self, n: int) -> None:
        """Like `Run`, where nothing can come between the steps, in a fraction of its time."""
        context = self.context
        u = context.inputs.at(self.t, _NOTHING, _NOTHING)
        if u is not self._steady_input:
            context.integrator.u = u
            self._steady_input = u
        context.integrator.advance(context.origin, context.done, n, context.step, 0)
        context.done += n

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
        """Motions from many starts, side by side in the lanes of the processor; the simulation itself stays as it is.

        Rows of a motion that cannot go on are nan. Events are not looked for; those that end a motion are refused.

        Args:
            q: positions of N starts, (N, nq).
            v: velocities, (N, nv); None for rest.
            duration: of all motions, a multiple of the step [s].
            tau: constant efforts of all, (nv,), or of each, (N, nv); those of the simulation by default.
            rows_every: a row for every so many steps.
            device: where the steps are taken, as for `Dynamics`: "cuda" for a graphics processor.
            threads: of this processor that work at the same time; the numbers are the same whatever their number.
            t: time of all starts, for a law that depends on it; the present one by default [s].
        """
        return rollout(self.context, q, v, duration, tau, rows_every, device, threads, t)

    def batch(self, q: ArrayLike, v: ArrayLike | None = None, *, t: float | None = None) -> SimulationBatch:
        """Motions from many starts, (N, nq) and (N, nv), that go on step by step: for learning, and for search.

        They begin at the present time, or at t. Events are as with `rollout`.

        Example::

            many = sim.batch(q, v)
            many.run(10, tau)  # (N, nv)
            many.t, many.q, many.v
        """
        return SimulationBatch(self.context, q, v, t)

    def push(
        self,
        link: str,
        wrench: ArrayLike,
        duration: float = 0.1,
        frame: Axes = "world",
        replaces: bool = False,
    ) -> None:
        """From now on, push a link for a while.

        Args:
            link: name of the link.
            wrench: [fx, fy, fz, nx, ny, nz] at its origin [N, N m].
            duration: [s].
            frame: of the wrench's axes, "world" or "link".
            replaces: whether earlier pushes of this link end; else it comes on top of them.
        """
        self.context.inputs.push(link, wrench, self.t, self.t + duration, frame, replaces)

    def view(self, *, port: int = 8080, open_browser: bool = True, height: int = 480) -> View:
        """Run in real time in the browser, or inline in a notebook, while the program goes on.

        Until it is closed, the page alone steps the simulation. Links can be dragged where it was made with
        `pushable=True`.

        Args:
            port: of the page, or the next one that is free.
            open_browser: open the page where there is a screen; else its address is printed only.
            height: of the frame in a notebook [px].

        Raises:
            InputError: the extra `view` is not installed.
        """
        return open_page("view_simulation", self, port=port, open_browser=open_browser, height=height)

    # --- for Run ------------------------------------------------------------------------------------------------
    def _recorder(self, path: PathLike) -> Recorder:
        from ada_dynamics.simulation.record.recorder import McapRecorder

        frames = contact_frames(self.contact)
        return McapRecorder(path, self.model, contact_frames=frames, info=self.info(), dynamics=self.dynamics)

    def info(self) -> dict[str, object]:
        """How the motion is made, for logs and recordings."""
        info: dict[str, object] = {
            "integrator": self.method.name,
            "step": self.step_length,
            "algorithm": self.dynamics.options["algorithm"],
            "log_every": self.context.log_every,
            "version": __version__,
        }
        info |= self.forces.info(self.model) | self.context.inputs.timing(self.t)
        if self.context.law is not None or self._servos is not None:  # which act between the rows, too
            info["efforts"] = "continuous"
        if self.method.is_adaptive:
            info["tolerance"] = self.context.integrator.tolerance
        return info
