#!/usr/bin/env bash
# g++, optimised: everything is built and tested, except that the consumers and the checker have legs of their own and
# the clang leg compiles every header alone.
source "$(dirname "$0")/lib.sh"
leg release -LE '^(consume|headers|long_model)$'
