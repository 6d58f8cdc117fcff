# SPDX-License-Identifier: Apache-2.0
"""What all nodes are made with: deadline loop, typed parameters, checked commands, diagnostics, start and end."""
