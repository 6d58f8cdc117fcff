# SPDX-License-Identifier: Apache-2.0
"""Inputs mutated towards code that none has reached yet: python -m trials.fuzz. What it asks of each: docs/fuzzing.md."""
