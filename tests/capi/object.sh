#!/usr/bin/env bash
# object.sh <source> <work folder> <object> <c compiler> <nm> <emulator, may be empty or a list> <linker flag>...
set -euo pipefail
source=$1 work=$2 object=$3 cc=$4 nm=$5
IFS=';' read -ra emulator <<<"$6"
shift 6
fail() {
    echo "object.sh: $*" >&2
    exit 1
}

wanted="future_free future_get thread_pool_new thread_pool_shutdown_and_destroy thread_pool_submit"
defined=$("$nm" --extern-only --defined-only "$object" | awk '{ print $NF }' | sort | paste -sd ' ')
[[ $defined == "$wanted" ]] || fail "it defines: $defined"
strangers=$("$nm" --undefined-only "$object" | grep -i pilfer || true)
[[ -z $strangers ]] || fail "it needs: $strangers"

# A program with names of its own that are libpilfer's, too, would clash with anything that is not local.
cat >"$work/clash.c" <<'END'
int pilfer_v0_start(void), pilfer_v0_pools = 7;
int pilfer_v0_start(void) { return pilfer_v0_pools; }
END
example=$source/examples/c/threadpool_pools
"$cc" -std=c11 -Wall -Wextra -Werror -I "$source/include" -o "$work/object_user" "$example.c" "$work/clash.c" "$object" "$@"
[[ $("${emulator[@]}" "$work/object_user" 3) == "$(cat "$example.expected")" ]] || fail "the program printed something else"
