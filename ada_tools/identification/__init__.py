# SPDX-License-Identifier: Apache-2.0
"""Identification from the command line: recordings in, reports out."""
