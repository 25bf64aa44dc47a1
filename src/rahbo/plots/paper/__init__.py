"""The paper's figures, drawn again from the records of our runs."""

from rahbo.plots.paper.figures import markdown, save_figures

__all__ = ["markdown", "save_figures"]
