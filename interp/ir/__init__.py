"""The IR in memory: types, attributes, locations, operations, errors."""
