# SPDX-License-Identifier: Apache-2.0
"""Tests of kernels share one object cache for each run, and the environment has nothing on kernels."""

import pytest


@pytest.fixture(scope="session")
def shared(tmp_path_factory, request):
    base = tmp_path_factory.getbasetemp()
    return (base.parent if hasattr(request.config, "workerinput") else base) / "kernels"


@pytest.fixture(autouse=True)
def environment(shared, monkeypatch):
    for name in ("ADA_CACHE", "ADA_JIT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ADA_CACHE_DIR", str(shared))


@pytest.fixture
def own_cache(environment, tmp_path, monkeypatch):
    monkeypatch.setenv("ADA_CACHE_DIR", str(tmp_path / "objects"))
    return tmp_path / "objects"
