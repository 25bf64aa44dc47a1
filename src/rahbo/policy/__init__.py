"""What to try next: design, acquisition, search, strategies."""
