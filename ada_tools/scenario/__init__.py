# SPDX-License-Identifier: Apache-2.0
"""The published experiments as data: model, start, control, what must hold.

from ada_tools import scenario as scenarios

scenario = scenarios.load("T3.1")                                    # or a path of your own YAML file
other = scenario.with_changes({"start.joints.joint_1": "120 deg"})
log = scenarios.simulate(other)
scenarios.measure(other, log, ["energy_drift"])
result = scenarios.reproduce(scenario, Path("out"))                  # claims and figures
"""

from ada_tools.scenario.fields import ScenarioError
from ada_tools.scenario.reader import GROUPS, load, names, names_in
from ada_tools.scenario.reproduce import Result, reproduce
from ada_tools.scenario.run import measure, simulate, simulation_of
from ada_tools.scenario.scenario import Scenario

__all__ = [
    "GROUPS",
    "Result",
    "Scenario",
    "ScenarioError",
    "load",
    "measure",
    "names",
    "names_in",
    "reproduce",
    "simulate",
    "simulation_of",
]
