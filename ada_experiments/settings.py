# SPDX-License-Identifier: Apache-2.0
"""Settings of an experiment from its scenario."""

from __future__ import annotations

from collections.abc import Sequence

from ada_tools.scenario.fields import Part
from ada_tools.scenario.scenario import Scenario


def settings_of(scenario: Scenario, known: Sequence[str]) -> Part:
    """Return the settings of a scenario.

    Args:
        scenario: the scenario of the experiment.
        known: allowed keys.

    Raises:
        ScenarioError: there are other keys.
    """
    return Part(scenario.tree, "", scenario.file, None).part("settings", known)
