# LLVM 19, linked statically. Only codegen/ sees its headers.
find_package(LLVM 19.1 REQUIRED CONFIG)
llvm_map_components_to_libnames(TREADLE_LLVM_LIBS core support passes target X86 NVPTX mc)
add_library(treadle_llvm INTERFACE)
target_include_directories(treadle_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(treadle_llvm INTERFACE ${LLVM_DEFINITIONS_LIST})
target_link_libraries(treadle_llvm INTERFACE ${TREADLE_LLVM_LIBS})
