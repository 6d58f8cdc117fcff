# SPDX-License-Identifier: Apache-2.0
"""Boards RCB-1, of which a KHR-1 has two on one serial line."""
