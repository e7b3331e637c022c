"""The lab without a server: Python and NumPy run inside the browser, on Pyodide.

In reading order:
    pyodide.toml   the release of Pyodide, and the hashes of the files that the page loads
    stand_ins/     the functions of SciPy that the lab calls, on NumPy, and placeholders for what it only imports
    boot           the session that answers the page (runs in the browser)
    worker.js      load Pyodide and the library beside the page
    page.js        show the recorded film, then pass messages to the worker

`linearly.lab.export_site` writes the page.
"""
