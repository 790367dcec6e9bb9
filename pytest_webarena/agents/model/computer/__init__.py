"""Computer use: the providers' tools that act by coordinates on screenshots, and one set of actions for all of them.

``gestures`` has the shared actions, ``screens`` scales screenshots and maps coordinates back, ``*_calls`` read the
calls of one provider, ``reading`` a whole reply, ``keys`` are those of definitions, and ``session`` keeps the screen of
a trial.
"""
