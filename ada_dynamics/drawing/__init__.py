# SPDX-License-Identifier: Apache-2.0
"""What people look at: plots, snapshots, animations, the browser view, report pages."""
