#!/usr/bin/env bash
# Formatting of every tracked C and C++ file, syntax of every script, forbidden names and include directions.
# `ci/lint.sh --fix` formats in place; `ci/lint.sh --tidy` also runs clang-tidy (minutes).
source "$(dirname "$0")/lib.sh"
failed=0

mapfile -t sources < <(git ls-files -- '*.hpp' '*.cpp' '*.h' '*.c' | while read -r f; do [[ -f $f ]] && echo "$f"; done)
if ((${#sources[@]})); then
    if [[ ${1:-} == --fix ]]; then
        clang-format -i "${sources[@]}"
    elif ! clang-format --dry-run --Werror "${sources[@]}"; then
        echo "Formatting differs; ci/lint.sh --fix puts it right."
        failed=1
    fi
fi

mapfile -t scripts < <(git ls-files -- run test '.ci/run' 'ci/*' '*.sh')
for script in "${scripts[@]}"; do
    [[ ! -f $script || $script == *.md ]] || bash -n "$script" || failed=1
done

ci/check_names.sh || failed=1
ci/check_names.sh --self-test || failed=1

if [[ ${1:-} == --tidy ]]; then
    [[ -f build/clang/compile_commands.json ]] || cmake --preset clang >/dev/null
    mapfile -t units < <(git ls-files -- 'src/*.cpp' 'examples/*.cpp')
    printf '%s\0' "${units[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p build/clang || failed=1
fi

((failed == 0)) && echo "lint: ${#sources[@]} sources and ${#scripts[@]} scripts are clean"
exit "$failed"
