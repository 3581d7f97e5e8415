"""Plots with matplotlib, where it is installed."""

from __future__ import annotations

from typing import Any

from ._arrays import FloatArray
from ._errors import InvalidInput, NotSupported


def residual_axes(residuals: FloatArray, title: str, iteration: str) -> Any:
    """Residuals over iterations, on a logarithmic scale."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise NotSupported("a plot without matplotlib (`pip install matplotlib`)") from None
    if len(residuals) == 0:
        raise InvalidInput("there are no residuals to plot: nothing was solved yet, or this solver has none")
    _, axes = plt.subplots()
    axes.semilogy(range(len(residuals)), residuals, marker="o", markersize=3)
    axes.set(title=title, xlabel=iteration, ylabel="relative residual")
    axes.grid(True, which="both", alpha=0.3)
    return axes
