#!/usr/bin/env bash
# The library as a stranger uses it: installed static and shared (find_package, pkg-config), as a subdirectory and
# by FetchContent, and by programs without exceptions. By ./test one of each pair, in the next commit the other.
source "$(dirname "$0")/lib.sh"
case $(commits_turn 2) in
*[02468]/2) ways=(shared fetch_content) ;;
*[13579]/2) ways=(static subdirectory) ;;
*) ways=(shared fetch_content static subdirectory) ;;
esac
release_leg -R "^consume[.]($(IFS='|' && echo "${ways[*]}"))\$"
