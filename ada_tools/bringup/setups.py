# SPDX-License-Identifier: Apache-2.0
"""Setups by name, read from their launch files, and their process plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ada_dynamics import resources
from ada_dynamics.errors import unknown_name
from ada_tools.bringup.arguments import Argument, ArgumentValues
from ada_tools.bringup.launch_files import LaunchFile, LogInfo, absolute, read
from ada_tools.bringup.pictures import MECHANISMS
from ada_tools.bringup.processes import Machine, Plan, Process

Shorthands = Mapping[str, Mapping[str, str]]

_SHORTHANDS: Mapping[str, Shorthands] = {
    "pa10_sim": {"pa10": {}, "pa10_7c": {"robot": "pa10_7c"}, "pa10_thesis": {"robot": "pa10_thesis"}},
    "khr1_sim": {"khr1": {}},
    "hoap2_sim": {"hoap2": {}, "hoap2_10dof": {"robot": "hoap2_10dof"}},
    "hexa_sim": {"hexa": {}},
    "closed_chain": {name: {"mechanism": name} for name in MECHANISMS},
    "display": {},
    "robot_control": {},
    "pa10_control": {},
    "closed_chain_control": {f"virtual_{name}": {"mechanism": name} for name in ("parallel_four_bar", "slider_crank")},
    "hoap2_balance": {},
    "pa10_bringup": {},
    "khr1_bringup": {},
    "ft_sensor": {},
}


@dataclass(frozen=True)
class Setup:
    """A set of nodes started together.

    Attributes:
        name: as in NAME.launch.py and `ada up NAME`.
        summary: one-line description.
        arguments: all arguments.
        shorthands: alternative names, with the argument values that they imply.
    """

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    shorthands: Shorthands
    file: LaunchFile = field(repr=False, compare=False)

    @property
    def launch_file(self) -> str:
        """File name in launch/."""
        return f"{self.name}.launch.py"


def _setup(name: str) -> Setup:
    file = read(resources.find("launch", f"{name}.launch.py"))
    return Setup(name, file.summary, file.arguments, _SHORTHANDS[name], file)


SETUPS: Mapping[str, Setup] = {name: _setup(name) for name in _SHORTHANDS}


def plan(setup: Setup | str, values: Mapping[str, str] | None = None, machine: Machine | None = None) -> Plan:
    """Plan the processes of a setup.

    Args:
        setup: setup or its name.
        values: argument values that differ from the defaults.
        machine: installed programs; default: those of this machine.

    Raises:
        InputError: the setup or an argument is unknown, or a value is not allowed.
    """
    if isinstance(setup, str):
        setup, shorthand = find_setup(setup)
        values = {**shorthand, **(values or {})}
    checked = ArgumentValues(setup.arguments, values or {}, setup.name)
    found = setup.file.performed({name: str(text) for name, text in (values or {}).items()}, machine or Machine.this())
    processes = tuple(one for one in found if isinstance(one, Process))
    notes = tuple(one.msg for one in found if isinstance(one, LogInfo))
    return Plan(setup.name, {**checked, "namespace": absolute(checked["namespace"])}, processes, notes)


def find_setup(name: str) -> tuple[Setup, dict[str, str]]:
    """Setup by name or shorthand, and the argument values implied by the shorthand.

    Raises:
        InputError: unknown name.
    """
    if name in SETUPS:
        return SETUPS[name], {}
    for setup in SETUPS.values():
        if name in setup.shorthands:
            return setup, dict(setup.shorthands[name])
    raise unknown_name("setup", name, [*SETUPS, *(short for setup in SETUPS.values() for short in setup.shorthands)])
