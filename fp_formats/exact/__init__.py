"""The operations of `scalar` on arrays of codes: unpack, operate on integers, round and encode once.

Codes are unsigned arrays of the format's `storage_dtype`; formats wider than 64 bits have one more trailing axis of
uint64 limbs, least significant first. Operands may have any shape, rank 0 and zero size included, and broadcast; they
are never written to. Significands take one 64-bit limb for precisions up to 31 bits and two above (`limbs`). To jam
bits means: drop them; if one of them was set, set the lowest bit that is left. ``random`` is ``(values, width)``, an
array of unsigned integers below 2**width, one per element.
"""
