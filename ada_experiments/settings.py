# SPDX-License-Identifier: Apache-2.0
"""Settings from a scenario for an experiment, read as strictly as the rest of it."""

from __future__ import annotations

from collections.abc import Sequence

from ada_tools.scenario.fields import Part
from ada_tools.scenario.scenario import Scenario


def settings_of(scenario: Scenario, known: Sequence[str]) -> Part:
    """The settings of a scenario.

    Args:
        scenario: that calls the experiment.
        known: keys that the experiment has.

    Raises:
        ScenarioError: there are others; the message names file and line.
    """
    return Part(scenario.tree, "", scenario.file, None).part("settings", known)
