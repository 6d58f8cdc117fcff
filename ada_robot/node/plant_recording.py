# SPDX-License-Identifier: Apache-2.0
"""Recording of the motion of a plant to an .mcap file during the simulation; no ROS."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ada_dynamics.contact.contact import contact_frames
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError
from ada_dynamics.simulation.record.recorder import McapRecorder
from ada_robot.ros.status import Level, Status
from ada_robot.simulated.plant import Plant, Snapshot

MOST_WAITING = 5000  # capacity of the queue [states]; further states are lost, and reported
LOST = "states are missing in the recording: the disk or the processor was too slow"


class PlantRecording:
    """Writes states in a separate thread, so that a slow disk does not delay the physics.

    Attributes:
        lost: number of lost states, which the file contains as well.
        failure: reason why the recording has ended, or None.
    """

    def __init__(
        self,
        path: str,
        plant: Plant,
        *,
        most: int = MOST_WAITING,
        recorder: type[McapRecorder] = McapRecorder,
        on_failure: Callable[[str], object] = str,
    ) -> None:
        """Create the file, or raise a RecordingError.

        Args:
            path: file path.
            plant: plant to record.
            most: capacity of the queue [states].
            recorder: class that writes the file.
            on_failure: called once in the writing thread with the reason why the recording has ended.
        """
        self.lost = 0
        self.failure: str | None = None
        self._on_failure = on_failure
        sim, model = plant.simulation, plant.model
        self._path = Path(path).expanduser()
        frames = contact_frames(sim.contact)
        # separate dynamics, because that of the plant belongs to the physics thread
        dynamics = Dynamics(model, q0=sim.q if model.loops else None)
        self._recorder = recorder(
            self._path, model, contacts=tuple(frames), contact_frames=frames, info=sim.info(), dynamics=dynamics
        )
        self._unknown = np.full(model.nv, np.nan)  # accelerations are not recorded
        self._queue: queue.Queue[Snapshot | None] = queue.Queue(most)  # None ends the thread
        self._last = -np.inf
        self._thread = threading.Thread(target=self._write, name="recording", daemon=True)
        self._thread.start()

    def take(self, snapshot: Snapshot) -> None:
        """Queue a state without waiting; a repeated one, as in a pause, is ignored."""
        if snapshot.t == self._last or self.failure is not None:
            return
        self._last = snapshot.t
        try:
            self._queue.put_nowait(snapshot)
        except queue.Full:
            self.lost += 1

    def _write(self) -> None:
        while (snapshot := self._queue.get()) is not None:
            if self.failure is not None:
                continue
            try:
                _, t, q, v, tau, external, contact, _ = snapshot
                self._recorder.append(np.array([t]), q, v, self._unknown, tau, external, contact)
            except Exception as problem:  # report every end of the recording
                self.failure = self._why(problem)
                self._on_failure(self.failure)

    def status(self) -> Status:
        """Return the diagnostic status."""
        values = {"file": str(self._path), "states": len(self._recorder), "lost": self.lost}
        if self.failure is not None:
            return Status(Level.ERROR, self.failure, values)
        if self.lost:
            return Status(Level.WARN, f"{self.lost} {LOST}", values)
        return Status(Level.OK, "recording", values)

    def close(self) -> None:
        """Write the queued states and close the file, with the number of lost states."""
        self._queue.put(None)
        self._thread.join()
        if self.failure is None:
            try:
                self._recorder.close({"complete": False, "lost": self.lost} if self.lost else {})
            except Exception as problem:
                self.failure = self._why(problem)

    def _why(self, problem: Exception) -> str:
        return str(problem) if isinstance(problem, AdaError) else f"the recording {self._path} has ended: {problem!r}"
