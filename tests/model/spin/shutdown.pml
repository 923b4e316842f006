/* The end of a pool, as src/pool/README.md describes it and as these have it: closing.hpp (accept, worker_is_idle, quiet,
 * wait_until_quiet, outstanding_counts), pool_core (shutdown, stop_threads, enqueue), scheduler (run, sleep).
 *
 * Checked: every shutdown() returns, no thread and no worker waits for good; then nothing is queued, every unit that was
 * accepted or begun has run or was dropped, and all threads are joined; nothing is accepted and no unit runs once a
 * shutdown has found the pool quiet; no guest is inside when the pool is destroyed.
 *
 * Modelled: WORKERS; SUBMITS by a foreign thread that races with SHUTTERS threads, the last of which drops; units that
 * begin INNER further units on any worker; with VISITOR one unit that suspends until another pool's worker enqueues
 * it. The count of ended units is a plain store in a buffer that a fence of its worker or time empties. Each load of quiet() is a
 * step of its own. Going to sleep is the short form of sleep.pml, whose wake-ups are proved there.
 * Wrong variants: see the list in ci/spin.sh; each is one #ifdef below. */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SHUTTERS
#define SHUTTERS 2
#endif
#ifndef SUBMITS
#define SUBMITS 1
#endif
#ifndef INNER
#define INNER 1
#endif
#ifndef VISITOR
#define VISITOR 0
#endif

byte submissions, deques, runnable; /* what is ready */
byte submitted;
byte begun[WORKERS];
byte ended[WORKERS];
byte ended_unseen[WORKERS];
byte guests;
bit closed, dropping, stop;
bit epoch_moved; /* since the one shutting thread that holds the mutex read it; the number itself has no end */
bit on_futex; /* a shutting thread waits for the epoch: one at most, it holds the mutex */
bit mutex;
bit joined;
byte map;    /* workers that sleep */
byte alive = WORKERS;

/* What the program knows besides. */
byte inner = INNER;
byte accepted, started, ran, dropped;
bit suspended, visited;
bit found_quiet, destroyed;
byte returned;

#define bit_of(i) (1 << (i))
#define has(word, i) ((word) & bit_of(i))

inline fence() {
    d_step {
        ended[me] = ended[me] + ended_unseen[me];
        ended_unseen[me] = 0
    }
}

inline wake_any() {
    atomic {
        if
        :: has(map, 0) -> map = map & ~bit_of(0)
#if WORKERS > 1
        :: has(map, 1) -> map = map & ~bit_of(1)
#endif
#if WORKERS > 2
        :: has(map, 2) -> map = map & ~bit_of(2)
#endif
        :: map == 0
        fi
    }
}

/* worker_is_idle() behind its fence. */
inline bump() {
    if
    :: closed ->
#ifndef EPOCH_STAYS
        epoch_moved = 1;
#endif
#ifndef EPOCH_WAKES_NOBODY
        on_futex = 0
#else
        skip
#endif
    :: !closed
    fi
}

proctype worker(byte me) {
    bit late;

search:
    if
    :: atomic { submissions > 0 -> submissions-- } goto unit
    :: atomic { deques > 0 -> deques-- } goto unit
#if VISITOR
    :: atomic { runnable > 0 -> runnable-- } goto end_outstanding
#endif
    :: skip /* nothing there, or others were at it */
    fi;
    if
    :: stop -> goto leave
    :: !stop
    fi;

    /* sleep() */
#ifdef LATE_LOOK_AT_CLOSED
    late = closed;
    fence();
    if
    :: late -> bump(); late = 0
    :: !late
    fi;
#else
    fence();
#ifndef IDLE_TELLS_NOBODY
    bump();
#endif
#endif
    map = map | bit_of(me);
    if
#ifndef SLEEP_OVER_STOP
    :: stop -> goto found
#endif
    :: atomic { submissions > 0 -> goto found }
    :: atomic { submissions == 0 && deques > 0 -> goto found }
    :: atomic { submissions == 0 && deques == 0 && runnable > 0 -> goto found }
#ifdef SLEEP_OVER_STOP
    :: atomic { submissions == 0 && deques == 0 && runnable == 0 }
#else
    :: atomic { !stop && submissions == 0 && deques == 0 && runnable == 0 }
#endif
    fi;
    !has(map, me);
    goto search;
found:
    atomic { map = map & ~bit_of(me); goto search };

unit:
    if
    :: dropping -> dropped++; goto unit_ends_dropped
    :: !dropping
    fi;
    do
    :: atomic { inner > 0 -> inner--; started++ };
#ifdef BEGUN_AFTER_PUSH
        deques++;
        begun[me]++;
#else
        begun[me]++;
        deques++;
#endif
        wake_any()
    :: break
    od;
#if VISITOR
    if
    :: atomic { !visited -> visited = 1; suspended = 1 } goto search
    :: skip
    fi;
#endif
#ifdef END_BEFORE_LAST_CHILD
    /* A unit that ends first and begins another one then. */
    ran++;
    ended_unseen[me]++;
    if
    :: atomic { inner > 0 -> inner--; started++ } begun[me]++; deques++; wake_any()
    :: skip
    fi;
    goto search;
#endif
end_outstanding:
    ran++;
unit_ends_dropped:
    assert(!found_quiet);
    ended_unseen[me]++;
    goto search;

leave:
    fence();
    assert(!destroyed);
    alive--
}

proctype submitter() {
    byte n;
    do
    :: n < SUBMITS ->
        n++;
        /* accept() */
#ifdef CLOSED_BEFORE_COUNT
        if
        :: closed -> goto refused
        :: !closed
        fi;
        submitted++;
#else
        submitted++;
        if
        :: closed -> submitted--; goto refused
        :: !closed
        fi;
#endif
        atomic { assert(!found_quiet); submissions++; accepted++ };
        wake_any()
    :: else -> break
    od;
    goto done;
refused:
#ifndef REFUSED_TELLS_NOBODY
    bump();
#endif
done:
    skip
}

#if VISITOR
/* A worker of another pool completes what a suspended unit waits for. */
proctype guest() {
end_uninvited:
    suspended;
#ifndef NOBODY_COUNTS_VISITORS
    guests++;
#endif
    atomic { suspended = 0; runnable++ };
    assert(!destroyed);
    wake_any();
    assert(!destroyed);
#ifndef NOBODY_COUNTS_VISITORS
    guests--
#endif
}
#endif

inline quiet_ends() {
    k = 0;
    do
    :: k < WORKERS -> atomic { difference = difference - ended[k]; k++ }
    :: else -> break
    od;
    k = 0
}
inline quiet_begins() {
    difference = difference + submitted;
    k = 0;
    do
    :: k < WORKERS -> atomic { difference = difference + begun[k]; k++ }
    :: else -> break
    od;
    k = 0
}

proctype shutter(byte me) {
    byte k;
    short difference;

    if
    :: me == SHUTTERS - 1 -> dropping = 1
    :: else
    fi;
#ifdef SECOND_RETURNS_AT_ONCE
    if
    :: closed -> goto returns
    :: !closed
    fi;
#endif
    atomic { !mutex -> mutex = 1 };
    if
    :: joined -> mutex = 0; goto returns
    :: !joined
    fi;
#ifndef LATE_CLOSED
    closed = 1;
#endif
    do
    :: true ->
#ifndef EPOCH_AFTER_LOOK
        epoch_moved = 0;
#endif
        difference = 0;
#ifdef BEGINS_BEFORE_ENDS
        quiet_begins();
        quiet_ends();
#else
        quiet_ends();
        quiet_begins();
#endif
#ifdef LATE_CLOSED
        closed = 1;
#endif
        if
        :: difference == 0 -> break
        :: else -> difference = 0
        fi;
#ifdef EPOCH_AFTER_LOOK
        epoch_moved = 0;
#endif
        /* futex_wait() */
        if
        :: atomic { !epoch_moved -> on_futex = 1 };
            !on_futex
        :: epoch_moved
        fi
    od;
    found_quiet = 1;
    /* stop_threads() */
#ifdef MAP_BEFORE_STOP
    map = 0;
    stop = 1;
#else
    stop = 1;
#ifdef STOP_WAKES_ONE
    wake_any();
#elif !defined(STOP_WAKES_NOBODY)
    k = 0;
    do
    :: k < WORKERS -> atomic { map = map & ~bit_of(k); k++ }
    :: else -> k = 0; break
    od;
#endif
#endif
#ifndef NOBODY_JOINS
    alive == 0;
#endif
    guests == 0;
    joined = 1;
    mutex = 0;
returns:
    atomic {
        assert(joined);
        assert(submissions + deques + runnable + suspended == 0);
        assert(ran + dropped == accepted + started);
        returned++;
        if
        :: returned == SHUTTERS -> destroyed = 1
        :: else
        fi
    }
}

proctype buffers() {
end_buffers:
    do
    :: atomic { ended_unseen[0] > 0 -> ended[0]++; ended_unseen[0]-- }
#if WORKERS > 1
    :: atomic { ended_unseen[1] > 0 -> ended[1]++; ended_unseen[1]-- }
#endif
#if WORKERS > 2
    :: atomic { ended_unseen[2] > 0 -> ended[2]++; ended_unseen[2]-- }
#endif
    od
}

init {
    byte i;
    atomic {
        do
        :: i < WORKERS -> run worker(i); i++
        :: else -> i = 0; break
        od;
        do
        :: i < SHUTTERS -> run shutter(i); i++
        :: else -> i = 0; break
        od;
        run submitter();
#if VISITOR
        run guest();
#endif
        run buffers()
    }
}
