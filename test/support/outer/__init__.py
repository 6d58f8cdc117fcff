# SPDX-License-Identifier: Apache-2.0
"""Stops from every outer interface: nodes and programs as people have them, timed on the wire of one arm."""
