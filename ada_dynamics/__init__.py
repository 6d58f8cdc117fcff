# SPDX-License-Identifier: Apache-2.0
"""Dynamics of robots made of chains, trees and closed loops.

import ada_dynamics as ada

model = ada.load("pa10")
dyn = ada.Dynamics(model)
a = dyn.forward(q, v, tau)
log = ada.Simulation(model, q).run(3.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ada_dynamics._version import __version__
from ada_dynamics.errors import (
    AdaError,
    BeyondLimitsWarning,
    BifurcationWarning,
    CompileError,
    DeviceError,
    DeviceMemoryError,
    DriverTooOldError,
    EventError,
    InputError,
    LittleExcitationWarning,
    LoopVelocityWarning,
    LostDigitsWarning,
    ModelError,
    NoDeviceError,
    OpenLoopWarning,
    PoorFitWarning,
    ReadOnlyError,
    RecordingCutShortWarning,
    RecordingError,
    SingularPoseError,
    SingularPoseWarning,
    UnexplainedMotionWarning,
    UnknownNameError,
    UnknownWorkWarning,
)

if TYPE_CHECKING:
    from ada_dynamics.dynamics import Dynamics
    from ada_dynamics.identification import Identification, identify
    from ada_dynamics.ik import ComTask, IkResult, OrientationTask, PoseTask, PositionTask, PostureTask, solve_ik
    from ada_dynamics.loops.assemble import assemble
    from ada_dynamics.model import Builder, Model, chain_3d, planar_chain
    from ada_dynamics.robots.catalogue import robots
    from ada_dynamics.robots.check import check
    from ada_dynamics.robots.load import load
    from ada_dynamics.row_threads import in_threads
    from ada_dynamics.simulation import Contact, Log, Simulation

# Loaded when first used, so that `import ada_dynamics` costs next to nothing.
_HOMES = {
    "Builder": "ada_dynamics.model",
    "ComTask": "ada_dynamics.ik",
    "Contact": "ada_dynamics.simulation",
    "Dynamics": "ada_dynamics.dynamics",
    "Identification": "ada_dynamics.identification",
    "IkResult": "ada_dynamics.ik",
    "Log": "ada_dynamics.simulation",
    "Model": "ada_dynamics.model",
    "OrientationTask": "ada_dynamics.ik",
    "PoseTask": "ada_dynamics.ik",
    "PositionTask": "ada_dynamics.ik",
    "PostureTask": "ada_dynamics.ik",
    "Simulation": "ada_dynamics.simulation",
    "assemble": "ada_dynamics.loops.assemble",
    "chain_3d": "ada_dynamics.model",
    "check": "ada_dynamics.robots.check",
    "identify": "ada_dynamics.identification",
    "in_threads": "ada_dynamics.row_threads",
    "load": "ada_dynamics.robots.load",
    "planar_chain": "ada_dynamics.model",
    "solve_ik": "ada_dynamics.ik",
}

__all__ = [
    "AdaError",
    "BeyondLimitsWarning",
    "BifurcationWarning",
    "Builder",
    "ComTask",
    "CompileError",
    "Contact",
    "DeviceError",
    "DeviceMemoryError",
    "DriverTooOldError",
    "Dynamics",
    "EventError",
    "Identification",
    "IkResult",
    "InputError",
    "LittleExcitationWarning",
    "Log",
    "LoopVelocityWarning",
    "LostDigitsWarning",
    "Model",
    "ModelError",
    "NoDeviceError",
    "OpenLoopWarning",
    "OrientationTask",
    "PoorFitWarning",
    "PoseTask",
    "PositionTask",
    "PostureTask",
    "ReadOnlyError",
    "RecordingCutShortWarning",
    "RecordingError",
    "Simulation",
    "SingularPoseError",
    "SingularPoseWarning",
    "UnexplainedMotionWarning",
    "UnknownNameError",
    "UnknownWorkWarning",
    "__version__",
    "assemble",
    "chain_3d",
    "check",
    "identify",
    "in_threads",
    "load",
    "planar_chain",
    "robots",
    "solve_ik",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _HOMES:
        value: object = getattr(import_module(_HOMES[name]), name)
    elif name in _rooms():
        try:
            value = import_module(f"ada_dynamics.{name}")
        except (
            ImportError
        ) as problem:  # of a framework that is not installed; who goes through all names passes over it
            raise AttributeError(f"ada_dynamics.{name} cannot be imported: {problem}") from problem
    else:
        raise AttributeError(f"module 'ada_dynamics' has no attribute {name!r}; it has {', '.join(__all__)}")
    globals()[name] = value
    return value


def _rooms() -> list[str]:
    """Modules of this package, which TAB offers and which are imported when first used."""
    from pkgutil import iter_modules

    return [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]


def __dir__() -> list[str]:
    return sorted({*__all__, *_rooms()})
