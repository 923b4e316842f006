#!/usr/bin/env bash
# g++, optimised: everything is built and tested, except that the consumers have a leg of their own.
source "$(dirname "$0")/lib.sh"
leg release -LE '^(consume|long_model)$'
