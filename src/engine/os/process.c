/* SPDX-License-Identifier: MIT */
/* Threads, children, other images: all of them run under the engine too. */
#include <asm/errno.h>
#include <elf.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/stat.h>

#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/edges.h"
#include "engine/core/flush.h"
#include "engine/core/layout.h"
#include "engine/core/regions.h"
#include "engine/core/registers.h"
#include "engine/core/schedule.h"
#include "engine/core/thread.h"
#include "engine/os/process.h"
#include "engine/os/signals.h"
#include "engine/os/util.h"
#include "engine/record/lines.h"
#include "engine/record/log.h"
#include "engine/record/marks.h"
#include "engine/record/mode.h"
#include "engine/record/phases.h"
#include "engine/record/warm.h"
#include "engine/translate/block.h"
#include "engine/translate/publish.h"
#include "engine/shared.h"
#include "engine/os/sys.h"

#define PATH_MAX 4096
#define ARGS_MAX (1 << 20)
#define AT_EMPTY_PATH_FLAG 0x1000
#define ACCESS_X 1
#define CLONE_ARGS_MAX 4096
#define CLEAR_SIGHAND 0x100000000ul /* CLONE_CLEAR_SIGHAND; not in older headers */

/* The request of a clone, by whichever system call. */
struct request {
	uint64_t flags, stack;
	long nr;
	uint64_t arg[5]; /* the arguments, as the kernel takes them */
	struct clone_args args;
	size_t size;
};

/* The base of fs in the child. */
static uint64_t fs_of_child(const struct thread *t, const struct request *q)
{
	if (!(q->flags & CLONE_SETTLS))
		return t->fs_base;
	return q->nr == __NR_clone3 ? q->args.tls : q->arg[4];
}

static void child_main(void *arg)
{
	struct thread *t = arg;

	set_self(t);
	t->tid = (int)sys(__NR_gettid);
	signals_thread(t);
	if (t->reset)
		signals_reset(t);
	log_thread(t);
	if (lines_observed())
		lines_thread(t);
	if (warming)
		warm_thread(t);
	if (phases_on())
		phases_thread(t);
	signals_restore(t->signal.mask);
	edges_note(EXACT_WENT, 0, 0, t->pc);
	dispatch(t);
}

/*
 * The child has this thread alone: a lock that another thread holds would never be released there.
 * So this thread takes all locks before the fork, except those of flush.c and lines.c, which may be
 * held for long and which the child releases.
 */
static long fork_child(struct thread *t, const struct request *q)
{
	struct handlers *handlers = t->handlers;
	long r;

	lock(&handlers->lock);
	lock(&threads_lock);
	lock(&cache_lock);
	log_before_fork();
	memory_hold();
	r = sys(q->nr, q->arg[0], q->arg[1], q->arg[2], q->arg[3], q->arg[4]);
	memory_release();
	unlock(&handlers->lock);
	if (!r) {
		t->fs_base = fs_of_child(t, q);
		threads_forget_others(t);
		t->held = 0;
		t->user_calls.on = false;
		flush_after_fork();
		t->tid = (int)sys(__NR_gettid);
		signals_thread(t);
		if (q->flags & CLEAR_SIGHAND)
			signals_reset(t);
	}
	log_after_fork(t, r);
	if (!r && lines_observed())
		lines_after_fork(t);
	if (!r && phases_on())
		phases_after_fork(t);
	if (!r)
		schedule_after_fork(t);
	unlock(&cache_lock);
	unlock(&threads_lock);
	return r;
}

static long share_memory(struct thread *t, struct request *q, sig_set mask)
{
	struct thread *c = thread_new();
	uint64_t sp = (uint64_t)c + T_STACK_TOP;
	long r;

	lines_join(t);
	memcpy(c->regs, t->regs, sizeof(c->regs));
	c->regs[RAX] = 0;
	c->regs[RCX] = t->pc;
	c->regs[R11] = t->flags;
	if (q->stack)
		c->regs[RSP] = q->stack;
	c->pc = t->pc;
	c->flags = t->flags;
	c->gs_base = t->gs_base;
	c->fs_base = fs_of_child(t, q);
	c->signal.mask = mask;
	c->blocked = t->blocked;
	c->tid = -1;
	if (q->flags & CLONE_CHILD_CLEARTID)
		c->clear_tid = q->nr == __NR_clone3 ? q->args.child_tid : q->arg[3];
	c->reset = q->flags & CLEAR_SIGHAND;
	if (q->flags & CLONE_SIGHAND) {
		c->handlers = t->handlers;
	} else {
		c->handlers = arena(sizeof(*c->handlers));
		lock(&t->handlers->lock);
		memcpy(c->handlers->a, t->handlers->a, sizeof(t->handlers->a));
		unlock(&t->handlers->lock);
	}
	if (q->flags & CLONE_VFORK) /* the stack that was used before is still valid */
		c->altstack = t->altstack;
	if (q->nr == __NR_clone3) {
		q->args.stack = sp - 4096;
		q->args.stack_size = 4096;
	} else {
		q->arg[1] = sp;
	}
	r = rt_clone(q->nr, (long)q->arg[0], (long)q->arg[1], (long)q->arg[2], (long)q->arg[3],
		     (long)q->arg[4], sp, child_main, c);
	if (sys_failed(r) || q->flags & CLONE_VFORK) {
		if (sys_failed(r))
			c->tid = 0x7fffffff;
		thread_end(c);
	}
	return r;
}

static long clone(struct thread *t, struct request *q)
{
	sig_set mask;
	long r;

	signals_block_all(&mask);
	if (t->pending)
		return RESTART;
	if (q->flags & CLONE_VM) {
		r = share_memory(t, q, mask);
	} else {
		uint64_t stack = q->stack;

		if (q->nr == __NR_clone3)
			q->args.stack = q->args.stack_size = 0;
		else
			q->arg[1] = 0;
		r = fork_child(t, q);
		if (!r && stack)
			t->regs[RSP] = stack;
		if (!r)
			edges_note(EXACT_WENT, 0, 0, t->pc);
	}
	signals_restore(mask);
	return r;
}

static long do_clone(struct thread *t)
{
	const uint64_t *r = t->regs;
	struct request q = { .flags = r[RDI],
			     .stack = r[RSI],
			     .nr = __NR_clone,
			     .arg = { r[RDI], r[RSI], r[RDX], r[R10], r[R8] } };

	return clone(t, &q);
}

static long do_clone3(struct thread *t)
{
	const uint64_t *r = t->regs;
	struct request q = { .nr = __NR_clone3, .size = r[RSI] };

	if (q.size < CLONE_ARGS_SIZE_VER0 || q.size > CLONE_ARGS_MAX)
		return q.size < CLONE_ARGS_SIZE_VER0 ? -EINVAL : -E2BIG;
	/* bytes that the engine does not know have to be zero */
	for (; q.size > sizeof(q.args); q.size--) {
		uint8_t more;

		if (!rt_copy(&more, (const void *)(r[RDI] + q.size - 1), 1))
			return -EFAULT;
		if (more)
			return -E2BIG;
	}
	if (!rt_copy(&q.args, (const void *)r[RDI], q.size))
		return -EFAULT;
	q.flags = q.args.flags;
	q.stack = q.args.stack ? q.args.stack + q.args.stack_size : 0;
	q.arg[0] = (uint64_t)&q.args;
	q.arg[1] = q.size;
	return clone(t, &q);
}

static long do_fork(struct thread *t, uint64_t flags)
{
	struct request q = { .flags = flags | 17, .nr = __NR_clone, .arg = { flags | 17 } };

	return clone(t, &q);
}

static bool is_alone(void)
{
	unsigned n = 0;

	lock(&threads_lock);
	for (const struct thread *t = threads; t; t = t->next)
		n += !t->ended;
	unlock(&threads_lock);
	return n == 1;
}

static long do_exit(struct thread *t)
{
	sig_set mask;

	signals_block_all(&mask);
	if (t->pending) /* another thread may take the signal if it was for the process */
		signals_restore(mask);
	if (lines_observed())
		is_alone() ? lines_end(t) : lines_thread_end(t);
	if (phases_on())
		phases_thread_end(t);
	is_alone() ? schedule_end(t) : schedule_thread_end(t);
	thread_end(t);
	sys(__NR_exit, t->regs[RDI]);
	__builtin_unreachable();
}

/* Execution of a new image. */

static bool copy_string(char *to, size_t size, uint64_t from)
{
	for (size_t i = 0; i < size; i++) {
		if (!rt_copy(to + i, (const void *)(from + i), 1))
			return false;
		if (!to[i])
			return true;
	}
	return false;
}

/* Whether the engine can run the file. 0: yes; 1: the kernel has to run it as it is; or -errno. */
static long judge(int fd, unsigned depth);

/* A script can be run if its interpreter can. */
static long judge_script(const char *line, unsigned depth)
{
	char path[PATH_MAX];
	size_t i = 2, n = 0;
	long fd, r;

	while (line[i] == ' ' || line[i] == '\t')
		i++;
	while (line[i] && line[i] != ' ' && line[i] != '\t' && line[i] != '\n')
		path[n++] = line[i++];
	path[n] = 0;
	fd = sys(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (sys_failed(fd) || depth > 4)
		return 1;
	r = sys(__NR_faccessat, AT_FDCWD, path, ACCESS_X) ? 1 : judge((int)fd, depth + 1);
	sys(__NR_close, fd);
	return r;
}

static long judge(int fd, unsigned depth)
{
	char head[257];
	Elf64_Ehdr h;
	struct stat {
		uint64_t dev, ino, nlink;
		uint32_t mode, uid, gid, pad;
		uint64_t rest[16];
	} st;
	char caps[64];
	long n = sys(__NR_fstat, fd, &st);

	if (sys_failed(n))
		return n;
	if (!S_ISREG(st.mode))
		return 1;
	if (st.mode & (S_ISUID | S_ISGID) ||
	    sys(__NR_fgetxattr, fd, "security.capability", caps, sizeof(caps)) > 0)
		return 1;
	n = sys(__NR_pread64, fd, head, sizeof(head) - 1, 0);
	if (sys_failed(n))
		return 1;
	head[n] = 0;
	if (head[0] == '#' && head[1] == '!')
		return judge_script(head, depth);
	n = sys(__NR_pread64, fd, &h, sizeof(h), 0);
	if (n != sizeof(h) || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != EM_X86_64 ||
	    (h.e_type != ET_EXEC && h.e_type != ET_DYN) || h.e_phentsize != sizeof(Elf64_Phdr) ||
	    h.e_phnum > 64)
		return 1;
	for (unsigned i = 0; i < h.e_phnum; i++) {
		Elf64_Phdr ph;
		char interp[256];

		if (sys(__NR_pread64, fd, &ph, sizeof(ph), h.e_phoff + i * sizeof(ph)) !=
		    sizeof(ph))
			return 1;
		if (ph.p_type != PT_INTERP)
			continue;
		if (ph.p_filesz < 2 || ph.p_filesz > sizeof(interp) ||
		    sys(__NR_pread64, fd, interp, ph.p_filesz, ph.p_offset) != (long)ph.p_filesz ||
		    interp[ph.p_filesz - 1])
			return 1;
		if (sys_failed(sys(__NR_faccessat, AT_FDCWD, interp, 4)))
			return 1;
	}
	return 0;
}

/* Builds an argument vector in a new mapping: engine, configuration, path, the program's arguments. NULL: no memory. */
static char **engine_args(uint64_t argv, const char *option, const char *path, size_t *size)
{
	uint64_t n = 0, p;
	char **out;
	long at;

	do
		if (argv && !rt_copy(&p, (const void *)(argv + 8 * n), 8))
			return NULL;
		else if (!argv)
			p = 0;
	while (p && ++n < ARGS_MAX);
	*size = (n + 8) * 8;
	at = room_map(*size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_failed(at))
		return NULL;
	out = (char **)at;
	out[0] = "assay-exact";
	out[1] = (char *)option;
	out[2] = (char *)path;
	for (uint64_t i = 0; i < n; i++)
		if (!rt_copy(&out[3 + i], (const void *)(argv + 8 * i), 8))
			break;
	return out;
}

/* Leaves the call to the kernel, which runs the file as it is, or reports the error. */
static long run_native(struct thread *t, const char *path, bool runs)
{
	long r;

	if (runs) {
		lines_end(t);
		schedule_end(t);
	}
	log_tell();
	signals_before_exec(t);
	if (runs)
		log_native(path);
	if (log_fd >= 0)
		sys(__NR_fcntl, log_fd, F_SETFD, FD_CLOEXEC);
	r = rt_syscall(t);
	signals_after_exec();
	if (log_fd >= 0)
		sys(__NR_fcntl, log_fd, F_SETFD, 0);
	return r;
}

/* Builds a path to a program that was given as a descriptor, which the next image may not have. */
static bool names_descriptor(const char *path, long fd)
{
	char head[2];

	return (starts_with(path, "/proc/") || starts_with(path, "/dev/fd/")) &&
	       sys(__NR_pread64, fd, head, sizeof(head), 0) == sizeof(head) &&
	       memcmp(head, "#!", 2);
}

/* Whether another process traces this thread. */
static bool is_traced(void)
{
	static const char field[] = "TracerPid:\t";
	char text[1024];
	long fd = sys(__NR_openat, AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC), n;

	if (sys_failed(fd))
		return false;
	n = sys(__NR_read, fd, text, sizeof(text) - 1);
	sys(__NR_close, fd);
	text[n > 0 ? n : 0] = 0;
	for (const char *p = text; *p; p++)
		if (starts_with(p, field))
			return p[sizeof(field) - 1] != '0';
	return false;
}

static long exec(struct thread *t, int dirfd, uint64_t user_path, uint64_t argv, uint64_t envp,
		 int flags)
{
	static const char self_exe[] = "/proc/self/exe";
	char path[PATH_MAX], name[PATH_MAX + 64], option[64];
	char **args;
	size_t size;
	long fd, r, keep = -1;

	if (!copy_string(path, sizeof(path), user_path))
		return -EFAULT;
	flush_expect_signal(t); /* a signal that came now would be delivered to the new image */
	if (!strcmp(path, self_exe))
		format(path, sizeof(path), "%s", config.program);
	if (!path[0] && flags & AT_EMPTY_PATH_FLAG)
		fd = sys(__NR_fcntl, dirfd, F_DUPFD, 0);
	else
		fd = sys(__NR_openat, dirfd, path,
			 O_RDONLY | (flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0));
	/* the kernel reports the error, or runs a file that cannot be read */
	if (sys_failed(fd)) {
		bool runs =
			fd == -EACCES && !sys_failed(sys(__NR_faccessat, dirfd, path, ACCESS_X));

		return runs ? run_native(t, path, true) : rt_syscall(t);
	}
	r = sys(__NR_faccessat2, fd, "", ACCESS_X, AT_EMPTY_PATH_FLAG | AT_EACCESS);
	if (!r)
		r = judge((int)fd, 0);
	if (!r && is_traced())
		r = 1;
	if (!r && (!path[0] || (dirfd != AT_FDCWD && path[0] != '/') || names_descriptor(path, fd)))
		keep = sys(__NR_fcntl, fd, F_DUPFD, 100);
	sys(__NR_close, fd);
	if (r)
		return run_native(t, path, r == 1);
	if (keep >= 0)
		format(name, sizeof(name), OPEN_FILE "%ld/%s", keep, path);
	log_exec_option(option, sizeof(option));
	args = engine_args(argv, option, keep >= 0 ? name : path, &size);
	if (!args)
		return -EFAULT;
	lines_end(t);
	schedule_end(t);
	log_tell();
	signals_before_exec(t);
	r = sys(__NR_execve, self_exe, args, envp);
	if (r == -ENOENT || r == -EACCES)
		r = sys(__NR_execve, config.self, args, envp);
	sys(__NR_munmap, args, size);
	if (keep >= 0)
		sys(__NR_close, keep);
	/* the engine's file is out of reach: the process has another root */
	if (r == -ENOENT || r == -EACCES)
		r = run_native(t, path, true);
	else
		signals_after_exec();
	return r;
}

/* Lets a process of one thread continue without the engine, beginning with this system call. No mapping of the
 * recorder's, and none that can be both written and executed, remains. */
static long leave(struct thread *t)
{
	sig_set mask;

	signals_block_all(&mask);
	if (t->pending)
		return RESTART;
	lock(&cache_lock);
	regions_unwatch_all();
	unlock(&cache_lock);
	lines_end(t);
	schedule_end(t);
	log_native(config.program);
	log_leave(t);
	threads_forget_others(t);
	if (marks_kept())
		marks_leave();
	publish_leave();
	t->pc -= 2;
	signals_leave(t, mask);
}

bool process_restricted;

/* A program that restricts its own system calls restricts the engine's, too, and would be killed
 * for calls that the engine makes. */
static long do_seccomp(struct thread *t, long nr)
{
	uint64_t first = t->regs[RDI], second = t->regs[RSI];
	bool restricts = nr == __NR_seccomp ? first <= SECCOMP_SET_MODE_FILTER
					    : first == PR_SET_SECCOMP && second;

	if (restricts && is_alone())
		return leave(t);
	if (restricts)
		__atomic_store_n(&process_restricted, true, __ATOMIC_RELAXED);
	return rt_syscall(t);
}

/* Whether a link in /proc leads to the same file for another process as for this one. */
static bool same_link(long pid, const char *name)
{
	char path[96], own[PATH_MAX], other[PATH_MAX];
	long n, m;

	format(path, sizeof(path), "/proc/self/%s", name);
	n = sys(__NR_readlink, path, own, sizeof(own));
	format(path, sizeof(path), "/proc/%ld/%s", pid, name);
	m = sys(__NR_readlink, path, other, sizeof(other));
	return n > 0 && n == m && !memcmp(own, other, (size_t)n);
}

/* Whether a tracer would see the engine. A tracer reads a process's memory or registers, and the
 * process is recorded, so that it has the recorder's file. */
static bool looks_at_engine(long request, long pid)
{
	char log[32];

	switch (request) {
	case PTRACE_PEEKTEXT:
	case PTRACE_PEEKDATA:
	case PTRACE_PEEKUSR:
	case PTRACE_POKETEXT:
	case PTRACE_POKEDATA:
	case PTRACE_POKEUSR:
	case PTRACE_GETREGS:
	case PTRACE_SETREGS:
	case PTRACE_GETREGSET:
	case PTRACE_SETREGSET:
		break;
	default:
		return false;
	}
	format(log, sizeof(log), "fd/%ld", (long)log_fd);
	return log_fd >= 0 && same_link(pid, "exe") && same_link(pid, log);
}

/*
 * A tracer has to see the program alone. So a child that asks to be traced continues without the
 * engine, and so does a traced process when it executes a program (exec()). A process that a tracer
 * attaches to while it runs cannot leave the engine.
 */
static long do_ptrace(struct thread *t)
{
	static bool said;
	long request = (long)t->regs[RDI], pid = (int)t->regs[RSI];

	if (request == PTRACE_TRACEME && is_alone())
		return leave(t);
	if (!said && looks_at_engine(request, pid)) {
		said = true;
		say("process %ld is recorded, and traced: its tracer sees the engine's code and "
		    "registers, not the program's; let the tracer start the program, or record "
		    "without --exact",
		    pid);
	}
	return rt_syscall(t);
}

static long set_user_calls(struct thread *t)
{
	const uint64_t *r = t->regs;

	if (r[RSI] == PR_SYS_DISPATCH_OFF && !r[RDX] && !r[R10] && !r[R8]) {
		t->user_calls.on = false;
		return 0;
	}
	if (r[RSI] != PR_SYS_DISPATCH_ON || (r[RDX] && r[RDX] + r[R10] <= r[RDX]))
		return -EINVAL;
	if (r[R8] >= 1ul << ADDRESS_BITS)
		return -EFAULT;
	t->user_calls.start = r[RDX];
	t->user_calls.size = r[R10];
	t->user_calls.selector = r[R8];
	t->user_calls.on = true;
	return 0;
}

bool process_refuses_call(const struct thread *t)
{
	uint8_t selector = 1;

	if (!t->user_calls.on || t->pc - t->user_calls.start < t->user_calls.size)
		return false;
	return !t->user_calls.selector ||
	       !rt_copy(&selector, (const void *)t->user_calls.selector, 1) || selector;
}

bool process_syscall(struct thread *t, long nr, long *ret)
{
	const uint64_t *r = t->regs;

	switch (nr) {
	case __NR_prctl:
		if (r[RDI] == PR_SET_SYSCALL_USER_DISPATCH) {
			*ret = set_user_calls(t);
			return true;
		}
		*ret = do_seccomp(t, nr);
		return true;
	case __NR_seccomp:
		*ret = do_seccomp(t, nr);
		return true;
	case __NR_ptrace:
		*ret = do_ptrace(t);
		return true;
	case __NR_clone:
		*ret = do_clone(t);
		return true;
	case __NR_clone3:
		*ret = do_clone3(t);
		return true;
	case __NR_fork:
		*ret = do_fork(t, 0);
		return true;
	case __NR_vfork:
		*ret = do_fork(t, CLONE_VM | CLONE_VFORK);
		return true;
	case __NR_exit:
		*ret = do_exit(t);
		return true;
	case __NR_execve:
		*ret = exec(t, AT_FDCWD, r[RDI], r[RSI], r[RDX], 0);
		return true;
	case __NR_execveat:
		*ret = exec(t, (int)r[RDI], r[RSI], r[RDX], r[R10], (int)r[R8]);
		return true;
	case __NR_set_tid_address:
		t->clear_tid = r[RDI];
		return false;
	default:
		return false;
	}
}
