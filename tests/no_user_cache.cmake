# ctest includes this file: no test reads or writes the user's cache of compiled code. Tests of the
# cache set the variable to a folder of their own.
set(ENV{TARSIA_CACHE} off)
