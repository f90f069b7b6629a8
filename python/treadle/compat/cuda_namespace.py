"""The namespace of ``import cuda``, which holds packages only."""
