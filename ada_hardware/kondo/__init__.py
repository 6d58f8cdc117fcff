# SPDX-License-Identifier: Apache-2.0
"""Humanoids of Kondo on a serial line: the boards RCB-1 (KHR-1) and RCB-4 (KHR-3HV, KXR)."""
