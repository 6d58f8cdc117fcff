# SPDX-License-Identifier: Apache-2.0
"""The links of view_node: topics and services of a robot's node and of a controller."""
