"""The pieces of `regret.py`: problems, methods, measures and the report."""
