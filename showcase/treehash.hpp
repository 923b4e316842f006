// treehash: one digest for all regular files below a folder. It is the SHA-256 of these lines, one per file:
//   <sha256 of the file>  ./<path relative to the folder>
// The lines are in bytewise order of the paths, as in `find | sort | sha256sum | sha256sum` (see README.md).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "executors.hpp"
#include "outcome.hpp"

namespace showcase {

struct tree_node {
    std::string name;
    bool directory = false;
    std::uint64_t bytes = 0;
    int error = 0;   // errno of the first thing that went wrong
    std::string hex; // of a file that could be read
    std::vector<tree_node> children;
};

/// Reads a folder's names: files and folders, no links, no special files, sorted so that a walk in this order
/// meets the files in bytewise order of their paths. A failure goes to node.error. Links are followed for the
/// root only.
void list_folder(tree_node& node, std::string const& path, bool is_root);

/// Sets node.hex and node.bytes, or node.error.
void hash_file(tree_node& node, std::string const& path);

/// Walks the finished tree in order: the combined digest, the counts, the problems.
outcome summarise(tree_node const& root);

template <executor X>
void walk_folder(tree_node& node, std::string const& path, bool is_root) {
    list_folder(node, path, is_root);
    X::for_children(node.children.size(), [&node, &path](std::size_t i) {
        tree_node& child = node.children[i];
        std::string const child_path = path + '/' + child.name;
        if (child.directory) {
            walk_folder<X>(child, child_path, false);
        } else {
            hash_file(child, child_path);
        }
    });
}

template <executor X>
outcome treehash(X& runtime, std::string const& folder) {
    tree_node root;
    root.directory = true;
    runtime.run([&] { walk_folder<X>(root, folder, true); });
    return summarise(root);
}

} // namespace showcase
