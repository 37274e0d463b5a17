# Fails if a file is larger than a limit: cmake -DFILE=PATH -DLIMIT=BYTES -P check_size.cmake
file(SIZE ${FILE} size)
if(size GREATER LIMIT)
  message(FATAL_ERROR "${FILE} has ${size} bytes; the limit is ${LIMIT}")
endif()
