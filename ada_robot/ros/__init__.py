# SPDX-License-Identifier: Apache-2.0
"""Parts of all nodes: deadline loop, typed parameters, checked commands, diagnostics, start and end."""
