"""Studies: what policies do to real late labels, the paper's Table 1 as measured, and schedulers compared.

They are no part of the library: run them in a checkout, with the extra ``studies``, as ``python -m studies NAME``.
"""
