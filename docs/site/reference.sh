#!/usr/bin/env bash
# docs/site/reference.sh FOLDER: makes the reference of the public headers in FOLDER/reference by doxygen. Ends with 1 over
# any warning of doxygen, and if a public name is not documented.
source "$(dirname "$0")/../../ci/lib.sh"
rm -rf "$1/reference" "$1/reference-xml"
mkdir -p "$1"
(cat docs/site/Doxyfile && echo "OUTPUT_DIRECTORY = $1") | doxygen -
python3 docs/site/documented.py "$1/reference-xml"
rm -r "$1/reference-xml"
# A class whose nested classes are all private has a link to a list of them, but no list.
grep -L 'name="nested-classes"' "$1"/reference/class*.html |
    xargs sed -i 's|<a href="#nested-classes">Classes</a> &#124;||'
sed -i 's|{text:"Main Page",url:"index.html"}|{text:"Guides",url:"../index.html"}|' "$1/reference/menudata.js"
