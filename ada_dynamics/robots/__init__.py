# SPDX-License-Identifier: Apache-2.0
"""Robots by name, from files and from parameters: catalogue, readers, writers, checks of descriptions, mechanisms."""
