"""The estimators: each a choice of summary, objective and optimizer, in scikit-learn's manner."""
