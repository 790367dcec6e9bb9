"""Stand-ins for the seven hosted sites of WebArena, written from upstream's documents alone.

The tables in `images` and `pages` describe what WebArena's installation guide, its sign-in
script, its tasks and the two public set-up projects say about the images. Nobody read this
project's catalogue of WebArena to write them, nor to write the list in `deviations`.
Run `python3 -m hosted_stand_ins` from `tests/` to serve them; they need Python 3 alone.
"""
