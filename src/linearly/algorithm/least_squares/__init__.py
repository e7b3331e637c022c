"""The least_squares package."""
