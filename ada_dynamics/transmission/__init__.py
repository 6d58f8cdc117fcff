# SPDX-License-Identifier: Apache-2.0
"""Transmissions: the map between the motors and the joints of a mechanism with closed loops, and its code in C."""

from ada_dynamics.transmission.code import export_transmission
from ada_dynamics.transmission.polynomial import PolynomialFit, polynomial
from ada_dynamics.transmission.transmission import Transmission, TransmissionState, TransmissionWorkspace

__all__ = [
    "PolynomialFit",
    "Transmission",
    "TransmissionState",
    "TransmissionWorkspace",
    "export_transmission",
    "polynomial",
]
