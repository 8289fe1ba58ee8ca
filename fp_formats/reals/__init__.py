"""Elementary functions of the reals, rounded once: enclosures in balls, refined until one code is left."""
