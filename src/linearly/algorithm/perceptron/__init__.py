"""The perceptron package."""
