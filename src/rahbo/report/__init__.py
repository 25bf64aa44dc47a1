"""What to tell the user."""
