"""The logistic package."""
