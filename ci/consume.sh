#!/usr/bin/env bash
# The library as a stranger uses it: installed static and shared (find_package, pkg-config), as a subdirectory and
# by FetchContent, and by programs without exceptions.
source "$(dirname "$0")/lib.sh"
release_leg -L '^consume$'
