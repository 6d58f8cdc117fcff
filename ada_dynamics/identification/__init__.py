# SPDX-License-Identifier: Apache-2.0
"""Identification of masses, first moments, inertias and losses from motions with measured efforts."""

from ada_dynamics.identification.estimate import identify
from ada_dynamics.identification.excitation import Excitation, excitation
from ada_dynamics.identification.result import Fit, Identification

__all__ = ["Excitation", "Fit", "Identification", "excitation", "identify"]
