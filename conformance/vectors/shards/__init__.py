"""A set of vectors in shards. Each is computed from the recipe and its index alone: in any order, on any machine, and
again after a kill at any moment.

A directory holds one sweep. ``sweep.json`` describes it (`SweepPlan.to_json`). Each process appends to a manifest of
its own, ``manifest-I-of-N.jsonl``, one line per shard. The file of a shard is written under a temporary name and then
renamed to one made of its index and its content's digest. When all shards exist, ``metadata.json`` describes the set,
and tables of runs are merged into ``sweep.runs``.

The digest of a sweep is the SHA-256 of its shards' digests (`columns.Digest`, in hexadecimal), in the order of their
index, separated by line feeds: it depends neither on the process that computed them nor on the time.
"""
