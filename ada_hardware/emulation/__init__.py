# SPDX-License-Identifier: Apache-2.0
"""Emulated devices, their wires, and faults on request."""
