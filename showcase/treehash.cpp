#include "treehash.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>

#include "digest.hpp"

namespace showcase {
namespace {

enum class kind { file, folder, other };

kind kind_of(int folder, dirent const& entry) {
    switch (entry.d_type) {
    case DT_REG:
        return kind::file;
    case DT_DIR:
        return kind::folder;
    case DT_UNKNOWN:
        break; // some file systems do not say
    default:
        return kind::other;
    }
    struct stat status {};
    if (::fstatat(folder, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return kind::other;
    if (S_ISREG(status.st_mode))
        return kind::file;
    return S_ISDIR(status.st_mode) ? kind::folder : kind::other;
}

// A folder "a" is sorted like its files "a/...": after "a.txt", before "a0". With the slash as part of the
// key the walk needs no sort of whole paths at its end.
bool by_path(tree_node const& left, tree_node const& right) {
    std::string_view const a = left.name;
    std::string_view const b = right.name;
    std::size_t const common = std::min(a.size(), b.size());
    if (int const order = a.substr(0, common).compare(b.substr(0, common)); order != 0)
        return order < 0;
    auto const next = [common](std::string_view name, bool directory) -> int {
        if (common < name.size())
            return static_cast<unsigned char>(name[common]);
        return directory ? '/' : -1;
    };
    return next(a, left.directory) < next(b, right.directory);
}

class summary {
public:
    void add(tree_node const& node, std::string const& path) {
        if (node.error != 0) {
            ++m_outcome.problems;
            if (m_outcome.listed.size() < problems_listed)
                m_outcome.listed.push_back({path, std::generic_category().message(node.error)});
        }
        if (!node.directory && node.error == 0) {
            ++m_outcome.items;
            m_outcome.bytes += node.bytes;
            m_line.assign(node.hex).append("  ").append(path).append("\n");
            m_digest.update(m_line);
        }
        for (tree_node const& child : node.children)
            add(child, path + '/' + child.name);
    }

    outcome finish() {
        m_outcome.result = m_digest.hex();
        return std::move(m_outcome);
    }

private:
    sha256 m_digest;
    std::string m_line;
    outcome m_outcome;
};

} // namespace

void list_folder(tree_node& node, std::string const& path, bool is_root) {
    int const flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_root ? 0 : O_NOFOLLOW);
    int const descriptor = ::open(path.c_str(), flags);
    if (descriptor < 0) {
        node.error = errno;
        return;
    }
    std::unique_ptr<DIR, int (*)(DIR*)> const folder(::fdopendir(descriptor), ::closedir);
    if (!folder) {
        node.error = errno;
        ::close(descriptor);
        return;
    }
    for (;;) {
        errno = 0;
        dirent const* const entry = ::readdir(folder.get());
        if (entry == nullptr) {
            node.error = errno;
            break;
        }
        std::string_view const name = entry->d_name;
        if (name == "." || name == "..")
            continue;
        kind const what = kind_of(descriptor, *entry);
        if (what == kind::other)
            continue;
        tree_node& child = node.children.emplace_back();
        child.name = name;
        child.directory = what == kind::folder;
    }
    std::sort(node.children.begin(), node.children.end(), by_path);
}

void hash_file(tree_node& node, std::string const& path) {
    // O_NONBLOCK: should a pipe have taken the file's place since the folder was read, opening it must not
    // wait.
    int const descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        node.error = errno;
        return;
    }
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) {
        node.error = errno;
    } else if (!S_ISREG(status.st_mode)) {
        node.error = EINVAL;
    } else {
        node.bytes = static_cast<std::uint64_t>(status.st_size);
        node.error = sha256_of_file(descriptor, node.hex);
    }
    ::close(descriptor);
}

outcome summarise(tree_node const& root) {
    summary all;
    all.add(root, ".");
    return all.finish();
}

} // namespace showcase
