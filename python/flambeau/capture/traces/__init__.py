"""Traces: what torch's tracer records of one run, with the sizes that it would make constants.

``tracing`` runs it. Meanwhile sizes are tensors to it and numbers to the model (``sizes``, ``functions``, ``floats``, ``lists``); ``counts`` are
those of which it makes numbers without a word. ``recorded_nodes`` and ``written_constants`` are about what it wrote down.
"""
