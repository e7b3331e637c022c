"""The public API is documented in numpydoc: sections, parameters, return values and examples."""

import inspect
import warnings

import pytest

import linearly as ly

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from numpydoc.validate import validate

# Codes of numpydoc's validation: position and blank lines of the text (GL), a sentence as summary (SS), every
# parameter with type and description (PR), return values (RT), descriptions of See Also (SA).
CHECKS = {"GL01", "GL02", "GL03", "GL08", "SS01", "SS02", "SS03", "SS06"}
CHECKS |= {"PR01", "PR02", "PR03", "PR04", "PR07", "PR10", "RT01", "RT03", "SA04"}
# Objects that only the library makes: their attributes are documented, their constructor is not part of the API.
RESULTS = {"BiasVariance", "Certificate", "ErrorFloor", "Evaluation", "LassoKnots", "Model", "OptimalityCertificate"}
RESULTS |= {"RegressionTable"}
# A plot, a cluster or a printed list of versions would not show in a doctest.
WITHOUT_EXAMPLE = {"from_dask", "from_spark", "load", "show_versions"} | RESULTS

NAMES = [name for name in ly.__all__ if not name.endswith(("Warning", "Error"))]


@pytest.mark.parametrize("name", NAMES)
def test_public_name_is_documented_in_numpydoc(name):
    thing = getattr(ly, name)
    checks = CHECKS - ({"PR01"} if name in RESULTS else set())
    if not name.startswith("plot_") and name not in WITHOUT_EXAMPLE:
        checks |= {"EX01"}
    found = [error for error in validate(f"{thing.__module__}.{thing.__name__}")["errors"] if error[0] in checks]
    assert not found, "\n".join(f"{code}: {text}" for code, text in found)


def public_methods():
    """The functions of public classes that take arguments, by the path that numpydoc reads."""
    classes = [thing for thing in (getattr(ly, name) for name in NAMES) if inspect.isclass(thing)]
    functions = {
        method
        for thing in classes
        for name, method in inspect.getmembers(thing, inspect.isfunction)
        if not name.startswith("_") and method.__module__.startswith("linearly.")
    }
    return sorted(
        f"{one.__module__}.{one.__qualname__}" for one in functions if len(inspect.signature(one).parameters) > 1
    )


@pytest.mark.parametrize("path", public_methods())
def test_public_method_documents_its_parameters(path):
    wanted = {"PR01", "PR02", "PR03", "PR04", "PR07"}
    assert [text for code, text in validate(path)["errors"] if code in wanted] == []
