# SPDX-License-Identifier: Apache-2.0
"""Dynamics of any tree by one program that loops over joints: the algorithms' steps, traced once per joint type.

A robot is then a table of constants, so nothing is compiled per robot, and time and memory grow with the number of
joints alone. All joint axes are on z here.
"""
