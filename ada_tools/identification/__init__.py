# SPDX-License-Identifier: Apache-2.0
"""Identification from the command line: input of recordings and output of reports."""
