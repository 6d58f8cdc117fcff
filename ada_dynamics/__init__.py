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
    ConstraintViolationWarning,
    DeviceError,
    DeviceMemoryError,
    DriverTooOldError,
    InputError,
    IntegrationAccuracyWarning,
    LittleExcitationWarning,
    LoopVelocityWarning,
    LostDigitsWarning,
    ModelError,
    NoDeviceError,
    PoorFitWarning,
    ReadOnlyError,
    RecordingCutShortWarning,
    RecordingError,
    SingularConfigurationError,
    SingularConfigurationWarning,
    UnknownNameError,
    UnknownWorkWarning,
)

if TYPE_CHECKING:
    from ada_dynamics.dynamics import Dynamics
    from ada_dynamics.dynamics.closing import assembly_modes, close_loops, close_loops_batch
    from ada_dynamics.execution import in_threads
    from ada_dynamics.identification import Identification, identify
    from ada_dynamics.ik import ComTask, IkResult, OrientationTask, PoseTask, PositionTask, PostureTask, solve_ik
    from ada_dynamics.model import Builder, Model, chain_3d, planar_chain
    from ada_dynamics.robots.catalogue import robots
    from ada_dynamics.robots.check import check
    from ada_dynamics.robots.load import load
    from ada_dynamics.simulation import Contact, Log, Simulation
    from ada_dynamics.transmission import Transmission

# Imported on first use, to keep `import ada_dynamics` fast.
_LAZY = {
    "ada_dynamics.dynamics": ("Dynamics",),
    "ada_dynamics.identification": ("Identification", "identify"),
    "ada_dynamics.ik": (
        *("ComTask", "IkResult", "OrientationTask", "PoseTask", "PositionTask", "PostureTask"),
        "solve_ik",
    ),
    "ada_dynamics.dynamics.closing": ("assembly_modes", "close_loops", "close_loops_batch"),
    "ada_dynamics.model": ("Builder", "Model", "chain_3d", "planar_chain"),
    "ada_dynamics.robots.check": ("check",),
    "ada_dynamics.robots.load": ("load",),
    "ada_dynamics.execution": ("in_threads",),
    "ada_dynamics.simulation": ("Contact", "Log", "Simulation"),
    "ada_dynamics.transmission": ("Transmission",),
}

__all__ = [
    "AdaError",
    "BeyondLimitsWarning",
    "BifurcationWarning",
    "Builder",
    "ComTask",
    "CompileError",
    "ConstraintViolationWarning",
    "Contact",
    "DeviceError",
    "DeviceMemoryError",
    "DriverTooOldError",
    "Dynamics",
    "Identification",
    "IkResult",
    "InputError",
    "IntegrationAccuracyWarning",
    "LittleExcitationWarning",
    "Log",
    "LoopVelocityWarning",
    "LostDigitsWarning",
    "Model",
    "ModelError",
    "NoDeviceError",
    "OrientationTask",
    "PoorFitWarning",
    "PoseTask",
    "PositionTask",
    "PostureTask",
    "ReadOnlyError",
    "RecordingCutShortWarning",
    "RecordingError",
    "Simulation",
    "SingularConfigurationError",
    "SingularConfigurationWarning",
    "Transmission",
    "UnknownNameError",
    "UnknownWorkWarning",
    "__version__",
    "assembly_modes",
    "chain_3d",
    "check",
    "close_loops",
    "close_loops_batch",
    "identify",
    "in_threads",
    "load",
    "planar_chain",
    "robots",
    "solve_ik",
]


def __getattr__(name: str) -> object:
    from importlib import import_module
    from importlib.util import find_spec

    module = next((module for module, names in _LAZY.items() if name in names), None)
    if module is not None:
        value: object = getattr(import_module(module), name)
    elif not name.startswith("_") and find_spec(f"{__name__}.{name}"):  # a subpackage, such as ada.ik
        try:
            value = import_module(f"{__name__}.{name}")
        except ImportError as problem:  # hasattr() expects an AttributeError
            raise AttributeError(f"ada_dynamics.{name} cannot be imported: {problem}") from problem
    else:
        raise AttributeError(f"module 'ada_dynamics' has no attribute {name!r}; it has {', '.join(__all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
