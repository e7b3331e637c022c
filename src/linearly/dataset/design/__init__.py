"""Designs: from the columns of a table to the numbers that a model is fitted to.

In reading order:
    terms                the factors that a term is a product of; levels of categories
    transforms           factors that are computed: log(x), scale(x), poly(x, 3), C(x), offset(x)
    contrasts            codings of categories: treatment, sum, Helmert, polynomial
    splines              bs(x, df=5) and ns(x, df=4)
    cut                  intervals of numbers: cut(x, c(0, 10, 20))
    counts               targets of successes and failures: cbind(dead, alive), or proportions
    design               Design, and DesignRows: rows of numbers of any tables
    from_formula         the design that a formula describes
    zero_weights         fit a design without the rows with weight 0
    cached_rows          keep encoded rows in memory for models with several passes
    missing_markers      texts that count as missing values (na_values)
    numeric_text         recognise text that was meant for numbers
    numeric_text_checks  raise for such columns, and warn about codes with leading zeros
    serialization        designs as JSON, for model files
"""
