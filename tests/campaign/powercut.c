/* What a process does to the files under POWERCUT_ROOT, written down in the order it happened.
 *
 * Loaded with LD_PRELOAD. Every write, truncation, creation, rename, removal and sync becomes a record in
 * POWERCUT_JOURNAL, and whatever is written to POWERCUT_ACKS becomes an acknowledgement in the same order. From the
 * journal the disk can be rebuilt as a power cut at any moment might have left it: see disk.py.
 * A record is written in one append, after the call it tells of has succeeded and before it returns.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST 4096
enum { UNTRACKED, TRACKED, ACKS };
static unsigned char kind_of[MOST];
static uint64_t inode_of[MOST];
static int journal = -1;
static const char *root, *acks;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    root = getenv("POWERCUT_ROOT");
    acks = getenv("POWERCUT_ACKS");
    const char *path = getenv("POWERCUT_JOURNAL");
    if (root && path)
        journal = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int inside(const char *path) {
    size_t n = root ? strlen(root) : 0;
    return journal >= 0 && path && !strncmp(path, root, n) && (path[n] == 0 || path[n] == '/');
}

struct __attribute__((packed)) head { char op; uint32_t names; uint64_t inode, offset, length; };

static void note(char op, const char *path, const char *other, uint64_t inode, uint64_t offset,
                 const void *data, uint64_t length) {
    char names[2 * PATH_MAX + 2];
    int n = snprintf(names, sizeof names, "%s%c%s", path ? path : "", 0, other ? other : "");
    struct head head = {op, (uint32_t)n, inode, offset, length};
    struct iovec parts[3] = {{&head, sizeof head}, {names, n}, {(void *)data, data ? length : 0}};
    if (syscall(SYS_writev, journal, parts, 3) < 0) abort();
}

static int opened(int fd, const char *path, int flags, int existed) {
    struct stat st;
    if (fd < 0 || fd >= MOST) return fd;
    kind_of[fd] = UNTRACKED;
    if (acks && path && !strcmp(path, acks)) kind_of[fd] = ACKS;
    else if (inside(path) && !fstat(fd, &st)) {
        kind_of[fd] = TRACKED;
        inode_of[fd] = st.st_ino;
        if (!existed) note('C', path, 0, st.st_ino, 0, 0, 0);
        else if (flags & O_TRUNC) note('T', path, 0, st.st_ino, 0, 0, 0);
    }
    return fd;
}

#define OPEN(name)                                                                   \
    int name(const char *path, int flags, ...) {                                     \
        va_list rest;                                                                \
        va_start(rest, flags);                                                       \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;      \
        va_end(rest);                                                                \
        int existed = !inside(path) || !access(path, F_OK);                          \
        return opened(REAL(name)(path, flags, mode), path, flags, existed);          \
    }
OPEN(open)
OPEN(open64)

int close(int fd) {
    if (fd >= 0 && fd < MOST) kind_of[fd] = UNTRACKED;
    return REAL(close)(fd);
}

static int tracked(int fd) { return fd >= 0 && fd < MOST ? kind_of[fd] : UNTRACKED; }

ssize_t write(int fd, const void *data, size_t size) {
    int kind = tracked(fd);
    off_t at = kind == TRACKED ? lseek(fd, 0, SEEK_CUR) : 0;
    ssize_t done = REAL(write)(fd, data, size);
    if (done > 0 && kind != UNTRACKED) note(kind == ACKS ? 'A' : 'W', 0, 0, inode_of[fd], at, data, done);
    return done;
}

#define PWRITE(name, offset_type)                                                    \
    ssize_t name(int fd, const void *data, size_t size, offset_type at) {            \
        ssize_t done = REAL(name)(fd, data, size, at);                               \
        if (done > 0 && tracked(fd) == TRACKED) note('W', 0, 0, inode_of[fd], at, data, done); \
        return done;                                                                 \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define TRUNCATE(name, offset_type)                                                  \
    int name(int fd, offset_type size) {                                             \
        int result = REAL(name)(fd, size);                                           \
        if (!result && tracked(fd) == TRACKED) note('T', 0, 0, inode_of[fd], size, 0, 0); \
        return result;                                                               \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(name)                                                                   \
    int name(int fd) {                                                               \
        int result = REAL(name)(fd);                                                 \
        if (!result && tracked(fd) == TRACKED) note('S', 0, 0, inode_of[fd], 0, 0, 0); \
        return result;                                                               \
    }
SYNC(fsync)
SYNC(fdatasync)

int rename(const char *from, const char *to) {
    int result = REAL(rename)(from, to);
    if (!result && inside(to)) note('R', from, to, 0, 0, 0, 0);
    return result;
}

int unlink(const char *path) {
    int result = REAL(unlink)(path);
    if (!result && inside(path)) note('U', path, 0, 0, 0, 0, 0);
    return result;
}

int mkdir(const char *path, mode_t mode) {
    struct stat st;
    int result = REAL(mkdir)(path, mode);
    if (!result && inside(path) && !stat(path, &st)) note('M', path, 0, st.st_ino, 0, 0, 0);
    return result;
}
