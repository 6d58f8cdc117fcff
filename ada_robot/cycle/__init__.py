# SPDX-License-Identifier: Apache-2.0
"""The cycle of a robot in real time: a process of its own (or a thread), and its link to the program that commands."""
