# SPDX-License-Identifier: Apache-2.0
"""Loop constraints: closure, rank and mobility, elimination orders, singular configurations, tangent maps."""
