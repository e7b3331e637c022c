"""The evaluation package."""
