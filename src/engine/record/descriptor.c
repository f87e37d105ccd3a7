/* SPDX-License-Identifier: MIT */
/* The recorder's descriptor: the program must not see, close or replace it. */
#include "engine/record/descriptor.h"

#include <asm/errno.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

#include "engine/core/registers.h"
#include "engine/core/thread.h"
#include "engine/os/sys.h"
#include "engine/os/util.h"
#include "engine/record/log.h"

/* Moves the recorder's descriptor to another number, because the program is about to use this one. */
static void move_fd(void)
{
	long fd = sys(__NR_fcntl, log_fd, F_DUPFD, log_fd + 1);

	if (sys_failed(fd))
		fd = sys(__NR_fcntl, log_fd, F_DUPFD, 100);
	if (!sys_failed(fd))
		log_fd = (int)fd;
}

/* System calls whose first argument is a descriptor, except those that descriptor_answers()
 * answers. */
static bool is_of_file(long nr)
{
	static const uint16_t calls[] = {
		__NR_read,	 __NR_write,	    __NR_pread64,	  __NR_pwrite64,
		__NR_readv,	 __NR_writev,	    __NR_preadv,	  __NR_pwritev,
		__NR_preadv2,	 __NR_pwritev2,	    __NR_fstat,		  __NR_fstatfs,
		__NR_lseek,	 __NR_ioctl,	    __NR_ftruncate,	  __NR_fallocate,
		__NR_fsync,	 __NR_fdatasync,    __NR_sync_file_range, __NR_syncfs,
		__NR_fadvise64,	 __NR_readahead,    __NR_flock,		  __NR_fchmod,
		__NR_fchown,	 __NR_fchdir,	    __NR_fsetxattr,	  __NR_fgetxattr,
		__NR_flistxattr, __NR_fremovexattr, __NR_vmsplice,
	};

	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i] == nr)
			return true;
	return false;
}

/* Whether a path is absolute, so that the system call ignores its descriptor. */
static bool is_absolute(uint64_t path)
{
	char first;

	return rt_copy(&first, (const void *)path, 1) && first == '/';
}

bool descriptor_refuses(const struct thread *t, long nr)
{
	const uint64_t *r = t->regs;
	unsigned fd = (unsigned)log_fd;

	if (log_fd < 0)
		return false;
	switch (nr) {
	case __NR_mmap:
		return (unsigned)r[R8] == fd && !(r[R10] & MAP_ANONYMOUS);
	case __NR_sendfile:
	case __NR_tee:
		return (unsigned)r[RDI] == fd || (unsigned)r[RSI] == fd;
	case __NR_splice:
	case __NR_copy_file_range:
		return (unsigned)r[RDI] == fd || (unsigned)r[RDX] == fd;
	case __NR_newfstatat:
	case __NR_statx:
	case __NR_fchownat:
		return (unsigned)r[RDI] == fd && !is_absolute(r[RSI]);
	default:
		return (unsigned)r[RDI] == fd && is_of_file(nr);
	}
}

bool descriptor_answers(struct thread *t, long nr, long *ret)
{
	uint64_t *r = t->regs;
	unsigned fd = (unsigned)log_fd;

	if (log_fd < 0)
		return false;
	switch (nr) {
	case __NR_close:
	case __NR_fcntl:
	case __NR_dup:
		*ret = -EBADF;
		return (unsigned)r[RDI] == fd;
	case __NR_dup2:
	case __NR_dup3:
		*ret = -EBADF;
		if ((unsigned)r[RDI] == fd)
			return true;
		if ((unsigned)r[RSI] == fd)
			move_fd();
		return false;
	case __NR_close_range: {
		unsigned from = (unsigned)r[RDI], to = (unsigned)r[RSI];

		if (fd < from || fd > to)
			return false;
		*ret = 0;
		if (from < fd)
			*ret = sys(nr, from, fd - 1, r[RDX]);
		if (fd < to && !*ret)
			*ret = sys(nr, fd + 1, to, r[RDX]);
		return true;
	}
	default:
		return false;
	}
}
