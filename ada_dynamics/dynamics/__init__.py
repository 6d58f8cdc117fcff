# SPDX-License-Identifier: Apache-2.0
"""`Dynamics`: quantities of a model by compiled kernels, for one state or a batch."""

from ada_dynamics.dynamics.dynamics import Dynamics

__all__ = ["Dynamics"]
