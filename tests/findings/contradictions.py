"""Pairs of findings that exclude each other: no page and no screen may give both."""

from linearly.findings.sentences import load_catalogue


def contradictions(ids, catalogue="regression"):
    """The pairs of findings that exclude each other and are given together.

    The key ``excludes`` of an entry lists the ids whose claims cannot hold beside it.
    """
    given, entries = list(ids), load_catalogue(catalogue)
    return [(one, other) for one in given for other in entries.get(one, {}).get("excludes", ()) if other in given]
