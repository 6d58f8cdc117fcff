# SPDX-License-Identifier: Apache-2.0
"""Devices that are not there: emulators, the wires they hang on, and faults on request."""
