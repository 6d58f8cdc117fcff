# SPDX-License-Identifier: Apache-2.0
"""Parameters of tests that run in the nightly tier: the same claim of larger robots, or with more random inputs."""

from __future__ import annotations

from typing import Any

import pytest


def nightly(*values: Any) -> Any:
    """One set of values of a parametrised test, in the nightly tier only."""
    return pytest.param(*values, marks=pytest.mark.fuzz)
