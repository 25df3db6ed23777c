/* A library to preload: it records what a process does to the files of one folder, and lets one system call fail.
 *
 *   faults_arm(folder, log, call, nth, error)
 *
 * From then on every operation on files in the folder is appended to the file log (NULL: not), and the nth call of the
 * kind (from 1; 0: none) fails with this error. Calls of mmap, malloc and thread count wherever they come from, those of
 * malloc from 4 KiB on. Those of mmap count in the main thread only: Python waits forever for a thread whose first
 * allocation fails. faults_count(call) returns how many there were.
 *
 * A record is "kind inode other size\n" and then as many bytes as size says: the data of a write at offset other, or
 * paths. Kinds: c created (path), w written, t truncated to other, s synced, r renamed (two paths, separated by a zero
 * byte; the inode is that of the file), u removed (path), d folder synced.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRITE, FSYNC, RENAME, OPEN, MMAP, MALLOC, THREAD, KINDS };
static const char *const names[KINDS] = {"write", "fsync", "rename", "open", "mmap", "malloc", "thread"};
static const size_t least_malloc = 4096;

static char folder[PATH_MAX];
static size_t folder_size;
static int log_file = -1, armed, failing = -1, wanted_error;
static long counts[KINDS], wanted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;

static int kind_of(const char *call) {
    for (int k = 0; k < KINDS; ++k)
        if (strcmp(call, names[k]) == 0) return k;
    return -1;
}

void faults_arm(const char *watched, const char *log, const char *call, long nth, int error) {
    strcpy(folder, watched);
    folder_size = strlen(folder);
    log_file = log ? (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_TRUNC | O_CLOEXEC, 0600) : -1;
    failing = nth > 0 ? kind_of(call) : -1;
    wanted = nth;
    wanted_error = error;
    memset(counts, 0, sizeof counts);
    armed = 1;
}

long faults_count(const char *call) { return counts[kind_of(call)]; }

/* Whether this call is to fail. */
static int strikes(int kind) {
    if (!armed || inside) return 0;
    const long n = __atomic_add_fetch(&counts[kind], 1, __ATOMIC_SEQ_CST);
    if (kind != failing || n != wanted) return 0;
    errno = wanted_error;
    return 1;
}

static int is_watched(const char *path) {
    return armed && strncmp(path, folder, folder_size) == 0 && (path[folder_size] == '/' || !path[folder_size]);
}

/* Whether a descriptor is of a file or of the folder; its path. */
static int watched_descriptor(int fd, char *path) {
    if (!armed) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    return is_watched(path);
}

static unsigned long inode_of(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

static void record(char kind, unsigned long inode, long other, const void *data, size_t size) {
    if (log_file < 0) return;
    char head[96];
    const int n = snprintf(head, sizeof head, "%c %lu %ld %zu\n", kind, inode, other, size);
    pthread_mutex_lock(&lock);
    if (syscall(SYS_write, log_file, head, n) != n || (size && syscall(SYS_write, log_file, data, size) != (long)size)) abort();
    pthread_mutex_unlock(&lock);
}

static int opened(const char *path, int flags, int mode) {
    const int creates = is_watched(path) && (flags & (O_CREAT | O_TRUNC));
    if (creates && strikes(OPEN)) return -1;
    const int existed = creates && access(path, F_OK) == 0, error = errno;
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (fd >= 0 && creates) {
        errno = error;
        if (!existed) record('c', inode_of(fd), 0, path, strlen(path));
        else if (flags & O_TRUNC) record('t', inode_of(fd), 0, NULL, 0);
    }
    return fd;
}

#define MODE_OF(flags, mode)                        \
    int mode = 0;                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {          \
        va_list rest;                               \
        va_start(rest, flags);                      \
        mode = va_arg(rest, int);                   \
        va_end(rest);                               \
    }

int open(const char *path, int flags, ...) {
    MODE_OF(flags, mode)
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE_OF(flags, mode)
    return opened(path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t size) {
    char path[PATH_MAX];
    if (!watched_descriptor(fd, path)) return syscall(SYS_write, fd, data, size);
    if (strikes(WRITE)) return -1;
    const long flags = syscall(SYS_fcntl, fd, F_GETFL);
    const long at = flags & O_APPEND ? syscall(SYS_lseek, fd, 0, SEEK_END) : syscall(SYS_lseek, fd, 0, SEEK_CUR);
    const ssize_t done = syscall(SYS_write, fd, data, size);
    if (done > 0) record('w', inode_of(fd), at, data, (size_t)done);
    return done;
}

int ftruncate(int fd, off_t size) {
    char path[PATH_MAX];
    const int done = (int)syscall(SYS_ftruncate, fd, size);
    if (done == 0 && watched_descriptor(fd, path)) record('t', inode_of(fd), size, NULL, 0);
    return done;
}

int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

int fsync(int fd) {
    char path[PATH_MAX];
    if (!watched_descriptor(fd, path)) return (int)syscall(SYS_fsync, fd);
    if (strikes(FSYNC)) return -1;
    const int done = (int)syscall(SYS_fsync, fd);
    struct stat status;
    if (done == 0 && fstat(fd, &status) == 0) record(S_ISDIR(status.st_mode) ? 'd' : 's', status.st_ino, 0, NULL, 0);
    return done;
}

int rename(const char *from, const char *to) {
    if (!is_watched(to)) return (int)syscall(SYS_rename, from, to);
    if (strikes(RENAME)) return -1;
    struct stat status;
    const int found = stat(from, &status), done = (int)syscall(SYS_rename, from, to);
    if (found == 0 && done == 0) {
        char both[2 * PATH_MAX];
        const size_t a = strlen(from) + 1, b = strlen(to);
        memcpy(both, from, a);
        memcpy(both + a, to, b);
        record('r', status.st_ino, 0, both, a + b);
    }
    return done;
}

int unlink(const char *path) {
    const int done = (int)syscall(SYS_unlink, path);
    if (done == 0 && is_watched(path)) record('u', 0, 0, path, strlen(path));
    return done;
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    if (gettid() == getpid() && strikes(MMAP)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset) {
    return mmap(at, size, protection, flags, fd, offset);
}

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t size) { return size >= least_malloc && strikes(MALLOC) ? NULL : __libc_malloc(size); }

void *calloc(size_t n, size_t size) { return n * size >= least_malloc && strikes(MALLOC) ? NULL : __libc_calloc(n, size); }

void *realloc(void *old, size_t size) { return size >= least_malloc && strikes(MALLOC) ? NULL : __libc_realloc(old, size); }

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*start)(void *), void *with) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return strikes(THREAD) ? EAGAIN : real(thread, how, start, with);
}
