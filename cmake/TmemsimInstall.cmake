# cmake --install, and the package files that let another project say find_package(tmemsim CONFIG).
