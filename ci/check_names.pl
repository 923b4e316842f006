#!/usr/bin/env perl
# Checks src/ and include/ of the folder given (default: here). Prints `file:line: what` and ends with 1 on a find.
#
#  names    the standard library's ways of waiting lose wake-ups on some glibc and libstdc++ versions this library
#           runs on, and sleeping is polling; `using std::` would hide both from this check. Comments may name them.
#  prefix   what a C header declares is a name of every program that includes it: pilfer_ or PILFER_, but for those of
#           threadpool.h, which are a library of their own.
#  system   what knows the operating system stays in platform, context and base, so that a port of the core has three places to look at:
#           its headers, calls of its functions, and preprocessor conditions that ask which one it is. Rooms of optional libraries may
#           know it, too (docs/porting.md).
use strict;
use warnings;
use File::Find;

my $root = shift // '.';
chdir $root or die "$root: $!\n";

# instrument: entry points of a sanitizer for one system, race: its threads, race_history: its memory; cluster: the file of a journal;
# jobqueue: sockets of a job queue, and of ranks.
my %system_rooms = (platform => 1, context => 1, base => 1, race => 1, race_history => 1, instrument => 1, cluster => 1, jobqueue => 1);

my $system_header = qr{^(?:sys|linux|asm|netinet|arpa)/|^(?:unistd|pthread|sched|signal|fcntl|poll|dlfcn|dirent
    |ucontext|semaphore|syscall|spawn|termios|link|elf|cpuid|numa|numaif|execinfo|mqueue|aio|netdb|pwd|grp|ifaddrs
    |features|malloc|windows|processthreadsapi|synchapi)\.h$|^(?:csignal)$|^(?:mach|dispatch|gnu)/}x;

# Names that nothing else has, called as a function of the global namespace; those that members and namespaces of this
# library have as well are found where they are written with `::` in front.
my $system_call = qr{mmap|mmap64|munmap|mprotect|mremap|madvise|mincore|syscall|pthread_\w+|sched_\w+|epoll_\w+|eventfd|timerfd_\w+
    |signalfd|inotify_\w+|pipe2|sigaction|sigaltstack|sigprocmask|sigfillset|sigemptyset|dlopen|dlsym|dladdr|dl_iterate_phdr
    |sysconf|getpid|gettid|getppid|vfork|execv\w*|execl\w*|posix_spawn\w*|waitpid|_exit|strerror\w*|fcntl|ioctl|fsync
    |setrlimit|getrlimit|prlimit|setpriority|getpriority|getauxval|swapcontext|makecontext|clock_gettime|clock_getres|gettimeofday
    |getrusage|prctl|ptrace|setjmp|_setjmp|longjmp|pread|pwrite|readv|writev|sendmsg|recvmsg|io_uring_\w+|getcpu
    |posix_memalign|malloc_usable_size|CreateThread|VirtualAlloc|WaitOnAddress}x;
my $system_call_with_colons = qr{fork|read|write|open|close|accept4?|connect|poll|ppoll|select|send|recv|socket|bind|listen|pipe|dup2?|kill
    |raise|alarm|signal|sleep|pause|nice|getenv_s|times|time|unlink|stat|access}x;
my $which_system = qr{\b(?:__linux__|__linux|__gnu_linux__|__GLIBC\w*|__unix__|__ANDROID__|_WIN32|_WIN64|_MSC_VER|__MINGW\w*|__CYGWIN__|__APPLE__
    |__MACH__|__FreeBSD__|__OpenBSD__|__NetBSD__|_GNU_SOURCE|_POSIX_C_SOURCE)\b}x;

my @forbidden = (
    [qr/\bstd::(?:\w+::)*condition_variable(?:_any)?\b/,        'std::condition_variable'],
    [qr/\bstd::(?:\w+::)*(?:counting|binary)_semaphore\b/,      'a std semaphore'],
    [qr/\bstd::(?:\w+::)*(?:latch|barrier)\b/,                  'std::latch or std::barrier (they wait on an atomic)'],
    [qr/\bstd::(?:\w+::)*atomic_(?:flag_)?(?:wait|notify)\w*/,  'waiting on a std::atomic'],
    [qr/(?:\.|->)\s*wait(?:_explicit)?\s*\([^;]*\bmemory_order/, 'waiting on an atomic'],
    [qr/\bpthread_cond_\w+/,                                    'pthread_cond'],
    [qr/#\s*include\s*<(?:condition_variable|semaphore|latch|barrier)>/, 'a header of std waiting'],
    [qr/\busing\s+std::/,                                       'using std::'],
    [qr/\busing\s+namespace\s+std\b/,                           'using namespace std'],
    [qr/\bnamespace\s+\w+\s*=\s*(?:::)?\s*std\b/,               'an alias of std'],
    [qr/\b(?:usleep|nanosleep|clock_nanosleep)\s*\(/,           'usleep or nanosleep'],
    [qr/\b(?:std::)?this_thread::sleep_(?:for|until)\b/,        'sleeping in std::this_thread'],
);

my $threadpool = join '|', qw(thread_pool future fork_join_task_t thread_pool_new thread_pool_shutdown_and_destroy
    thread_pool_submit future_get future_free);
my %also_in_c = ('include/pilfer/threadpool.h' => qr/^(?:$threadpool)$/);

my @files;
for my $top (grep { -d } qw(include src)) {
    find({ no_chdir => 1, wanted => sub { push @files, $_ if -f && /\.(?:hpp|cpp|ipp|h|c|S|inc)$/ } }, $top);
}
@files = sort @files;

# Blanks comments, keeps line numbers; string literals are kept, an include may stand in one.
sub code_of {
    my ($text) = @_;
    $text =~ s{("(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*')|(/\*.*?\*/|//[^\n]*)}
              { defined $1 ? $1 : ($2 =~ s/[^\n]//gr) }gse;
    return $text;
}

sub room_of {
    my ($file) = @_;
    return $1 if $file =~ m{^src/(\w+)/};
    # The inline half of a room.
    return $1 if $file =~ m{^include/pilfer/detail/(\w+)/};
    return undef;
}

my $finds = 0;
sub find_at { my ($file, $line, $what) = @_; print "$file:$line: $what\n"; $finds++; }

my (%code, %atomics_all, %atomics_of);
for my $file (@files) {
    open my $in, '<', $file or die "$file: $!\n";
    local $/;
    $code{$file} = code_of(<$in> // '');
    my $stem = $file =~ s{.*/}{}r =~ s{\.\w+$}{}r;
    while ($code{$file} =~ /\b(?:std::)?atomic(?:_flag|_ref)?\s*(?:<(?:[^<>;]|<[^<>;]*>)*>)?[\s&*]+(\w+)/g) {
        $atomics_all{$1} = $atomics_of{$stem}{$1} = 1;
    }
}

for my $file (@files) {
    my $stem = $file =~ s{.*/}{}r =~ s{\.\w+$}{}r;
    my $room = room_of($file);
    my $line = 0;
    for (split /\n/, $code{$file}) {
        $line++;
        if (/^\s*#\s*include\s*([<"])([^>"]+)[>"]/) {
            find_at($file, $line, "<$2> outside platform, context and base")
                if $2 =~ $system_header && !(defined $room && $system_rooms{$room});
        }
        my $text = s/"(?:\\.|[^"\\])*"/""/gr;
        check_system($file, $line, $text) unless defined $room && $system_rooms{$room};
        for my $rule (@forbidden) { find_at($file, $line, $$rule[1]) if $text =~ $$rule[0]; }
        while ($text =~ /(\w+)(?:\[[^\]]*\])?\s*(?:\.|->)\s*(wait|notify_one|notify_all)\s*\(\s*(\)?)/g) {
            # Our own objects have wait() and notify too: only what this file's unit declares as an atomic counts
            # for wait (which then has an argument), and what any file does for notify.
            find_at($file, $line, "$1.$2() of an atomic")
                if $2 eq 'wait' ? !$3 && $atomics_of{$stem}{$1} : $atomics_all{$1};
        }
    }
}

# docs/porting.md has a row for each function of the headers of platform, context and base.
if (open my $page, '<', 'docs/porting.md') {
    my $rows = do { local $/; <$page> };
    for my $file (grep { m{^src/(?:platform|context|base)/(?!chaos|context_lists|stack_pool)\w+\.hpp$} } @files) {
        my ($line, $hidden) = (0, 0);
        for (split /\n/, $code{$file}) {
            $line++;
            $hidden = /^private:/ ? 1 : /^\};/ ? 0 : $hidden;
            next if $hidden || /\basm\b/;
            next unless /^(?:    )?(?:\[\[\w+\]\] )?(?:inline |constexpr |static )*(?:[\w:<>*&]+ )+[*&]?(\w+)\(/ && !/^\s*return\b/;
            my $name = $1;
            find_at($file, $line, "$name() has no row in docs/porting.md") unless $rows =~ /`$name`/ || $name =~ /^operator/;
        }
    }
}

for my $file (grep { m{^include/.*\.h$} } @files) {
    for (declared_in_c($code{$file})) {
        my ($line, $name) = @$_;
        next if $name =~ /^(?:pilfer_|PILFER_)/ || $also_in_c{$file} && $name =~ $also_in_c{$file};
        find_at($file, $line, "a C header declares '$name', without pilfer's prefix");
    }
}

# [line, name] of macros, tags, types and functions. Parameters and members are nobody's concern.
sub declared_in_c {
    my ($text) = @_;
    my @found;
    my $line = sub { 1 + substr($text, 0, $_[0]) =~ tr/\n// };
    my $note = sub { push @found, [$line->($_[0]), $_[1]] };
    $note->($-[1], $1) while $text =~ /^[ \t]*#[ \t]*define[ \t]+(\w+)/mg;
    $text =~ s/^[ \t]*#[^\n]*//mg;
    $text =~ s/"C"\s*\{/    /g;
    # The same length, so that places stay places: what stands in parentheses and braces goes, innermost first.
    $note->($-[1], $1) while $text =~ /\b(?:struct|union|enum)\s+(\w+)/g;
    $note->($-[1], $1) while $text =~ /\btypedef\b[^;(]*\(\s*\*\s*(\w+)\s*\)/g;
    while ($text =~ /\benum\s*\w*\s*\{([^{}]*)\}/g) {
        my ($at, $list) = ($-[1], $1);
        $note->($at + $-[1], $1) while $list =~ /(?:^|,)\s*([A-Za-z_]\w*)/g;
    }
    1 while $text =~ s/(\{[^{}]*\})/$1 =~ tr|{}\n| |cr =~ tr|{}| |r/ge;
    1 while $text =~ s/\(([^()]*)\)/"<" . ($1 =~ s|[^\n]| |gr) . ">"/ge;
    $note->($-[1], $1) while $text =~ /\btypedef\b[^;<]*?(\w+)\s*;/g;
    $note->($-[1], $1) while $text =~ /\b(?!__attribute__)([A-Za-z_]\w*)\s*<[^<>]*>\s*;/g;
    return @found;
}

sub check_system {
    my ($file, $line, $text) = @_;
    # Not a member, nor of a namespace: `.name(`, `->name(`, `os::name(`. Nor a declaration: `type name(`.
    find_at($file, $line, "$1() of the operating system outside platform, context and base")
        if $text =~ /(?<![\w:.>])(?<!->)(?:(?<!\w)::\s*)?\b($system_call)\s*\(/
        || $text =~ /(?<![\w>])::\s*($system_call|$system_call_with_colons)\s*\(/;
    find_at($file, $line, "'$1' asks for the operating system outside platform, context and base")
        if $text =~ /^\s*#.*?($which_system)/;
}

print scalar(@files), " files, $finds finds\n";
exit($finds ? 1 : 0);
