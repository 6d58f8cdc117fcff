# SPDX-License-Identifier: Apache-2.0
"""Every test of kernels has its own object cache, and the environment says nothing about kernels."""

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    for name in ("ADA_CACHE", "ADA_JIT", "ADA_BOUNDARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ADA_CACHE_DIR", str(tmp_path_factory.mktemp("cache") / "objects"))
