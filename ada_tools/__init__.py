# SPDX-License-Identifier: Apache-2.0
"""Tools on top of the library: command line, browser pages, bringup, scenarios, sweeps, and the nodes that watch."""
