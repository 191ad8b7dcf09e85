#!/usr/bin/env bash
# scripts/check_purity.sh [build folder]: proves that the pure layers reach no socket, file, thread, clock, environment or
# random source of the system, and that every layer includes only what the layer map allows (docs/architecture.md).
# The folder holds a finished build; build/release if not given.

source "$(dirname "$0")/lib.sh"
[[ ${1:-} != --help ]] || usage
build_dir=${1:-build/release}

# Which layers' headers a layer may include, itself apart: the transitive closure of the arrows of the layer map.
declare -A may_include=(
  [base]=''
  [wire]='base'
  [trace]='base'
  [udt]='base wire trace/sink.hpp'
  [session]='base'
  [crypto]='base'
  [file]='base crypto'
  [net]='base wire udt trace crypto'
  [transfer]='base wire udt trace session crypto file net'
  [cli]='base wire udt trace session crypto file net transfer'
)
# Packages that belong to one layer only.
declare -A only_in=(
  ['<CLI/']='cli' ['<fmt/']='cli' ['<nlohmann/']='cli trace' ['<openssl/']='crypto' ['<xxhash']='crypto' ['<udt/']=''
)
pure='base wire udt session crypto'
# C functions and C++ symbols, as nm -C prints them, that make a library impure.
impure_symbols='(accept4?|bind|connect|listen|socket|socketpair|shutdown|getaddrinfo|gethostbyname
|(get|set)sockopt|getsockname|getpeername|send|sendto|sendm?msg|recv|recvfrom|recvm?msg
|poll|ppoll|p?select|epoll_.*|eventfd|timerfd_.*|signalfd|pipe2?
|open(at)?(64)?|creat(64)?|close|p?(read|write)v?(64)?|f?stat(at)?(64)?|lstat(64)?|statx|access|unlink(at)?|rename(at2?)?
|mkdir(at)?|rmdir|opendir|readdir(64)?|f(data)?sync|f?truncate(64)?|mmap(64)?|ioctl|fcntl(64)?
|fopen(64)?|fdopen|fread|fgets|getc|getchar|fscanf|scanf|popen|system
|pthread_.*|thrd_.*|mtx_.*|sem_.*|std::thread.*|std::condition_variable.*|std::this_thread.*|std::__atomic_wait.*
|time|clock|clock_.*|gettimeofday|timespec_get|localtime(_r)?|gmtime(_r)?|nanosleep|u?sleep|alarm|setitimer|timer_.*
|std::chrono::.*_clock::now\(\)
|rand|srand|rand_r|s?random|[deljmn]+rand48|getrandom|getentropy|arc4random.*|std::random_device.*
|(secure_)?getenv|setenv|putenv|environ|getpid|fork|v?fork|exec.*|kill|raise|signal|sigaction
|std::basic_[io]?fstream<.*|std::basic_filebuf<.*|std::filesystem.*|std::cout|std::cerr|std::cin)'
impure_symbols=${impure_symbols//$'\n'/}
# Key generation is the one thing crypto may ask the system for; it goes through OpenSSL's RAND_bytes.
impure_includes='thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|stop_token|fstream|iostream
|filesystem|random|ctime|time\.h|unistd\.h|fcntl\.h|signal\.h|csignal|pthread\.h|netdb\.h|poll\.h|dirent\.h|sys/.*
|netinet/.*|arpa/.*|linux/.*'
impure_includes=${impure_includes//$'\n'/}

failed=0
finding() {
  echo "$*" >&2
  failed=1
}

for layer in $pure; do
  library=$build_dir/src/$layer/libxfer_$layer.a
  [[ -f $library ]] || die "$library does not exist; build first (scripts/test or cmake --build --preset release)"
  while IFS= read -r line; do
    finding "$library needs $line"
  done < <(nm -C --undefined-only "$library" | awk '$1 == "U" { $1 = ""; print substr($0, 2) }' | sort -u |
    grep -Ex "$impure_symbols" || true)
done

mapfile -t pure_files < <(find src/base src/wire src/udt src/session src/crypto src/trace/sink.hpp -type f -name '*.[ch]pp')
while IFS= read -r line; do
  finding "$line: a pure layer must not include it"
done < <(grep -nE "^#include <($impure_includes)>" "${pure_files[@]}" || true)
while IFS= read -r line; do
  finding "$line: time comes in as a parameter"
done < <(grep -nE '::now\(\)' "${pure_files[@]}" || true)

for folder in src/*/; do
  layer=$(basename "$folder")
  [[ -v may_include[$layer] ]] || { finding "src/$layer: a layer unknown to the layer map in this script"; continue; }
  while IFS=: read -r file number included; do
    allowed=0
    for target in "$layer" ${may_include[$layer]}; do
      [[ $included == "$target" || $included == "$target"/* ]] && allowed=1
    done
    ((allowed)) || finding "$file:$number: $layer must not include $included"
  done < <(grep -rnE '^#include "' "$folder" | sed -E 's/^([^:]*:[0-9]+):#include "([^"]*)".*/\1:\2/')
done

for prefix in "${!only_in[@]}"; do
  while IFS= read -r line; do
    layer=${line#src/}
    layer=${layer%%/*}
    [[ " ${only_in[$prefix]} " == *" $layer "* ]] || finding "$line: that package belongs to: ${only_in[$prefix]:-tests}"
  done < <(grep -rnF "#include $prefix" src || true)
done

((failed == 0)) || die "the layer map is broken"
echo "Layers are pure and include only what they may."
