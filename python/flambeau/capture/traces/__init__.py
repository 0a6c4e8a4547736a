"""Traces: what torch's tracer records of one run, with the sizes that it would make constants.

- ``tracing`` runs the tracer. Meanwhile a size is a tensor to torch and a number to the model: ``sizes``, ``functions``, ``floats``,
  ``lists``.
- ``counts`` warns of sizes that became numbers without a word from torch. ``memos`` says which calls ask for none.
- ``recorded_nodes`` and ``written_constants`` mend the recorded graph.
"""
