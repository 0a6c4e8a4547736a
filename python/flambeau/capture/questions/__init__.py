"""What a model asks while it is captured (``if``, ``while``, ``assert``), and how that is answered.

- Of sizes: ``decisions`` records what Python asked and by which line; ``statements`` finds the ``if`` or ``assert`` that asked.
- Of data: ``constants`` answers from the model's own weights, ``equality`` for tensors that were computed alike, ``emptiness`` that
  something is there, ``presence`` what masks and lengths are in general.
- ``general`` finds the questions that only save work, and the examples that show it.
- ``ways_of_exports`` is about models that ask whether they are exported.
"""
