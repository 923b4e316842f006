#!/usr/bin/env bash
# The library as a stranger uses it: installed static and shared (find_package, pkg-config), and as a subdirectory.
source "$(dirname "$0")/lib.sh"
leg release -L '^consume$'
