# Sourced by the scripts: installs the packages that are missing, with apt, on Debian 12 and Ubuntu 24.04.
# As root or with a sudo that asks nothing it installs; otherwise it prints the line to run, and stops.

missing_packages() {
  command -v c++ > /dev/null || echo g++
  command -v cmake > /dev/null || echo cmake
  command -v ninja > /dev/null || command -v make > /dev/null || echo ninja-build
  for package in libfmt-dev libyaml-cpp-dev nlohmann-json3-dev libeigen3-dev libcli11-dev catch2; do
    case "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" in
      installed) ;;
      *) echo "$package" ;;
    esac
  done
}

# Whether packages may be installed; as_root is what stands before the command then.
may_install() {
  as_root=
  [ "$(id -u)" = 0 ] && return 0
  as_root="sudo -n"
  sudo -n true 2> /dev/null
}

need_packages() {
  command -v dpkg-query > /dev/null || return 0  # another system: CMake says what it does not find
  missing=$(missing_packages | tr '\n' ' ')
  missing=${missing% }
  [ -n "$missing" ] || return 0
  may_install || {
    echo "Some packages are missing. Run this line, then this script again:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing" >&2
    exit 1
  }
  echo "Installing: $missing" >&2
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2 || {
    echo "apt-get could not install: $missing" >&2
    exit 1
  }
}

# The test of the viewer drives a browser, from Python; so do the tests of two documents without the browser. Where they cannot be
# had these tests are left out; nothing else needs them.
want_browser() {
  wanted=chromium
  for program in chromium chromium-browser google-chrome chrome; do
    ! command -v "$program" > /dev/null || wanted=
  done
  command -v python3 > /dev/null || wanted="python3 $wanted"
  wanted=${wanted% }
  [ -n "$wanted" ] || return 0
  command -v dpkg-query > /dev/null && may_install || return 0
  echo "Installing: $wanted" >&2
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted >&2 ||
    echo "apt-get could not install $wanted; the test of the viewer will be skipped" >&2
}
