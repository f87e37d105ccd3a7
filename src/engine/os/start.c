/* SPDX-License-Identifier: MIT */
/*
 * The engine's entry: assay-exact -- CMD [ARGS], or, for a child's new image, with the path apart: assay-exact OPTION
 * PATH [ARGV]. Loads the program, gives it the stack that the kernel would give it, and runs it.
 */
#include <asm/errno.h>
#include <asm/hwcap2.h>
#include <elf.h>
#include <linux/auxvec.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/stat.h>

#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/edges.h"
#include "engine/core/layout.h"
#include "engine/core/registers.h"
#include "engine/core/schedule.h"
#include "engine/core/thread.h"
#include "engine/os/elf.h"
#include "engine/os/process.h"
#include "engine/os/signals.h"
#include "engine/os/util.h"
#include "engine/record/lines.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/record/phases.h"
#include "engine/translate/block.h"
#include "engine/translate/decode.h"
#include "engine/translate/publish.h"
#include "engine/shared.h"
#include "engine/os/sys.h"

#define PATH_MAX 4096
#define INTERPRETERS_MAX 5 /* most interpreters in a row that are scripts themselves */
#define STRINGS 16384

void rt_start(uint64_t *sp) __attribute__((noreturn));

struct config config;

struct start {
	long argc;
	char **argv, **envp;
	uint64_t *auxv;
	unsigned nenv, naux;
	uint64_t sp; /* the memory below is free */
	const char *path;
	bool searched;				 /* the command was looked up as execvp does it */
	char *prepend[2 * INTERPRETERS_MAX + 2]; /* interpreters of scripts, in reverse order */
	unsigned nprepend;
	struct loaded program, interp;
};

static void parse_stack(struct start *s, uint64_t *sp)
{
	s->sp = (uint64_t)sp;
	s->argc = (long)sp[0];
	s->argv = (char **)(sp + 1);
	s->envp = s->argv + s->argc + 1;
	while (s->envp[s->nenv])
		s->nenv++;
	s->auxv = (uint64_t *)(s->envp + s->nenv + 1);
	while (s->auxv[2 * s->naux] != AT_NULL)
		s->naux++;
	s->naux++;
}

static const char *env(const struct start *s, const char *name)
{
	size_t n = strlen(name);

	for (unsigned i = 0; i < s->nenv; i++)
		if (starts_with(s->envp[i], name) && s->envp[i][n] == '=')
			return s->envp[i] + n + 1;
	return NULL;
}

static uint64_t aux(const struct start *s, uint64_t type)
{
	for (unsigned i = 0; i < s->naux; i++)
		if (s->auxv[2 * i] == type)
			return s->auxv[2 * i + 1];
	return 0;
}

/* Looks a command up as execvp does. The result is static. */
static const char *search(const struct start *s, const char *name)
{
	static char path[PATH_MAX];
	const char *p = env(s, "PATH");

	for (const char *c = name; *c; c++)
		if (*c == '/')
			return name;
	if (!p)
		p = "/bin:/usr/bin";
	while (*p) {
		size_t n = 0;

		while (p[n] && p[n] != ':')
			n++;
		if (n + strlen(name) + 2 < sizeof(path)) {
			memcpy(path, p, n);
			format(path + n, sizeof(path) - n, "%s%s", n ? "/" : "", name);
			if (!sys(__NR_access, path, 1))
				return path;
		}
		p += n + (p[n] == ':');
	}
	return name;
}

static const char *reason(long r)
{
	switch (r) {
	case -ENOENT:
		return "no such file";
	case -EACCES:
		return "not executable: chmod +x makes it so";
	case -EISDIR:
		return "a directory";
	case -ELOOP:
		return "scripts are its interpreters, more than 5 of them";
	case -ENOEXEC:
		return "its ELF headers are damaged, or the file was cut short";
	case -ENOMEM:
		return "no memory to map it: see ulimit -v and -d";
	case -EEXIST:
		return "its addresses are taken by the exact engine: record it without --exact";
	case REFUSE_FORMAT:
		return "no program: neither ELF nor a script";
	case REFUSE_32_BIT:
		return "a 32-bit program: exact recording runs 64-bit ones only";
	case REFUSE_MACHINE:
		return "a program for another processor than x86-64";
	case REFUSE_TYPE:
		return "ELF, but no program: an object file or a core dump";
	case REFUSE_RIGHTS:
		return "set-user-ID, set-group-ID or with capabilities: under exact recording it "
		       "would run without them; record it as the user that it runs as";
	case REFUSE_UNREADABLE:
		return "executable, but not readable: exact recording has to read it";
	default:
		return "cannot be loaded";
	}
}

/* Ends the process, because the program or its interpreter cannot be run. */
static void fail(const struct start *s, const char *interp, long err) __attribute__((noreturn));
static void fail(const struct start *s, const char *interp, long err)
{
	const char *program = s->nprepend ? s->prepend[0] : s->path;

	if (!interp && s->nprepend)
		interp = s->path;
	if (interp)
		say("%s: its interpreter, %s: %s", program, interp, reason(err));
	else
		say("%s: %s", program, reason(err));
	sys(__NR_exit_group, err == -ENOENT ? 127 : 126);
	__builtin_unreachable();
}

static char *keep(const char *text, size_t n)
{
	char *p = arena(n + 1);

	memcpy(p, text, n);
	return p;
}

/* Opens the interpreter of a script that begins with "#! interpreter argument". -errno. */
static int script(struct start *s, const char *line, const char *path)
{
	size_t i = 2, start, end;

	while (line[i] == ' ' || line[i] == '\t')
		i++;
	for (start = i; line[i] && line[i] != ' ' && line[i] != '\t' && line[i] != '\n';)
		i++;
	if (i == start)
		return -ENOEXEC;
	s->prepend[s->nprepend++] = (char *)path;
	s->path = keep(line + start, i - start);
	while (line[i] == ' ' || line[i] == '\t')
		i++;
	for (start = end = i; line[i] && line[i] != '\n'; i++)
		if (line[i] != ' ' && line[i] != '\t')
			end = i + 1;
	if (end > start)
		s->prepend[s->nprepend++] = keep(line + start, end - start);
	return 0;
}

static uint64_t number(const char *s)
{
	uint64_t v = 0;

	while (*s >= '0' && *s <= '9')
		v = v * 10 + (uint64_t)(*s++ - '0');
	return v;
}

/* Whether execvp would give the file to a shell: the file is text that does not begin with #!. */
static bool is_text(const char *head, long n)
{
	for (long i = 0; i < n && head[i] != '\n'; i++)
		if (!head[i])
			return false;
	return memcmp(head, ELFMAG, SELFMAG);
}

static int open_program(struct start *s)
{
	char head[257];
	long fd, n = 0;

	if (starts_with(s->path, OPEN_FILE)) {
		return (int)number(s->path + sizeof(OPEN_FILE) - 1);
	}
	for (unsigned depth = 0; depth <= INTERPRETERS_MAX; depth++) {
		bool executable = !sys_failed(sys(__NR_faccessat, AT_FDCWD, s->path, 1));

		fd = sys(__NR_openat, AT_FDCWD, s->path, O_RDONLY | O_CLOEXEC);
		if (fd == -EACCES && executable)
			return REFUSE_UNREADABLE;
		if (sys_failed(fd))
			return (int)fd;
		if (!executable)
			return -EACCES;
		n = sys(__NR_pread64, fd, head, sizeof(head) - 1, 0);
		if (sys_failed(n))
			return (int)n;
		memset(head + n, 0, sizeof(head) - (size_t)n);
		if ((head[0] != '#' || head[1] != '!') && !(s->searched && is_text(head, n)))
			return (int)fd;
		sys(__NR_close, fd);
		if (head[0] != '#' || head[1] != '!' || script(s, head, s->path))
			script(s, "#!/bin/sh", s->path);
	}
	return -ELOOP;
}

/* Returns the name that the kernel gives to a program that was named by a descriptor. */
static const char *name_of_open(const char *path)
{
	static char name[PATH_MAX + 64];
	size_t n;

	path += sizeof(OPEN_FILE) - 1;
	for (n = 0; path[n] >= '0' && path[n] <= '9';)
		n++;
	if (path[n] == '/' && path[n + 1] == '/') /* the program was named by a path */
		return path + n + 1;
	n = format(name, sizeof(name), "/dev/fd/%s", path);

	if (name[n - 1] == '/')
		name[n - 1] = 0;
	return name;
}

/* Whether the kernel would give the program privileges that the engine cannot give. */
static bool is_privileged(int fd)
{
	struct stat_k {
		uint64_t dev, ino, nlink;
		uint32_t mode, uid, gid, pad;
		uint64_t rest[16];
	} st;
	char caps[64];
	long uid = sys(__NR_geteuid);

	if (sys_failed(sys(__NR_fstat, fd, &st)))
		return false;
	if (st.mode & S_ISUID && st.uid != uid)
		return true;
	if ((st.mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.gid != sys(__NR_getegid))
		return true;
	return uid && sys(__NR_fgetxattr, fd, "security.capability", caps, sizeof(caps)) > 0;
}

static void remember(int fd)
{
	char link[64];
	long n;

	format(link, sizeof(link), "/proc/self/fd/%ld", (long)fd);
	n = sys(__NR_readlink, link, config.program, sizeof(config.program) - 1);
	if (n > 0)
		config.program[n] = 0;
	n = sys(__NR_readlink, "/proc/self/exe", config.self, sizeof(config.self) - 1);
	if (n > 0)
		config.self[n] = 0;
}

/* Names the process by its file, as the kernel does. */
static void set_name(const char *path)
{
	const char *name = path;
	char copy[16];
	size_t n = 0;

	for (const char *c = path; *c; c++)
		if (*c == '/')
			name = c + 1;
	while (n < sizeof(copy) - 1 && name[n] && !starts_with(name + n, " (deleted)")) {
		copy[n] = name[n];
		n++;
	}
	copy[n] = 0;
	sys(__NR_prctl, PR_SET_NAME, copy);
}

static const char *field(const char *s, unsigned n)
{
	while (n--)
		while (*s && *s++ != ' ')
			;
	return s;
}

/* Sets what /proc/PID/cmdline shows (the program's arguments, without the engine's), and where its
 * heap begins. */
static void set_arguments(uint64_t start, uint64_t heap)
{
	struct prctl_mm_map m = { .exe_fd = (uint32_t)-1 };
	char stat[1024], *after = stat;
	long fd = sys(__NR_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC), n;

	if (sys_failed(fd))
		return;
	n = sys(__NR_read, fd, stat, sizeof(stat) - 1);
	sys(__NR_close, fd);
	if (n <= 0)
		return;
	stat[n] = 0;
	for (char *c = stat; *c; c++)
		if (*c == ')')
			/* field 3 follows; the name before it may hold any character */
			after = c + 2;
	m.start_code = number(field(after, 26 - 3));
	m.end_code = number(field(after, 27 - 3));
	m.start_stack = number(field(after, 28 - 3));
	m.start_data = number(field(after, 45 - 3));
	m.end_data = number(field(after, 46 - 3));
	m.start_brk = number(field(after, 47 - 3));
	m.brk = (uint64_t)sys(__NR_brk, 0);
	m.arg_start = start;
	m.arg_end = number(field(after, 49 - 3));
	m.env_start = number(field(after, 50 - 3));
	m.env_end = number(field(after, 51 - 3));
	if (heap) {
		uint64_t was = m.start_brk, is = m.brk;

		m.start_brk = m.brk = heap;
		if (!sys_failed(sys(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, &m, sizeof(m), 0)))
			return;
		m.start_brk = was;
		m.brk = is;
	}
	sys(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, &m, sizeof(m), 0);
}

static void load(struct start *s)
{
	const char *name = s->path;
	int fd = open_program(s), r;

	if (fd < 0)
		fail(s, NULL, fd);
	if (is_privileged(fd))
		fail(s, NULL, REFUSE_RIGHTS);
	remember(fd);
	if (starts_with(name, OPEN_FILE) && name[strlen(name) - 1] == '/')
		name = config.program; /* the program was named by its descriptor alone */
	if (starts_with(s->path, OPEN_FILE))
		s->path = name_of_open(s->path);
	set_name(name);
	r = elf_load(fd, &s->program);
	if (r)
		fail(s, NULL, r);
	sys(__NR_close, fd);
	if (!s->program.interp[0])
		return;
	fd = (int)sys(__NR_openat, AT_FDCWD, s->program.interp, O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? fd : elf_load(fd, &s->interp);
	if (r)
		fail(s, s->program.interp, r);
	sys(__NR_close, fd);
}

/* Builds argc, argv, envp and auxv as the kernel lays them out, below the engine's own. */
static uint64_t build_stack(const struct start *s)
{
	unsigned own = s->nprepend ? s->nprepend + 1 : 0;
	long given = s->argc - (own ? 1 : 0); /* a script's argv[0] is replaced by its path */
	uint64_t words = 1 + own + (uint64_t)given + 1 + s->nenv + 1 + 2ull * s->naux;
	uint64_t *at = (uint64_t *)((s->sp - words * 8) & ~15ul), *p = at;

	*p++ = own + (uint64_t)given;
	if (own) {
		*p++ = (uint64_t)s->path;
		for (unsigned i = s->nprepend; i > 0; i--)
			*p++ = (uint64_t)s->prepend[i - 1];
	}
	for (long i = own ? 1 : 0; i < s->argc; i++)
		*p++ = (uint64_t)s->argv[i];
	*p++ = 0;
	for (unsigned i = 0; i < s->nenv; i++)
		*p++ = (uint64_t)s->envp[i];
	*p++ = 0;
	for (unsigned i = 0; i < s->naux; i++) {
		uint64_t type = s->auxv[2 * i], v = s->auxv[2 * i + 1];

		switch (type) {
		case AT_PHDR:
			v = s->program.phdr;
			break;
		case AT_PHENT:
			v = s->program.phent;
			break;
		case AT_PHNUM:
			v = s->program.phnum;
			break;
		case AT_BASE:
			v = s->interp.base;
			break;
		case AT_ENTRY:
			v = s->program.entry;
			break;
		case AT_EXECFN:
			v = (uint64_t)(s->nprepend ? s->prepend[0] : s->path);
			break;
		default:
			break;
		}
		*p++ = type;
		*p++ = v;
	}
	return (uint64_t)at;
}

static void allow_stack_code(uint64_t sp)
{
	sys(__NR_mprotect, sp & ~4095ul, 4096, PROT_READ | PROT_WRITE | PROT_EXEC | PROT_GROWSDOWN);
}

static void go(void *arg)
{
	struct thread *t = self();
	struct start *s = arg;

	load(s);
	if (s->argc)
		set_arguments((uint64_t)s->argv[0], s->program.heap);
	t->regs[RSP] = build_stack(s);
	t->pc = s->interp.entry ? s->interp.entry : s->program.entry;
	t->flags = 0x202;
	if (s->program.exec_stack)
		allow_stack_code(t->regs[RSP]);
	edges_note(EXACT_WENT, 0, 0, t->pc);
	dispatch(t);
}

void rt_start(uint64_t *sp)
{
	static struct start s;
	const char *no_fsgsbase;
	struct thread *t;

	parse_stack(&s, sp);
	if (s.argc < 3) {
		say("usage: assay-exact -- CMD [ARGS...]");
		sys(__NR_exit_group, 2);
	}
	no_fsgsbase = env(&s, "ASSAY_EXACT_NO_FSGSBASE");
	has_fsgsbase =
		aux(&s, AT_HWCAP2) & HWCAP2_FSGSBASE && (!no_fsgsbase || !strcmp(no_fsgsbase, "0"));
	publish_init();
	t = thread_new();
	set_self(t);
	t->tid = (int)sys(__NR_gettid);
	cache_init();
	decode_init();
	signals_init();
	signals_thread(t);
	if (starts_with(s.argv[1], "--exec=") || starts_with(s.argv[1], "--search=")) {
		log_init(s.argv[1] + (s.argv[1][2] == 'e' ? 7 : 9));
		log_thread(t);
		if (lines_observed())
			lines_init(t);
		if (phases_on())
			phases_init(t);
	}
	if (log_fd >= 0)
		schedule_init(t);
	if (log_observed & EXACT_COUNTS)
		edges_init();
	if (schedule_on || !counting())
		cache_direct_init();
	s.searched = !starts_with(s.argv[1], "--exec");
	if (!strcmp(s.argv[1], "--")) {
		s.path = search(&s, s.argv[2]);
		s.argv += 2;
		s.argc -= 2;
	} else {
		s.path = s.searched ? search(&s, s.argv[2]) : s.argv[2];
		s.argv += 3;
		s.argc -= 3;
	}
	rt_call_on((uint64_t)t + T_STACK_TOP, go, &s);
}
