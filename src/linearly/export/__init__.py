"""Fitted models outside this process: model files, SQL, ONNX and plain Python."""
