#!/usr/bin/env bash
# Installs into a temporary folder and works from there alone: gates are found beside the program, templates are there, and a gate
# builds with find_package(assay) and with the pkg-config file.
set -eu
cmake=$1 build=$2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/p" >"$work/log" 2>&1 || { tail "$work/log"; exit 1; }
cd "$work"
assay=$work/p/bin/assay
"$assay" gates | grep -q "$work/p/lib.*/assay/gates/conversion.so" || { "$assay" gates --paths; echo "installed gates are not found"; exit 1; }
"$assay" gates | grep -q '^token_flip' || { echo "installed Lua gates are not found"; exit 1; }
"$assay" new gate budget >/dev/null
"$assay" new experiment tryout >/dev/null
grep -q "$work/p/include" budget/CMakeLists.txt || { echo "the new gate does not use the installed headers"; exit 1; }
sed -i.bak "s|$work/p/include|/nonexistent|" budget/CMakeLists.txt
"$cmake" -S budget -B build -DCMAKE_PREFIX_PATH="$work/p" >log 2>&1 && "$cmake" --build build >>log 2>&1 || { cat log; exit 1; }
"$assay" gates check build/budget.so --cases budget/cases
if command -v pkg-config >/dev/null; then
    pc=$(dirname "$(find "$work/p" -name assay-plugin.pc)")
    cc -shared -fPIC $(PKG_CONFIG_PATH=$pc pkg-config --define-variable=prefix="$work/p" --cflags assay-plugin) budget/gate.c -o by_pc.so
    "$assay" gates check by_pc.so --cases budget/cases >/dev/null
fi
