# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled by these tests go to a directory of their own: neither read from the user's cache nor left there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADA_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        yield
