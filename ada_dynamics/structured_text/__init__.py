# SPDX-License-Identifier: Apache-2.0
"""YAML and JSON read strictly: values know their lines, and every mistake is named with its place."""
