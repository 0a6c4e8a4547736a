"""What a model asks while it is captured, and what it is told.

``decisions`` records what Python asks of sizes, and by which line; ``statements`` finds the ``if`` or ``assert`` of it. Of what
data decides, ``constants`` knows what the model holds, ``equality`` what was computed alike, ``emptiness`` that there is
something, ``presence`` what masks and lengths are in general; ``general`` finds questions that save work, and
``ways_of_exports`` those of models that go another way while they are exported.
"""
