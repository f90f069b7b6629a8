"""``kernel.debug``: a kernel run as the Python that it is, with the compiled kernel's types and memory, under pdb.

The parts, in the order in which a launch uses them: ``launch`` (the user's end), ``functions`` (kernels and device functions, made for
the types of their arguments), ``rewrite`` (their syntax trees), ``names`` and ``intrinsics`` (what free names stand for), ``values``
and ``arrays`` (numbers and memory), ``threads`` and ``warps`` (threads that wait for each other), ``debugger`` (pdb).

No rule of the language is written down here a second time: types of variables come from the compiler's front end, and every
operation on numbers is done by machine code that the compiler makes for it.
"""
