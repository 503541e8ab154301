# cmake -DBUILD=... -DSOURCE=... -DWORK=... -DLIBRARIES=ir,... -P run.cmake: installs the built libraries into WORK/prefix, then
# builds and runs the consumer against that, and nothing else of this repository.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(result)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${said}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix "-DLIBRARIES=${LIBRARIES}"
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=${BUILD_TYPE} "-DCMAKE_CXX_FLAGS=${FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK}/build --parallel 2)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build)
