# SPDX-License-Identifier: Apache-2.0
"""HTML of models, logs and results in notebooks."""
