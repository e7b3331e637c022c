"""Fitted models outside this process: model files, SQL, ONNX and Python source.

In reading order:
    records        JSON records with arrays, checked by msgspec
    summaries      records of summaries, solutions and perceptron trainings
    agreement      refuse figures that contradict the summary in the same file
    state          parameters and attributes of each estimator, and how it is restored
    conventions    the conventions of an estimator, in words
    test_vectors   made-up rows with their predictions, checked when a file is loaded
    model_file     save and read a model file; its JSON Schema
    graph          a model as arithmetic from raw columns to predictions
    parity_check   made-up rows on which an export must agree with its model
    regression_table  models side by side: text, Markdown, LaTeX, HTML, Typst, Word
    python         the graph as Python source
    sql            the graph as SQL
    onnx           the graph as an ONNX model
"""
