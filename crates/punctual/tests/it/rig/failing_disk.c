/* Returns EIO from every write and sync below a folder, for as long as a file is there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(int fd) {
    const char *below = getenv("DISK_FAILS_BELOW"), *while_there = getenv("DISK_FAILS_WHILE");
    char entry[64], path[PATH_MAX];
    int before = errno, failing = 0;
    if (below && while_there && access(while_there, F_OK) == 0) {
        snprintf(entry, sizeof entry, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(entry, path, sizeof path - 1);
        failing = length > 0 && strncmp(path, below, strlen(below)) == 0;
    }
    errno = failing ? EIO : before;
    return failing;
}

#define FAILING(type, name, parameters, arguments)                  \
    type name parameters {                                          \
        static type(*real) parameters;                              \
        if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
        return fails(fd) ? -1 : real arguments;                     \
    }

FAILING(ssize_t, write, (int fd, const void *from, size_t size), (fd, from, size))
FAILING(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at))
FAILING(ssize_t, pwrite64, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at))
FAILING(int, ftruncate, (int fd, off_t size), (fd, size))
FAILING(int, ftruncate64, (int fd, off64_t size), (fd, size))
FAILING(int, fsync, (int fd), (fd))
FAILING(int, fdatasync, (int fd), (fd))
