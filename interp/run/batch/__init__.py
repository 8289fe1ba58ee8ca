"""Batches: a function runs for many lanes at once.

A value over lanes (`halfulp.interp.values.lanes`) has an entry for each lane. Lanes that run together are one frame,
whose slots hold one array over just these lanes, or an integer where all have the same. Where they part at a branch,
the frame becomes several, each for its own lanes. These wait at their segments; the frames that wait at the first
segment in the order of the code become one again and run on. So no op ever sees a lane that does not run it: such a
lane cannot be undefined there, and costs nothing.

A frame that parts copies nothing: what its slots held is `Elsewhere`, and gathered where a segment reads it. Where
frames join, only slots that are still needed are put together, and of these only those that differ.

A call is one activation of a function for the lanes that call together. It ends when all of them have returned.
"""
