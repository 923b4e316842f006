#!/usr/bin/env bash
# Formatting of every C and C++ file, syntax of every script, forbidden names, the order of rooms as
# far as includes show it, generated pages.
# `ci/lint.sh --fix` formats in place; `ci/lint.sh --tidy` also runs clang-tidy (minutes).
source "$(dirname "$0")/lib.sh"
failed=0

folders=()
for folder in include src dropin tests examples bench showcase study tools docs; do
    [[ ! -d $folder ]] || folders+=("$folder")
done
mapfile -t sources < <(find "${folders[@]}" -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.[ch]' \) | sort)
if ((${#sources[@]})); then
    if [[ ${1:-} == --fix ]]; then
        clang-format -i "${sources[@]}"
    elif ! clang-format --dry-run --Werror "${sources[@]}"; then
        echo "Formatting differs; ci/lint.sh --fix puts it right."
        failed=1
    fi
fi

mapfile -t scripts < <(grep -rlE '^#!.*bash' run test .ci/run "${folders[@]}"; ls ci/*.sh ci/long)
for script in "${scripts[@]}"; do
    bash -n "$script" || failed=1
done

ci/check_names.sh || failed=1
ci/check_names.sh --self-test || failed=1
ci/layers.py || failed=1
ci/layers.py --self-test || failed=1
docs/features.py --check || failed=1
bench/readme.py --check || failed=1
bench/sort.py --check || failed=1
bench/algorithms.py --check || failed=1
bench/pictures.py --check || failed=1

# Every public name is explained. Only where its tool is: the short leg does not install it.
if command -v doxygen >/dev/null; then
    docs/site/reference.sh build/reference || failed=1
fi

if [[ ${1:-} == --tidy ]]; then
    cmake --preset clang -DPILFER_UNITY=OFF >/dev/null # clang-tidy needs a command for each file
    mapfile -t units < <(printf '%s\n' "${sources[@]}" | grep -E '^(src|examples)/.*\.cpp$')
    printf '%s\0' "${units[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p build/clang || failed=1
fi

((failed == 0)) && echo "lint: ${#sources[@]} sources and ${#scripts[@]} scripts are clean"
exit "$failed"
