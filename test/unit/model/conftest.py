# SPDX-License-Identifier: Apache-2.0
"""Files of a test's own."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Write a text into a file of the test's own folder, or of a folder in it; its path."""

    def write(text, name="robot.urdf"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The folder of the test is the current one: MuJoCo writes its warnings there."""
    monkeypatch.chdir(tmp_path)
