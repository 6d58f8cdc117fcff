# SPDX-License-Identifier: Apache-2.0
"""Encoding and decoding of robot state messages: joint states, transforms, wrenches, markers."""
