# SPDX-License-Identifier: Apache-2.0
"""Spatial algebra over generic scalars (Takahashi 2012, appendix A)."""
