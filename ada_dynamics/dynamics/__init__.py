# SPDX-License-Identifier: Apache-2.0
"""The front door: names of quantities to compiled kernels, for one state or a batch."""

from ada_dynamics.dynamics.front import Dynamics

__all__ = ["Dynamics"]
