# SPDX-License-Identifier: Apache-2.0
"""The control loop of a robot that may send anything, or nothing: cycle, hand-over, judgement of states."""
