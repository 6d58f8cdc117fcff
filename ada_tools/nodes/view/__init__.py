# SPDX-License-Identifier: Apache-2.0
"""What view_node hears and asks for."""
