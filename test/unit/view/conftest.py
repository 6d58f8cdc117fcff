# SPDX-License-Identifier: Apache-2.0
"""What tests of pictures and pages share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ada_tools.browser.page import Page


@pytest.fixture
def page() -> Iterator[Page]:
    """A page; what it says to those who look at it is kept in `said`."""
    pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")
    with Page("test", port=0) as shown:
        shown.said = []  # type: ignore[attr-defined]
        shown.say = shown.said.append  # type: ignore[attr-defined,method-assign]
        yield shown
