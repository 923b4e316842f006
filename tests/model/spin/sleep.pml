/* Going to sleep and being woken, as src/idle/README.md describes it and as these have it: sleepers (sleep, settle_token,
 * wake, publish), signal word, scheduler (sleep, found_work, anything_ready, remind, tripped, answer, make_way),
 * pool_core (waker::wake_any, notify_any, requeue).
 *
 * Checked: in every state where nothing moves any more, nobody sleeps beside a task that is ready, no submission or
 * runnable context waits for a worker that announces without end, and nobody waits in the middle of a step.
 *
 * Modelled: N workers, the push as a plain store in a buffer that a fence of its owner, a membarrier or time
 * empties; signal word, map, seats and queues. Every load of a scan is a step of its own. A search may fail beside work
 * (somebody else holds a lock or wins a race). A running task pushes, ends, never ends, or announces without end.
 * Left out: stacks that cannot be had, inboxes of single workers, the order of a thief's loads (edge idle.S4), map words
 * beyond the first. Other stores than that of a push are buffered in the wrong variants only: there the store comes
 * after the loads that its fence keeps behind it.
 *
 * Sizes: N workers, PUSHES by all of them, SUBMITS by a foreign thread. -DPINNED: no membarrier that reaches all, but a
 * fence in each push. Wrong variants: see the list in ci/spin.sh; each is one #ifdef below. */
#ifndef N
#define N 3
#endif
#ifndef PUSHES
#define PUSHES 2
#endif
#ifndef SUBMITS
#define SUBMITS 1
#endif

#define RUNNING 0
#define ASLEEP 1
#define TOKEN 2
#define NOBODY N
#define QUEUES 2 /* submissions, runnable */

byte shown[N];   /* tasks in the deque of each worker that everybody sees */
byte buffered[N];  /* pushes that are still in their owner's store buffer */
byte queued[QUEUES];
byte seat[N];    /* sleepers::seat.state */
byte map;        /* a bit for each sleeper that nobody has woken yet */
byte wanted;     /* signal_words: a level, a bit for each worker */
byte summon;     /* signal_words: once */
byte announcing; /* who runs a task that announces without end */
byte left = PUSHES;

#define bit_of(i) (1 << (i))
#define has(word, i) ((word) & bit_of(i))
#define set_bit(word, i) word = word | bit_of(i)
#define clear_bit(word, i) word = word & ~bit_of(i)

inline drain(i) {
    shown[i] = shown[i] + buffered[i];
    buffered[i] = 0
}

inline fence() { d_step { drain(me) } }

inline heavy_fence() {
#if defined(PINNED) || defined(NO_MEMBARRIER)
    fence()
#else
    d_step {
        k = 0;
        do
        :: k < N -> drain(k); k++
        :: else -> break
        od;
        k = 0
    }
#endif
}

/* Whom a look at the map finds first depends on what else happens: here anybody who is in it. `other` is who was
 * woken, or NOBODY where the map was empty. */
inline wake_one() {
    atomic {
        if
        :: has(map, 0) -> other = 0
#if N > 1
        :: has(map, 1) -> other = 1
#endif
#if N > 2
        :: has(map, 2) -> other = 2
#endif
#if N > 3
        :: has(map, 3) -> other = 3
#endif
        :: map == 0 -> other = NOBODY
        fi;
        if
        :: other != NOBODY -> clear_bit(map, other)
        :: else
        fi
    };
    if
    :: other != NOBODY -> seat[other] = TOKEN
    :: else
    fi
}

#define OWN_EMPTY (shown[me] + buffered[me] == 0)

#if defined(SCAN_WITHOUT_QUEUES) || SUBMITS == 0
#define FIRST_LOOK QUEUES
#else
#define FIRST_LOOK 0
#endif
/* anything_ready(): the queues, then all deques. */
inline scan() {
    k = FIRST_LOOK;
    ready = 0;
    do
    :: atomic { k < QUEUES && queued[k] == 0 -> k++ }
    :: atomic { k >= QUEUES && k < QUEUES + N && shown[(me + k - QUEUES) % N] == 0 -> k++ }
    :: atomic { k == QUEUES + N -> k = 0; break }
    :: atomic {
        (k < QUEUES && queued[k % QUEUES] > 0) ||
        (k >= QUEUES && k < QUEUES + N && shown[(me + k - QUEUES) % N] > 0) -> ready = 1; k = 0; break
       }
    od
}

inline summon_all() {
#ifdef NO_SUMMON
    skip
#else
    if
    :: other == NOBODY ->
        k = 0;
        do
        :: k < N -> atomic { set_bit(summon, k); k++ } /* as in tell_all() */
        :: else -> k = 0; break
        od
    :: else
    fi
#endif
}

/* For what has no signal word, behind a fence. */
inline notify_any() {
    wake_one();
    summon_all()
}

proctype worker(byte me) {
    byte k, other, woken;
    byte last = NOBODY; /* m_last_woken */
    bit token, ready;

    goto running;

search:
    other = 0;
    if
    :: atomic { buffered[me] > 0 -> buffered[me]-- }
    :: atomic { buffered[me] == 0 && shown[me] > 0 -> shown[me]-- }
    :: atomic { OWN_EMPTY && shown[(me + 1) % N] > 0 -> shown[(me + 1) % N]-- }
#if N > 2
    :: atomic { OWN_EMPTY && shown[(me + 2) % N] > 0 -> shown[(me + 2) % N]-- }
#endif
#if N > 3
    :: atomic { OWN_EMPTY && shown[(me + 3) % N] > 0 -> shown[(me + 3) % N]-- }
#endif
#if SUBMITS > 0
    :: atomic { queued[0] > 0 -> queued[0]-- }
    :: atomic { queued[1] > 0 -> queued[1]-- }
#endif
    :: OWN_EMPTY -> goto lie_down /* nothing there, or others were at it */
    fi;

found_work:
#ifndef NO_TOKEN
    if
    :: token ->
        token = 0;
#if !defined(TOKEN_IN_RUNNING_SEAT) && !defined(NO_SETTLE_FENCE)
        atomic { seat[me] = RUNNING; fence() };
#endif
        woken = 0;
        do
        :: woken < 2 ->
            scan();
            if
            :: ready -> wake_one(); woken++
            :: else -> break
            fi;
            if
            :: other == NOBODY ->
#if SUBMITS > 0 && !defined(TOKEN_SUMMONS_NOBODY)
                if
                :: queued[0] == 0 -> if
                    :: queued[1] == 0
                    :: queued[1] > 0 -> notify_any()
                    fi
                :: queued[0] > 0 -> notify_any()
                fi;
#endif
                break
            :: else
            fi
        :: else -> break
        od;
        atomic { woken = 0; other = 0; ready = 0 };
#ifdef NO_SETTLE_FENCE
        seat[me] = RUNNING;
#endif
    :: else
    fi;
#endif
#if SUBMITS > 0 && !defined(NO_REMIND)
    /* remind(): no context, once entered, may outlast what waited before it. */
    if
    :: queued[0] == 0 -> if
        :: queued[1] == 0
        :: queued[1] > 0 -> set_bit(summon, me)
        fi
    :: queued[0] > 0 -> set_bit(summon, me)
    fi;
#endif

running:
    if
    :: atomic { left > 0 -> left--; buffered[me]++ } goto pushed
    :: goto search
    :: goto endless
#if SUBMITS > 0
    :: atomic { set_bit(announcing, me); goto announces }
#endif
    fi;

pushed:
#ifdef PINNED
    fence();
#endif
    if
    :: !has(wanted, me) && !has(summon, me) -> goto running
    :: else
    fi;
    /* tripped(): takes the summons, and leaves it for a later announcement. `ready`: it was there. */
    atomic { ready = has(summon, me) != 0; clear_bit(summon, me) };
    if
    :: !has(wanted, me) || shown[me] + buffered[me] == 0 -> goto answered
    :: else
    fi;
    /* publish() */
#ifndef NO_PUBLISH_FENCE
    fence();
#endif
    if
    :: last != NOBODY && seat[last % N] == TOKEN -> goto answered /* the throttle */
    :: else
    fi;
again:
#ifdef ONE_SHOT
    clear_bit(wanted, me);
#endif
    wake_one();
    last = other;
    if
    :: other != NOBODY -> goto answered
    :: else
    fi;
    clear_bit(wanted, me);
    fence();
#ifndef NO_SECOND_LOOK
    if
    :: map != 0 -> set_bit(wanted, me); goto again
    :: map == 0
    fi;
#endif
answered:
    other = 0;
#ifdef SUMMON_FORGOTTEN
    ready = 0;
#endif
    atomic {
        if
        :: ready -> set_bit(summon, me); ready = 0
        :: else
        fi
    };
    goto running;

#if SUBMITS > 0
announces: /* each announcement sees the signal word; only a summons matters to a task that never ends */
end_announces:
    atomic { has(summon, me) -> clear_bit(summon, me) };
    /* yield_after_announcing() */
    fence();
    if
    :: queued[0] == 0 -> if
        :: queued[1] == 0 -> goto announces
        :: queued[1] > 0
        fi
    :: queued[0] > 0
    fi;
    atomic { clear_bit(announcing, me); queued[1]++ }; /* requeue() */
#ifndef NO_WAKE_AT_REQUEUE
    wake_one();
#endif
    goto search;
#endif

lie_down:
    seat[me] = ASLEEP;
#ifndef NO_MAP_FENCE
    atomic { set_bit(map, me); fence() };
#endif
    /* tell_all() */
#ifdef RING_ONLY
    set_bit(wanted, (me + 1) % N);
#else
    k = 1;
    do
    :: k < N ->
        /* A look, and a setting where it was clear: what happens in between makes no difference. */
#ifdef TELL_AWAKE_ONLY
        d_step { if :: !has(map, (me + k) % N) -> set_bit(wanted, (me + k) % N) :: else fi; k++ }
#else
        d_step { set_bit(wanted, (me + k) % N); k++ }
#endif
    :: else -> k = 0; break
    od;
#endif
#ifdef NO_MAP_FENCE
    atomic { set_bit(map, me); fence() };
#endif
    heavy_fence();
    scan();
    if
    :: ready ->
        ready = 0;
#ifdef TOKEN_ENDS_IN_SCAN
        token = 0;
#endif
        atomic {
            if
            :: has(map, me) -> clear_bit(map, me); seat[me] = RUNNING; goto search
            :: else
            fi
        };
#ifdef LATE_TOKEN_DROPPED
        goto search;
#endif
        atomic { seat[me] != ASLEEP -> token = 1 }
    :: else ->
end_asleep:
        atomic { seat[me] != ASLEEP -> token = 1 }
    fi;
#ifdef NO_TOKEN
    token = 0;
    seat[me] = RUNNING;
#endif
    goto search;

endless:
end_endless:
    (false)
}

#if SUBMITS > 0
proctype foreign() {
    byte k, other, n;
    bit early;
    do
    :: n < SUBMITS ->
        n++;
#ifdef NO_SUBMIT_FENCE
        early = map == 0;
#endif
        queued[0]++;
#ifdef NO_SUBMIT_FENCE
        if
        :: early -> other = NOBODY; summon_all()
        :: !early -> notify_any()
        fi;
#else
        notify_any();
#endif
        other = 0
    :: else -> break
    od
}
#endif

proctype buffers() {
end_buffers:
    do
    :: atomic { buffered[0] > 0 -> buffered[0]--; shown[0]++ }
#if N > 1
    :: atomic { buffered[1] > 0 -> buffered[1]--; shown[1]++ }
#endif
#if N > 2
    :: atomic { buffered[2] > 0 -> buffered[2]--; shown[2]++ }
#endif
#if N > 3
    :: atomic { buffered[3] > 0 -> buffered[3]--; shown[3]++ }
#endif
    od
}

proctype judge() {
    byte i;
    bit asleep, task;
end_judge:
    timeout -> d_step {
        i = 0;
        do
        :: i < N ->
            asleep = asleep || seat[i] == ASLEEP;
            task = task || shown[i] > 0;
            i++
        :: else -> break
        od;
        assert(!(asleep && (task || queued[0] + queued[1] > 0)));
        assert(!(announcing != 0 && queued[0] > 0))
    }
}

init {
    byte i;
    atomic {
        do
        :: i < N -> run worker(i); i++
        :: else -> break
        od;
#if SUBMITS > 0
        run foreign();
#endif
        run buffers();
        run judge()
    }
}
