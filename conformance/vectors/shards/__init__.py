"""A set of vectors in shards. Each is computed from the recipe and its index alone: in any order, on any machine, and
again after a kill at any moment.

A directory holds one sweep. ``sweep.json`` says which (`SweepPlan.to_json`); each process that works on it appends to a
manifest of its own, ``manifest-I-of-N.jsonl``, a line per shard; a shard's file is written under a temporary name and
then renamed to one made of its index and its content's digest. When all shards are there, ``metadata.json`` describes
the whole, and of tables of runs ``sweep.runs`` is the whole.

The digest of a sweep is the SHA-256 of its shards' digests (`columns.Digest`, in hexadecimal), in the order of their
index, separated by line feeds: it depends neither on who computed them nor when.
"""
