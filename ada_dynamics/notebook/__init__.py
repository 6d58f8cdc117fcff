# SPDX-License-Identifier: Apache-2.0
"""Models, logs and results in notebooks: HTML with drawings as SVG, whole without a server."""

from ada_dynamics.notebook.looks import html_of

__all__ = ["html_of"]
