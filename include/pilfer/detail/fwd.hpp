// Names that public headers mention and do not need to know.
#pragma once

namespace pilfer {
inline namespace v0 {

class pool;
class scope;
class pool_scheduler;
class schedule_sender;
template <class T>
class future;
template <class T = void>
class task;
class timer;
class subscription;

namespace detail {

template <class T>
inline constexpr bool is_coroutine = false;
template <class T>
inline constexpr bool is_coroutine<task<T>> = true;

class event_reaction;
class event_resumption;
struct attached_thread;
struct stop_relay;

template <class F>
struct spawned;
template <class F>
struct forked;
template <class F>
struct submitted_child;
struct scope_access;

} // namespace detail
} // namespace v0
} // namespace pilfer
