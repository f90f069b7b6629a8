"""Other libraries' names for Treadle's objects: what their import names resolve to under ``treadle run``."""
