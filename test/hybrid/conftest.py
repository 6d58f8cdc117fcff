# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled by these tests go to a directory of their own; the tests here share `lanes_examples`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# pytest's "importlib" mode leaves the path alone.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True, scope="session")
def _own_kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADA_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        yield
