"""Values and buffers at run time: their layout, their text, and how they are made of what a user gives."""
