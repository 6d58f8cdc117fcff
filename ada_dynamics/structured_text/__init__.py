# SPDX-License-Identifier: Apache-2.0
"""Strict reading of YAML and JSON: values have line numbers, and every error names file, line and key."""
