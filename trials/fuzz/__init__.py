# SPDX-License-Identifier: Apache-2.0
"""Inputs mutated towards code that none has reached yet: python -m trials.fuzz; see docs/test_campaigns.md."""
