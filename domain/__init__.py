"""The rules of Countersign, without I/O, clock or randomness: tables, values and pure functions."""
