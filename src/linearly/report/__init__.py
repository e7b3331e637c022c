"""Reports: one HTML page about a fitted model, from facts to findings to the page.

In reading order:
    facts                 what is known about a model and its rows, ready for JSON
    regression_facts      the part that only regressions have
    classifier_facts      the part that only classifiers have
    term_facts            how columns are related: levels, powers, interactions
    row_sample            a few rows of many, by a reduction
    page_parts            formatters, findings, sections, tables and figures
    texts                 sentences, filled with facts
    regression_findings   which sentences apply to a regression
    classifier_findings   which sentences apply to a classifier
    sections              sections of every page
    regression_page       the page of a regression
    classifier_page       the page of a classifier
    figures               plots, drawn from facts
    svg                   from a matplotlib figure to SVG in a page
    render                from facts to HTML, and to a file
    templates/            sentences (toml), page (html), style (css) and refit (js)
"""
