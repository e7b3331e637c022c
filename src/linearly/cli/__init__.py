"""The command line. Nothing slow is imported until a command runs.

In reading order:
    main         run a command; errors become one sentence and an exit code
    group        all commands under one name
    options      arguments and options that several commands share
    inputs       data and model files; rows that are held out
    progress     the progress bar
    terminal     standard output and standard error; formatting of text and numbers
    errors       messages in terms of options, with remedies
    check        linearly check
    fit_summary  facts about a fitted model
    fit_view     the same facts on a screen
    fit          linearly fit
    compare      linearly compare
    predict      linearly predict, evaluate
    models       linearly show, diff, merge, export
    questions    linearly anova, ask, means, table
    pages        linearly report, lab
    demo         linearly demo
    selftest     linearly selftest
    completion   linearly completion
"""
