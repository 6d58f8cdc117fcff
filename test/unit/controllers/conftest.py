# SPDX-License-Identifier: Apache-2.0
"""Robots that many tests of controllers use; loaded once, for nothing changes them."""

import pytest

import ada_dynamics as ada


@pytest.fixture(scope="session")
def pa10() -> ada.Model:
    return ada.load("pa10")


@pytest.fixture(scope="session")
def dynamics(pa10: ada.Model) -> ada.Dynamics:
    return ada.Dynamics(pa10)


@pytest.fixture(scope="session")
def planar_4r() -> ada.Model:
    return ada.load("planar_4r")
