# SPDX-License-Identifier: Apache-2.0
"""The motion of a plant as an .mcap file, written while it goes on; no ROS."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ada_dynamics.contact.wrenches import contact_frames
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError
from ada_dynamics.simulation.record.recorder import McapRecorder
from ada_robot.ros.status import Level, Status
from ada_robot.simulated.plant import Plant, Snapshot

MOST_WAITING = 5000  # states; further ones are lost, and reported
LOST = "states are not in the recording: the disk or the processor was too slow"
_LOOK = 0.05  # [s] between looks for the end


class PlantRecording:
    """Writes states in a thread of its own: a slow disk or a busy processor must not hold up the physics.

    Attributes:
        lost: states that it had no time for; their number is in the file, too.
        failure: why nothing is written any more, or None.
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
        """Begin the file.

        Args:
            path: of the file.
            plant: whose motion it is.
            most: states that may wait for the disk.
            recorder: writes the file.
            on_failure: called once, in the writing thread, with the reason why nothing is written any more.

        Raises:
            RecordingError: it cannot be written.
        """
        self.lost = 0
        self.failure: str | None = None
        self._on_failure = on_failure
        sim, model = plant.simulation, plant.model
        self._path = Path(path).expanduser()
        frames = contact_frames(sim.contact)
        # a Dynamics of its own: that of the plant belongs to the physics thread
        dynamics = Dynamics(model, q0=sim.q if model.loops else None)
        self._recorder = recorder(
            self._path,
            model,
            contacts=tuple(frames),
            contact_frames=frames,
            info=sim.info(),
            dynamics=dynamics,
        )
        self._unknown = np.full(model.nv, np.nan)  # accelerations: a row of a log may leave them out
        self._queue: queue.Queue[Snapshot] = queue.Queue(most)
        self._is_ending = False
        self._last = -np.inf
        self._thread = threading.Thread(target=self._write, name="recording", daemon=True)
        self._thread.start()

    def take(self, snapshot: Snapshot) -> None:
        """Take a state, without waiting; one that was taken before, as in a pause, is left out."""
        if snapshot.t == self._last or self.failure is not None:
            return
        self._last = snapshot.t
        try:
            self._queue.put_nowait(snapshot)
        except queue.Full:
            self.lost += 1

    def _write(self) -> None:
        while True:
            try:
                snapshot = self._queue.get(timeout=_LOOK)
            except queue.Empty:
                if self._is_ending:
                    return
                continue
            try:
                self._recorder.append(
                    np.array([snapshot.t]),
                    snapshot.q,
                    snapshot.v,
                    self._unknown,
                    snapshot.tau,
                    snapshot.external,
                    snapshot.contact,
                )
            except Exception as problem:  # of any kind: the end of the recording must be visible
                self.failure = self._why(problem)
                self._on_failure(self.failure)
                return

    def status(self) -> Status:
        """For /diagnostics."""
        values = {"file": str(self._path), "states": len(self._recorder), "lost": self.lost}
        if self.failure is not None:
            return Status(Level.ERROR, self.failure, values)
        if self.lost:
            return Status(Level.WARN, f"{self.lost} {LOST}", values)
        return Status(Level.OK, "recording", values)

    def close(self) -> None:
        """Write waiting states, and end the file, with the number of lost ones."""
        self._is_ending = True
        self._thread.join()
        if self.failure is None:
            try:
                self._recorder.close({"complete": False, "lost": self.lost} if self.lost else {})
            except Exception as problem:
                self.failure = self._why(problem)

    def _why(self, problem: Exception) -> str:
        return str(problem) if isinstance(problem, AdaError) else f"the recording {self._path} has ended: {problem!r}"
