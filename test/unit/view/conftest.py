# SPDX-License-Identifier: Apache-2.0
"""A page whose server is a stand-in, on a clock that tests advance."""

import pytest

from ada_dynamics.clock import ManualClock
from ada_tools.browser.page import Page


@pytest.fixture
def page() -> Page:
    """One browser has it open; what it says to people is in `page.server.said`."""
    pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")
    from viser_stand_in import StandIn

    return Page("test", server=StandIn(), clock=ManualClock(100.0))
