# SPDX-License-Identifier: Apache-2.0
"""The contract of simulators, emulated devices and devices, their safety cycle and ROS 2 node."""
