/* A disk that fails: the k-th call that writes or synchronises fails, or the process is killed there.
   Preloaded; armed from Python. Only files below the armed folder count. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long left = 0, seen = 0;
static int how = 0; /* 0: kill, else the error number */
static char folder[4096] = "";

void faults_arm(long k, int error, const char *below) {
    left = k; seen = 0; how = error;
    strncpy(folder, below, sizeof folder - 1);
}
long faults_seen(void) { return seen; }

static int fails(int fd) {
    char link[64], path[4096];
    if (!folder[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    if (strncmp(path, folder, strlen(folder))) return 0;
    seen++;
    if (left <= 0 || --left) return 0;
    if (!how) kill(getpid(), SIGKILL);
    errno = how;
    return 1;
}

#define WRAP(kind, name, declared, given)                       \
    kind name declared {                                        \
        static kind (*real) declared;                           \
        if (!real) real = dlsym(RTLD_NEXT, #name);              \
        return fails(fd) ? (kind)-1 : real given;               \
    }
WRAP(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n))
WRAP(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o))
WRAP(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t o), (fd, b, n, o))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, ftruncate, (int fd, off_t n), (fd, n))
WRAP(int, ftruncate64, (int fd, off64_t n), (fd, n))
