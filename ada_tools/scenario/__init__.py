# SPDX-License-Identifier: Apache-2.0
"""Published experiments as data: model, initial state, controller and claims."""

from ada_tools.scenario.fields import ScenarioError
from ada_tools.scenario.published import GROUPS, names, names_in
from ada_tools.scenario.run import measure, simulate, simulation_of
from ada_tools.scenario.scenario import Scenario, load

__all__ = ["GROUPS", "Scenario", "ScenarioError", "load", "measure", "names", "names_in", "simulate", "simulation_of"]
