"""The lab: points on a plane, any of the models, and its learning frame by frame, all computed by the library.

`session` is the state machine, `server` puts it behind a page on this machine, `widget` into a notebook.
"""
