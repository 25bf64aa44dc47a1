"""The paper's figures, drawn again from the records of our runs."""

from rahbo.plots.paper.figures import figures_markdown, save_figures

__all__ = ["figures_markdown", "save_figures"]
