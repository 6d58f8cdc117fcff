# SPDX-License-Identifier: Apache-2.0
"""Pictures by matplotlib: plots, snapshots, animations; meshes, and the marks that viewers draw."""
