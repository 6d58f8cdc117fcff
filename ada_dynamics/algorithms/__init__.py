# SPDX-License-Identifier: Apache-2.0
"""Dynamics algorithms, one per file, over generic scalars: run them on floats, wider floats, arrays or graph nodes."""
