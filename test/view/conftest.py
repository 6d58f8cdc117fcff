# SPDX-License-Identifier: Apache-2.0
"""What tests of pictures and pages share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ada_tools.browser.page import Page


@pytest.fixture(autouse=True, scope="session")
def _own_kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled kernels are neither read from the user's cache nor left there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADA_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        yield


@pytest.fixture
def page() -> Iterator[Page]:
    """A page; what it says to those who look at it is kept in `said`."""
    pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")
    with Page("test", port=0) as shown:
        shown.said = []  # type: ignore[attr-defined]
        shown.say = shown.said.append  # type: ignore[attr-defined,method-assign]
        yield shown
