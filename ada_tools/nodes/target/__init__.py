# SPDX-License-Identifier: Apache-2.0
"""What target_node is made of."""
