# SPDX-License-Identifier: Apache-2.0
"""What oracle_node compares."""
