"""The paper's figures, redrawn from records of its experiments."""

from rahbo.plots.paper.figures import markdown, save_figures

__all__ = ["markdown", "save_figures"]
