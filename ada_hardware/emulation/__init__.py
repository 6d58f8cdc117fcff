# SPDX-License-Identifier: Apache-2.0
"""Emulated devices, their connections, and injected faults."""
