# SPDX-License-Identifier: Apache-2.0
"""The comparison that oracle_node makes."""
