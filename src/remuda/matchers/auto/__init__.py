"""The matcher `auto`: clauses clustered under their access keys, in one arena of 64-bit words.

layout.py says how words are divided. kernels/keys.py chooses under which of the event's spaces a
clause is looked for, words.py writes predicates as words, arena.py lays records of them out in
chunks, slices.py turns chunks of similar clauses into bitmaps, denials.py holds the clauses without
a key. walk.py reads a cluster for one event; single.py, batch.py and listed_events.py match.
"""

from remuda.matchers.auto.matcher import Auto

__all__ = ["Auto"]
