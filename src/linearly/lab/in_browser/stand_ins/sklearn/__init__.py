"""Placeholder: the lab does not use scikit-learn, apart from two classes."""
