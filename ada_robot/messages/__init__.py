# SPDX-License-Identifier: Apache-2.0
"""Messages of a robot's state, and back: joint states, transforms, wrenches, markers."""
