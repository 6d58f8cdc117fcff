# SPDX-License-Identifier: Apache-2.0
"""Kondo humanoids on a serial line: boards RCB-1 (KHR-1) and RCB-4 (KHR-3HV, KXR)."""
