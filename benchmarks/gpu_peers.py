# SPDX-License-Identifier: Apache-2.0
"""MuJoCo Warp and MJX: the same robots on the same device, by their own steps. Neither is a dependency of ours."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from benchmarks.simulation_peers import RK4, MujocoMarch, with_points

STEP = 1e-3  # [s]
AGREE = 1e-4  # of angles after a few steps in single precision [rad]; loops, which they hold softly, are not compared
MORE = (
    "a step of theirs does more than ours: it goes through their stages of collisions, constraints, sensors and "
    "actuators, switched off here as far as they can be. It works in single precision, ours in double; loops are kept "
    "softly there, and closed again in each step here"
)
DRY = "a dry run on the processor at hand, which none of them is made for: these ratios are no comparison"


class Peer(Protocol):
    """Another engine with many motions of a robot on a device."""

    def step(self) -> object:
        """Start a step of all of them."""

    def wait(self) -> None:
        """Until all steps that were started are done."""

    def positions(self) -> Array:
        """Of each motion."""


class WarpSteps:
    """MuJoCo Warp; on a graphics processor a step is one recorded graph, as its authors advise."""

    def __init__(self, model: Any, q: Array, device: str) -> None:
        """Args: of MuJoCo; positions of all motions, at rest; the device as we call it."""
        import mujoco
        import mujoco_warp
        import warp

        self._warp, self._device = warp, warp.get_device("cpu" if device == "host" else device)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        with warp.ScopedDevice(self._device):
            there = mujoco_warp.put_model(model)
            self._data = mujoco_warp.make_data(model, nworld=len(q), nconmax=1, njmax=max(1, data.nefc))
            self._data.qpos.assign(q.astype(np.float32))

            def step() -> None:
                mujoco_warp.step(there, self._data)

            self._step: Callable[[], None] = step
            if self._device.is_cuda:
                step()  # compiles
                self._data.qpos.assign(q.astype(np.float32))
                self._data.qvel.zero_()
                with warp.ScopedCapture() as capture:
                    step()
                self._step = lambda: warp.capture_launch(capture.graph)

    def step(self) -> None:
        """Start one."""
        with self._warp.ScopedDevice(self._device):
            self._step()

    def wait(self) -> None:
        """For the device."""
        self._warp.synchronize_device(self._device)

    def positions(self) -> Array:
        """Copied here."""
        return np.array(self._data.qpos.numpy(), dtype=np.float64)


class MjxSteps:
    """MJX, compiled by XLA."""

    def __init__(self, model: Any, q: Array, device: str) -> None:
        """Args: of MuJoCo; positions of all motions, at rest; the device as we call it."""
        import jax
        from mujoco import mjx

        kind, _, number = device.partition(":")
        where = jax.devices("cpu" if kind == "host" else "gpu")[int(number or 0)]
        self._jax = jax
        with jax.default_device(where):
            there, data = mjx.put_model(model), mjx.make_data(model)
            self._step = jax.jit(jax.vmap(lambda x: mjx.step(there, x)))
            self._data = jax.vmap(lambda x: data.replace(qpos=x))(jax.numpy.asarray(q, dtype=np.float32))

    def step(self) -> None:
        """Start one."""
        self._data = self._step(self._data)

    def wait(self) -> None:
        """For the device."""
        self._jax.block_until_ready(self._data.qpos)

    def positions(self) -> Array:
        """Copied here."""
        return np.array(self._data.qpos, dtype=np.float64)


ENGINES: dict[str, tuple[tuple[str, ...], Callable[[Any, Array, str], Peer]]] = {
    "MuJoCo Warp": (("mujoco_warp", "warp"), WarpSteps),
    "MJX": (("mujoco.mjx", "jax"), MjxSteps),
}


def missing(name: str) -> str:
    """Package that an engine lacks here, or nothing."""
    for package in ENGINES[name][0]:
        parent = package.partition(".")[0]
        if importlib.util.find_spec(parent) is None or importlib.util.find_spec(package) is None:
            return package
    return ""


def in_mujoco(model: ada.Model) -> Any:
    """The robot in MuJoCo, by steps of RK4; None where its coordinates are not all angles and lengths."""
    if any(re.search("floating|spherical|planar", joint.kind) for joint in model.joints.values()):
        return None
    return MujocoMarch(with_points(model), RK4, STEP).model


def check(name: str, model: ada.Model, peer: Peer, expected: Array, steps: int) -> None:
    """Take some steps, and raise where a robot without loops is somewhere else than ours after them."""
    for _ in range(steps):
        peer.step()
    peer.wait()
    off = float(np.max(np.abs(peer.positions() - expected)))
    if not off <= (np.inf if model.loops else AGREE):
        raise RuntimeError(f"{name}, {model.name}: positions after {steps} steps are off by {off:.1e}")
