# cmake -DOUT=FILE -DROOT=DIR -DLLVM=VERSION "-DFOLDERS=a;b" -P build_id.cmake: writes a C++ source with the hash of all
# sources of the folders, which is the id of runtime/build_id.h.
set(all "LLVM ${LLVM}\n")
foreach(folder ${FOLDERS})
  file(GLOB_RECURSE files ${ROOT}/${folder}/*.cc ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.def ${ROOT}/${folder}/*.tsa)
  list(SORT files)
  foreach(file ${files})
    file(SHA256 ${file} hash)
    file(RELATIVE_PATH name ${ROOT} ${file})
    string(APPEND all "${name} ${hash}\n")
  endforeach()
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING ${id} 0 32 id)
file(WRITE ${OUT} "// Made by cmake/build_id.cmake.\n#include \"runtime/build_id.h\"\n\n"
  "namespace tarsia::runtime {\n\nstd::string_view BuildId() { return \"${id}\"; }\n\n"
  "}  // namespace tarsia::runtime\n")
