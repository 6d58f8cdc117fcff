# SPDX-License-Identifier: Apache-2.0
"""Virtual closed chains (Takahashi 2012, chapter 7): mechanism, compiled law, constraint manifold, contacts."""
