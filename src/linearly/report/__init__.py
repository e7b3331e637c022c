"""Reports: one HTML page about a fitted model, from facts to findings to the page.

In reading order:
    facts                 what is known about a model and its rows, ready for JSON
    classifier_facts      the part that only classifiers have
    term_facts            how columns are related: levels, powers, interactions
    question_facts        tests of terms and means of categories, and their section
    page_parts            formatters, findings, sections, tables and figures
    texts                 sentences, filled with facts
    sections              sections of every page
    regression_page       the page of a regression
    sparse_facts          facts about a lasso or elastic net
    sparse_page           the page of a lasso or elastic net
    classifier_page       the page of a classifier
    figures               plots, drawn from facts
    effect_figures        plots against the columns, the equation, and the names of rows
    svg                   from a matplotlib figure to SVG in a page
    render                from facts to HTML, and to a file
    templates/            sentences (toml), page (html), style (css) refit and hover (js)
"""
