# SPDX-License-Identifier: Apache-2.0
"""The other engines: their models made from the same numbers, their states, and a check that all agree."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.jit import Target, compiler
from ada_dynamics.resources import how_to_install
from ada_dynamics.spatial.rotation import from_quaternion
from benchmarks.robots import Robot
from benchmarks.timing import Contender

PINOCCHIO = "pinocchio"
MUJOCO = "MuJoCo"


class Pinocchio:
    """A robot in pinocchio."""

    def __init__(self, robot: Robot) -> None:
        import pinocchio

        self.pin: Any = pinocchio
        root = (pinocchio.JointModelFreeFlyer(),) if robot.floats else ()
        self.model = pinocchio.buildModelFromXML(robot.urdf(), *root)
        self._data: Any = None

    @property
    def data(self) -> Any:
        """Working memory; made when needed, for it grows with the cube of a chain's length."""
        if self._data is None:
            self._data = self.model.createData()
        return self._data

    def forward(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations of each row."""
        rows = zip(q, v, tau, strict=True)
        return np.array([self.pin.aba(self.model, self.data, *row) for row in rows])

    def single(self, q: Array, v: Array, tau: Array) -> Contender:
        """One call from Python."""
        names = {"f": self.pin.aba, "m": self.model, "d": self.data, "q": q[0].copy(), "v": v[0].copy()}
        return Contender(PINOCCHIO, "f(m, d, q, v, tau)", {**names, "tau": tau[0].copy()})

    def native(self, q: Array, v: Array, tau: Array) -> Contender:
        """A loop over all rows in its C++, one thread."""
        columns = [np.asfortranarray(x.T) for x in (q, v, tau)]
        names = dict(zip(("q", "v", "tau"), columns, strict=True))
        out = np.asfortranarray(np.zeros(columns[1].shape))
        pool = self.pin.ModelPool(self.model, 1)
        more = {"f": self.pin.abaInParallel, "pool": pool, "out": out}
        return Contender(PINOCCHIO, "f(1, pool, q, v, tau, out)", {**names, **more}, len(q))


class Mujoco:
    """A robot in MuJoCo, with everything off that is not the dynamics of the bodies."""

    def __init__(self, robot: Robot) -> None:
        import mujoco

        self.mujoco: Any = mujoco
        self.model = mujoco.MjModel.from_xml_string(robot.mjcf())
        bits = mujoco.mjtDisableBit
        for bit in (
            bits.mjDSBL_CONSTRAINT,
            bits.mjDSBL_CONTACT,
            bits.mjDSBL_LIMIT,
            bits.mjDSBL_SENSOR,
            bits.mjDSBL_ACTUATION,
            bits.mjDSBL_EULERDAMP,
        ):
            self.model.opt.disableflags |= int(bit)
        self.data = mujoco.MjData(self.model)
        self._floats = robot.floats

    def set_state(self, q: Array, v: Array, tau: Array) -> None:
        """Write one state; MuJoCo has the quaternion's real part first and a floating base's speed in world axes."""
        self.data.qpos[:] = self._position(q)
        self.data.qvel[:] = self._turned(q, v)
        self.data.qfrc_applied[:] = self._turned(q, tau)

    def forward(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations of each row, as we have them."""
        result = np.empty_like(v)
        for row in range(len(q)):
            self.set_state(q[row], v[row], tau[row])
            self.mujoco.mj_forward(self.model, self.data)
            result[row] = self.data.qacc
            if self._floats:
                result[row, :3] = self._rotation(q[row]).T @ result[row, :3] - np.cross(v[row, 3:6], v[row, :3])
        return result

    def single(self, q: Array, v: Array, tau: Array) -> Contender:
        """One call from Python."""
        self.set_state(q[0], v[0], tau[0])
        return Contender(MUJOCO, "f(m, d)", {"f": self.mujoco.mj_forward, "m": self.model, "d": self.data})

    def native(self, q: Array, v: Array, tau: Array, repeats: int = 500) -> Contender | None:
        """`mj_forward` in a compiled loop (made here, by LLVM): nothing of Python and no copies in the time."""
        self.set_state(q[0], v[0], tau[0])
        function = c_function(self.mujoco, "mj_forward")
        if function is None:
            return None
        names = {
            "f": calling_loop(),
            "function": function,
            "m": self.model._address,
            "d": self.data._address,
            "repeats": repeats,
            "keep": (self.model, self.data),
        }
        return Contender(MUJOCO, "f(function, m, d, repeats)", names, repeats)

    def batch(self, q: Array, v: Array, tau: Array) -> Contender:
        """Many states by one call, one thread: `mujoco.batch`, or `mujoco.rollout` (a step each) before MuJoCo 4."""
        positions = np.array([self._position(row) for row in q])
        speeds = np.array([self._turned(a, b) for a, b in zip(q, v, strict=True)])
        if _has_batch():
            from mujoco.batch import Batch

            batch = Batch(self.model, len(q), nthread=1)
            batch.bind("qpos")[:] = positions
            batch.bind("qvel")[:] = speeds
            batch.bind("qfrc_applied")[:] = np.array([self._turned(a, b) for a, b in zip(q, tau, strict=True)])
            return Contender("MuJoCo batch", "f()", {"f": batch.forward, "out": batch.bind("qacc")}, len(q))
        from mujoco import rollout

        states = np.concatenate([np.zeros((len(q), 1)), positions, speeds], axis=1)
        names = {"f": rollout.rollout, "m": self.model, "d": self.data, "states": states}
        return Contender("MuJoCo batch", "f(m, d, states, nstep=1)", names, len(q))

    def _position(self, q: Array) -> Array:
        if not self._floats:
            return q
        return np.concatenate([q[:3], q[6:7], q[3:6], q[7:]])

    def _turned(self, q: Array, x: Array) -> Array:
        if not self._floats:
            return x
        return np.concatenate([self._rotation(q) @ x[:3], x[3:]])

    def _rotation(self, q: Array) -> Array:
        return np.array(from_quaternion(*q[3:7].tolist()))


def _has_batch() -> bool:
    return importlib.util.find_spec("mujoco.batch") is not None


def c_function(mujoco: Any, name: str) -> int | None:
    """Address of a C function in MuJoCo's library, which is loaded already."""
    for path in Path(mujoco.__file__).parent.glob("libmujoco*"):
        library = ctypes.CDLL(str(path), mode=getattr(os, "RTLD_NOLOAD", 0) | getattr(os, "RTLD_LAZY", 0))
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    return None


_LOOP = """
define i32 @call_again(ptr %function, ptr %m, ptr %d, i64 %n) {
entry:
  br label %again
again:
  %k = phi i64 [0, %entry], [%next, %again]
  call void %function(ptr %m, ptr %d)
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %again, label %end
end:
  ret i32 0
}
"""
_kept: list[compiler.Library] = []


def calling_loop() -> Callable[[int, int, int, int], int]:
    """A compiled loop that calls a C function of two pointers, so many times."""
    if not _kept:
        _kept.append(compiler.load(compiler.compile_text(_LOOP, Target.host()), ["call_again"]))
    pointer = ctypes.c_void_p
    kind = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, pointer, ctypes.c_int64)
    return kind(_kept[0].address("call_again"))


def available() -> dict[str, type[Pinocchio] | type[Mujoco]]:
    """Engines that are installed."""
    found: dict[str, type[Pinocchio] | type[Mujoco]] = {}
    for name, module, kind in ((PINOCCHIO, "pinocchio", Pinocchio), (MUJOCO, "mujoco", Mujoco)):
        try:
            __import__(module)
        except ImportError:
            print(f"  {module} is not installed: left out ({how_to_install('oracle')})", file=sys.stderr)
        else:
            found[name] = kind
    return found


def versions() -> dict[str, str]:
    """Versions of the engines that are installed."""
    return {name: sys.modules[kind.__name__.lower()].__version__ for name, kind in available().items()}


def disagreement(a: Array, b: Array) -> float:
    """Largest difference relative to the largest element of each row."""
    return float(np.max(np.abs(a - b).max(axis=-1) / np.abs(b).max(axis=-1)))


def insist(what: str, a: Array, b: Array, tolerance: float) -> float:
    """Largest relative difference of two engines' answers, in whose times there is no sense where they are others.

    Raises:
        AdaError: they are others.
    """
    found = disagreement(a, b)
    if not found <= tolerance:
        raise AdaError(f"{what}: relative difference {found:.1e}, more than {tolerance:.0e}; nothing is timed.")
    return found
