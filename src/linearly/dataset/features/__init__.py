"""The features package."""
