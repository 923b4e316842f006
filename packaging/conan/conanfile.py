"""Conan 2 recipe of this checkout: conan create packaging/conan"""

import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Pilfer(ConanFile):
    name = "pilfer"
    version = "0.1.0"
    license = "Apache-2.0"
    description = "A work-stealing runtime for C++20"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "tools/gdb/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("pilfer is for Linux")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["PILFER_TOOLS"] = "OFF"
        toolchain.cache_variables["PILFER_HWLOC"] = "OFF"
        toolchain.cache_variables["PILFER_USDT"] = "OFF"
        toolchain.cache_variables["PILFER_TBB"] = "OFF"
        toolchain.cache_variables["PILFER_CLUSTER"] = "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.libs = ["pilfer"]
        self.cpp_info.set_property("cmake_target_name", "pilfer::pilfer")
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.cxxflags = ["-fstack-clash-protection"]
        if not self.options.shared:
            self.cpp_info.defines = ["PILFER_STATIC"]
