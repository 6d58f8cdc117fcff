# SPDX-License-Identifier: Apache-2.0
"""The working folder of tests that let MuJoCo write."""

import pytest


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The folder of the test is the current one: MuJoCo writes its warnings there."""
    monkeypatch.chdir(tmp_path)
