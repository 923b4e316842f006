// One value for each use, for C.
#include <pilfer/worker_local.hpp>

#include <cstddef>
#include <memory>
#include <new>

#include <pilfer/pilfer.h>

#include "capi/error.hpp"
#include "capi/task.hpp"

using pilfer::detail::instances;

struct pilfer_lease : instances::instance {
    pilfer_worker_local* owner = nullptr;
    void* value = nullptr;
};

struct pilfer_worker_local {
    void* (*make)(void*);
    void (*end)(void*, void*);
    void* argument;
    instances all{};
};

namespace {

/// All existing instances, leased to the caller. Throws usage_error.
class all_leases {
public:
    explicit all_leases(pilfer_worker_local& o) : m_owner(o) {
        if (!o.all.take_all(m_first, m_last)) {
            throw pilfer::usage_error("pilfer: an instance of this worker_local is leased");
        }
    }
    all_leases(const all_leases&) = delete;
    all_leases& operator=(const all_leases&) = delete;
    ~all_leases() { m_owner.all.give_all(m_first, m_last); }
    /// Calls f for each. f may end the lease that it gets.
    template <class F>
    void each(F f) {
        for (auto* i = m_first; i != nullptr;) {
            auto* const next = i == m_last ? nullptr : i->newer;
            f(static_cast<pilfer_lease*>(i));
            i = next;
        }
    }
    /// The instances stay the caller's.
    void keep() noexcept { m_first = nullptr; }

private:
    pilfer_worker_local& m_owner;
    instances::instance* m_first = nullptr;
    instances::instance* m_last = nullptr;
};

} // namespace

extern "C" {

int pilfer_worker_local_new(pilfer_worker_local** out, void* (*make)(void*), void (*end)(void*, void*),
                            void* arg) {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    if (make == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] { *out = new pilfer_worker_local{make, end, arg}; });
}

void pilfer_worker_local_free(pilfer_worker_local* object) {
    if (object == nullptr) {
        return;
    }
    const int code = pilfer::capi::guarded([&] {
        all_leases all(*object);
        all.each([&](pilfer_lease* l) {
            if (object->end != nullptr) {
                pilfer::capi::call(object->end, l->value, object->argument);
            }
            delete l;
        });
        all.keep();
    });
    if (code != 0) {
        pilfer::detail::destroyed_while_leased();
    }
    delete object;
}

int pilfer_worker_local_lease(pilfer_worker_local* object, pilfer_lease** out) {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    if (object == nullptr) {
        return PILFER_EINVAL;
    }
    *out = static_cast<pilfer_lease*>(object->all.take());
    if (*out != nullptr) {
        return 0;
    }
    return pilfer::capi::guarded([&] {
        auto made = std::make_unique<pilfer_lease>();
        made->owner = object;
        made->value = pilfer::capi::call(object->make, object->argument);
        if (made->value == nullptr) {
            throw std::bad_alloc();
        }
        object->all.add(made.get());
        *out = made.release();
    });
}

void* pilfer_lease_instance(const pilfer_lease* lease) { return lease->value; }

void pilfer_lease_end(pilfer_lease* lease) {
    if (lease != nullptr) {
        lease->owner->all.give(lease);
    }
}

int pilfer_worker_local_for_each(pilfer_worker_local* object, void (*f)(void*, void*), void* arg) {
    if (object == nullptr || f == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded(
        [&] { all_leases(*object).each([&](pilfer_lease* l) { pilfer::capi::call(f, l->value, arg); }); });
}

size_t pilfer_worker_local_size(const pilfer_worker_local* object) {
    return object != nullptr ? object->all.size() : 0;
}

} // extern "C"
