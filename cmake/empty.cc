// A library of headers only needs one source file.
