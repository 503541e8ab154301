# Sourced by the scripts: configure PRESET, build PRESET [cmake --build options]. Both are quick when nothing has changed.

processors=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)

build_folder() {
  case "$1" in
    release) echo build ;;
    *) echo "build-$1" ;;
  esac
}

configure() {
  [ -f "$(build_folder "$1")/CMakeCache.txt" ] && return 0  # the build itself configures again when it must
  if [ -z "${CMAKE_GENERATOR:-}" ] && command -v ninja > /dev/null; then
    cmake --preset "$1" -G Ninja
  else
    cmake --preset "$1"
  fi
}

build() {
  preset=$1
  shift
  cmake --build --preset "$preset" --parallel "$processors" "$@"
}
