#!/usr/bin/env bash
# The fallback for other processors, tested on this one: stacks are switched by ucontext.
source "$(dirname "$0")/lib.sh"
leg portable -LE '^(consume|headers|names)$'
