# SPDX-License-Identifier: Apache-2.0
"""Every test of kernels has its own object cache, and the environment says nothing about kernels."""

import sys
from pathlib import Path

import pytest

# pytest's "importlib" mode leaves the path alone; the tests here share `jit_examples`.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    for name in ("ADA_CACHE", "ADA_JIT", "ADA_BOUNDARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ADA_CACHE_DIR", str(tmp_path_factory.mktemp("cache") / "objects"))
