/* SPDX-License-Identifier: MIT */
#include "oracle/singlestep.h"
#include "oracle/step.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORTED \
	(PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | \
	 PTRACE_O_TRACEVFORK)

/* Addresses of one process, from one change of its mappings to the next. */
struct map {
	uint64_t from, to, offset;
	char name[256];
	struct map *next;
};
struct space {
	unsigned users, generation;
	struct map *maps;
};
static unsigned generations;

/* Sites by (generation, address). */
struct slot {
	uint64_t pc;
	unsigned generation;
	struct step_site *site;
};
static struct slot *slots;
static size_t nslots, nused;
static uint64_t total;

struct thread {
	int tid, pid;
	struct space *space;
	struct user_regs_struct regs; /* where it stands */
	struct step_site *last, *at;  /* executed last; stepped now */
	int signal;		      /* to be delivered by the next step */
	bool enters;		      /* … which enters its handler */
	bool in_kernel;		      /* stopped inside a system call that has been counted */
	struct thread *next;
};
static struct thread *threads;

static void *must(void *p)
{
	if (!p) {
		fprintf(stderr, "step: no memory\n");
		exit(125);
	}
	return p;
}

bool step_read(int pid, uint64_t at, void *to, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)at, n };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

uint64_t step_total(void)
{
	return total;
}

/* Where things lie. */

static struct map *map_of(const struct space *s, uint64_t pc)
{
	for (struct map *m = s->maps; m; m = m->next)
		if (pc >= m->from && pc < m->to)
			return m;
	return NULL;
}

static void forget_maps(struct space *s)
{
	while (s->maps) {
		struct map *m = s->maps;

		s->maps = m->next;
		free(m);
	}
	s->generation = ++generations;
}

static struct space *new_space(void)
{
	struct space *s = must(calloc(1, sizeof(*s)));

	s->generation = ++generations;
	return s;
}

static void leave_space(struct space *s)
{
	if (--s->users)
		return;
	forget_maps(s);
	free(s);
}

static void read_maps(struct space *s, int pid)
{
	char path[64], line[1024];
	unsigned generation = s->generation;
	FILE *f;

	forget_maps(s);
	s->generation = generation;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		struct map m = { 0 };

		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %255[^\n]", &m.from, &m.to, &m.offset,
			   m.name) < 3)
			continue;
		m.next = s->maps;
		s->maps = must(malloc(sizeof(m)));
		*s->maps = m;
	}
	if (f)
		fclose(f);
}

/* The file's address of an offset in it: its segment's. */
static uint64_t elf_address(const char *path, uint64_t offset)
{
	uint64_t addr = offset;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf)
		elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_X &&
		    offset >= (p.p_offset & ~0xfffull) && offset < p.p_offset + p.p_filesz)
			addr = offset - p.p_offset + p.p_vaddr;
	}
	elf_end(elf);
	close(fd);
	return addr;
}

static struct step_site *new_site(struct space *space, int pid, uint64_t pc)
{
	struct step_site *s = must(calloc(1, sizeof(*s)));
	struct map *m = map_of(space, pc);

	if (!m) {
		read_maps(space, pid);
		m = map_of(space, pc);
	}
	s->pc = s->addr = pc;
	s->object = STEP_ANON;
	if (m && !strcmp(m->name, "[vdso]")) {
		s->object = "[vdso]";
		s->addr = pc - m->from;
	} else if (m && m->name[0] == '/' && !strstr(m->name, " (deleted)")) {
		s->object = must(strdup(m->name));
		s->addr = elf_address(m->name, pc - m->from + m->offset);
	} else {
		s->anon = true;
	}
	return s;
}

static struct slot *find_slot(uint64_t pc, unsigned generation)
{
	size_t i = ((pc + generation) * 0x9e3779b97f4a7c15u >> 20) & (nslots - 1);

	while (slots[i].site && (slots[i].pc != pc || slots[i].generation != generation))
		i = (i + 1) & (nslots - 1);
	return &slots[i];
}

static void grow(void)
{
	struct slot *old = slots;
	size_t n = nslots;

	nslots = n ? 2 * n : 1 << 16;
	slots = must(calloc(nslots, sizeof(*slots)));
	for (size_t i = 0; i < n; i++)
		if (old[i].site)
			*find_slot(old[i].pc, old[i].generation) = old[i];
	free(old);
}

static struct step_site *site_of(struct thread *t)
{
	uint64_t pc = t->regs.rip;
	struct slot *s;

	if (2 * nused >= nslots)
		grow();
	s = find_slot(pc, t->space->generation);
	if (!s->site) {
		*s = (struct slot){ pc, t->space->generation, new_site(t->space, t->pid, pc) };
		nused++;
	}
	if (!s->site->in.len || s->site->anon) {
		uint8_t bytes[INSN_MAX_LEN] = { 0 };
		unsigned n = sizeof(bytes);

		while (n && !step_read(t->pid, pc, bytes, n))
			n--;
		s->site->in.len = 0;
		if (n)
			insn_decode(&s->site->in, bytes, n, s->site->addr);
	}
	return s->site;
}

void step_sites(void (*f)(void *ctx, struct step_site *s), void *ctx)
{
	for (size_t i = 0; i < nslots; i++)
		if (slots[i].site)
			f(ctx, slots[i].site);
}

/* Threads. */

static struct thread *thread_find(int tid)
{
	for (struct thread *t = threads; t; t = t->next)
		if (t->tid == tid)
			return t;
	return NULL;
}

static void thread_drop(int tid)
{
	for (struct thread **p = &threads; *p; p = &(*p)->next)
		if ((*p)->tid == tid) {
			struct thread *t = *p;

			*p = t->next;
			leave_space(t->space);
			free(t);
			return;
		}
}

static struct thread *thread_add(int tid, int pid, struct space *space)
{
	struct thread *t = must(calloc(1, sizeof(*t)));

	t->tid = tid;
	t->pid = pid;
	t->space = space;
	space->users++;
	t->next = threads;
	threads = t;
	return t;
}

static uint64_t status_field(int tid, const char *format)
{
	char path[64], line[256];
	uint64_t v = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, format, &v) == 1)
			break;
	if (f)
		fclose(f);
	return v;
}

/* The signal that this stop would deliver; 0 if it is of the step. */
static int signal_of(int tid, int status)
{
	siginfo_t info;

	if (WSTOPSIG(status) != SIGTRAP)
		return WSTOPSIG(status);
	if (status >> 16 || ptrace(PTRACE_GETSIGINFO, tid, 0, &info) < 0)
		return 0;
	if (single_step_own(&info))
		return 0;
	return info.si_code == SI_KERNEL || info.si_code <= 0 ? SIGTRAP : 0;
}

static bool is_repeated(const struct insn *in)
{
	return in->z.attributes &
	       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static void executed(const struct step_options *o, struct thread *t,
		     const struct user_regs_struct *after)
{
	struct step_site *s = t->at;
	struct step step = { t->pid, t->tid, s, &t->regs, after, false };

	step.again = s == t->last && !o->rounds && is_repeated(&s->in);
	t->last = s;
	if (o->done)
		o->done(o->ctx, &step);
	if (step.again)
		return;
	total++;
	s->count++;
	if (s->in.cls == INSN_BRANCH && after && after->rip != t->regs.rip + s->in.len)
		s->taken++;
	if (s->in.cls == INSN_SYSCALL && (t->regs.rax == SYS_munmap || t->regs.rax == SYS_mremap))
		forget_maps(t->space);
}

static int resume(const struct step_options *o, struct thread *t)
{
	struct step step = { t->pid, t->tid, NULL, &t->regs, NULL, false };

	t->at = t->in_kernel ? NULL : site_of(t);
	t->enters = t->signal && status_field(t->tid, "SigCgt: %lx") >> (t->signal - 1) & 1;
	step.site = t->at;
	if (o->ahead && t->at && !t->enters)
		o->ahead(o->ctx, &step);
	return single_step(t->pid, t->tid, &t->regs, t->signal) < 0 && errno != ESRCH ? -1 : 0;
}

/* A new thread or process, from its parent's stop. */
static void born(struct thread *parent, int kind)
{
	unsigned long tid = 0;
	struct space *space;
	int pid;

	ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &tid);
	if (!tid || thread_find((int)tid))
		return;
	pid = (int)status_field((int)tid, "Tgid: %lu");
	space = kind == PTRACE_EVENT_VFORK || pid == parent->pid ? parent->space : new_space();
	thread_add((int)tid, pid, space)->in_kernel = false;
}

static void stopped(const struct step_options *o, struct thread *t, int status)
{
	int event = status >> 16;
	struct user_regs_struct now;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &now) < 0)
		return;
	if (event) {
		if (event == PTRACE_EVENT_EXEC) {
			if (t->at)
				executed(o, t, NULL);
			leave_space(t->space);
			t->space = new_space();
			t->space->users++;
			t->pid = t->tid;
			t->last = NULL;
		} else {
			if (t->at && !t->in_kernel)
				executed(o, t, &now);
			born(t, event);
		}
		t->at = NULL;
		t->in_kernel = true; /* what stops next is the end of the same call */
		t->signal = 0;
		t->regs = now;
		return;
	}
	t->signal = signal_of(t->tid, status);
	if (t->at && !t->enters && (!t->signal || now.rip != t->regs.rip))
		executed(o, t, &now);
	if (!t->signal || now.rip != t->regs.rip)
		t->in_kernel = false;
	t->regs = now;
}

static void ended(const struct step_options *o, struct thread *t)
{
	if (t->at && !t->in_kernel && t->at->in.cls == INSN_SYSCALL) /* one that does not return */
		executed(o, t, NULL);
	thread_drop(t->tid);
}

static int step_through(const struct step_options *o, struct thread *first)
{
	int main_tid = first->tid, result = -1, status, early[64], nearly = 0;

	if (resume(o, first))
		return -1;
	while (threads) {
		int tid = waitpid(-1, &status, __WALL);
		struct thread *t = tid > 0 ? thread_find(tid) : NULL;

		if (tid < 0)
			break;
		if (!WIFSTOPPED(status)) {
			if (tid == main_tid)
				result = status;
			if (t)
				ended(o, t);
			continue;
		}
		if (!t) { /* stopped before its parent said so */
			if (nearly < 64)
				early[nearly++] = tid;
			continue;
		}
		if (!t->at && !t->in_kernel) { /* its first stop */
			ptrace(PTRACE_GETREGS, tid, 0, &t->regs);
		} else {
			stopped(o, t, status);
		}
		resume(o, t);
		for (int i = 0; i < nearly; i++) {
			struct thread *n = thread_find(early[i]);

			if (!n)
				continue;
			early[i--] = early[--nearly];
			ptrace(PTRACE_GETREGS, n->tid, 0, &n->regs);
			resume(o, n);
		}
	}
	return result;
}

/* The address of a symbol, or the entry, in the process: the executable's first mapping is its base. */
static uint64_t address_of(int pid, const char *symbol)
{
	char path[64], target[4096], line[1024];
	uint64_t value = 0, base = 0, lowest = ~0ull;
	ssize_t n;
	GElf_Ehdr header;
	size_t phnum = 0;
	Elf *elf;
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, target, sizeof(target) - 1);
	fd = open(path, O_RDONLY);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (n <= 0 || !elf || !gelf_getehdr(elf, &header))
		return 0;
	target[n] = 0;
	if (!symbol)
		value = header.e_entry;
	for (Elf_Scn *s = NULL; symbol && (s = elf_nextscn(elf, s));) {
		GElf_Shdr section;
		Elf_Data *data;
		GElf_Sym sym;

		if (!gelf_getshdr(s, &section) ||
		    (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(s, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(elf, section.sh_link, sym.st_name);

			if (name && sym.st_value && sym.st_shndx != SHN_UNDEF &&
			    !strcmp(name, symbol))
				value = sym.st_value;
		}
	}
	elf_getphdrnum(elf, &phnum);
	for (size_t i = 0; i < phnum; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && p.p_vaddr < lowest)
			lowest = p.p_vaddr & ~0xfffull;
	}
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, target)) {
			base = strtoull(line, NULL, 16);
			break;
		}
	if (f)
		fclose(f);
	elf_end(elf);
	close(fd);
	return value ? base - lowest + value : 0;
}

static int run_to(int pid, uint64_t address)
{
	long word = ptrace(PTRACE_PEEKTEXT, pid, address, 0);
	int status;
	struct user_regs_struct r;

	ptrace(PTRACE_POKETEXT, pid, address, (word & ~0xffl) | 0xcc);
	do {
		ptrace(PTRACE_CONT, pid, 0, 0);
		if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status) ||
		    ptrace(PTRACE_GETREGS, pid, 0, &r) < 0)
			return -1;
	} while (WSTOPSIG(status) != SIGTRAP || r.rip != address + 1);
	ptrace(PTRACE_POKETEXT, pid, address, word);
	r.rip = address;
	ptrace(PTRACE_SETREGS, pid, 0, &r);
	return 0;
}

int step_run(const struct step_options *o, char **argv)
{
	struct thread *t;
	int pid = fork(), status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[0], argv);
		fprintf(stderr, "step: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	if (!WIFSTOPPED(status))
		return status;
	if (!o->start || strcmp(o->start, "_")) {
		uint64_t start = address_of(pid, o->start);

		ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL);
		if (!start || run_to(pid, start)) {
			fprintf(stderr, "step: %s: not reached\n",
				o->start ? o->start : "the entry");
			return -1;
		}
	}
	ptrace(PTRACE_SETOPTIONS, pid, 0, REPORTED);
	t = thread_add(pid, pid, new_space());
	ptrace(PTRACE_GETREGS, pid, 0, &t->regs);
	return step_through(o, t);
}
