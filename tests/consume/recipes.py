#!/usr/bin/env python3
"""recipes.py SOURCE: the recipes for vcpkg and Conan, as far as they can be checked without these programs."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

source = Path(sys.argv[1])
wrong = []


def expect(holds, text):
    if not holds:
        wrong.append(text)


version = re.search(r"^project\(pilfer VERSION ([0-9.]+)", (source / "CMakeLists.txt").read_text(), re.M).group(1)
switches = set(re.findall(r"\b(PILFER_[A-Z_]+)\b", (source / "cmake/PilferOptions.cmake").read_text()))

port = source / "packaging/vcpkg/pilfer"
manifest = json.loads((port / "vcpkg.json").read_text())
expect(manifest["name"] == "pilfer", "vcpkg.json names another project")
expect(manifest["version"] == version, f"vcpkg.json has version {manifest['version']}, the project {version}")
portfile = (port / "portfile.cmake").read_text()
used = set(re.findall(r"-D(PILFER_[A-Z_]+)=", portfile))
expect(used, "portfile.cmake sets no switch")
for call in ("vcpkg_cmake_configure", "vcpkg_cmake_install", "vcpkg_cmake_config_fixup", "vcpkg_install_copyright"):
    expect(call + "(" in portfile, f"portfile.cmake does not call {call}")
up = re.search(r"CMAKE_CURRENT_LIST_DIR}/([./]+)", portfile).group(1)
expect((port / up / "CMakeLists.txt").resolve() == (source / "CMakeLists.txt").resolve(), "portfile.cmake has another source")

recipe = (source / "packaging/conan/conanfile.py").read_text()
tree = ast.parse(recipe)
kind = next(node for node in tree.body if isinstance(node, ast.ClassDef))
values = {t.id: ast.literal_eval(n.value) for n in kind.body if isinstance(n, ast.Assign) for t in n.targets}
expect(values["name"] == "pilfer", "conanfile.py names another project")
expect(values["version"] == version, f"conanfile.py has version {values['version']}, the project {version}")
methods = {node.name for node in kind.body if isinstance(node, ast.FunctionDef)}
expect({"export_sources", "layout", "generate", "build", "package", "package_info"} <= methods, "conanfile.py lacks a method")
conan_set = dict(re.findall(r'cache_variables\["(PILFER_[A-Z_]+)"\] = "(\w+)"', recipe))
expect(set(conan_set) == used, f"the recipes differ in {sorted(set(conan_set) ^ used)}")
patterns = re.search(r"for pattern in \(([^)]*)\)", recipe).group(1).replace('"', "").split(", ")
for pattern in patterns:
    expect(any(source.glob(pattern)), f"conanfile.py exports {pattern}, which is not there")

# The exported files can be configured alone, as the main project, with all optional packages of this machine.
with tempfile.TemporaryDirectory() as folder:
    for pattern in patterns:
        for path in source.glob(pattern):
            to = Path(folder) / path.relative_to(source)
            to.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if path.is_dir() else shutil.copy)(path, to)
    done = subprocess.run(["cmake", "-S", folder, "-B", folder + "/build", *(f"-D{k}={v}" for k, v in conan_set.items())],
                          capture_output=True, text=True, check=False)
    expect(done.returncode == 0, "what conanfile.py exports cannot be configured:\n" + done.stderr)

for switch in sorted(used):
    expect(switch in switches, f"a recipe sets {switch}, which the project does not have")

for text in wrong:
    print("recipes.py:", text, file=sys.stderr)
print(f"recipes.py: 2 recipes, {len(used)} switches, version {version}")
sys.exit(bool(wrong))
