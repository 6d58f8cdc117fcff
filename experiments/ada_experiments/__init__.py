# SPDX-License-Identifier: Apache-2.0
"""Experiments beyond a single simulation, one module each, imported on demand."""

from __future__ import annotations

from pkgutil import iter_modules

# Modules with `@experiment` and `@measure` functions for scenarios: all of this package.
MODULES = tuple(f"{__name__}.{module.name}" for module in iter_modules(__path__) if not module.ispkg)
