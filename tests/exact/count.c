/* SPDX-License-Identifier: MIT */
/*
 * Counts what a program of one thread executes, by single-stepping it: the truth for small programs.
 *
 * Usage: count [-s SYMBOL] [-o FILE] [-r] [-v] COMMAND ARG…
 *   -s SYMBOL   from the first execution of this symbol of the executable (default: the entry of the program,
 *               which for a dynamic one is after the loader; "_" for the first instruction of all)
 *   -o FILE     a line "COUNT OBJECT OFFSET" for each distinct address, ascending: the file that is mapped
 *               there and the offset in it, or "-" and the address
 *   -r          counts a repeated string instruction once for each round (default: once for each
 *               execution, as processors count retired instructions)
 *   -v          leaves out what runs in the vdso and the loader (ld-linux)
 * On standard error: "instructions N, addresses M". The exit status is the program's, 128 + signal.
 *
 * The kernel reports one step for each round of a repeated string instruction and one for a system call; a
 * step that ends where it began belongs to the same execution. Handlers, forks and threads: a fork's child
 * and a new thread run on uncounted.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Counts by address: open addressing, grown at half full; address 0 is a free slot. */
struct slot {
	uint64_t address, count;
};
static struct slot *slots;
static size_t n_slots, n_used;

static struct slot *find(uint64_t address)
{
	size_t i = (address * 0x9e3779b97f4a7c15u >> 20) & (n_slots - 1);

	while (slots[i].address && slots[i].address != address)
		i = (i + 1) & (n_slots - 1);
	return &slots[i];
}

static void grow(void)
{
	struct slot *old = slots;
	size_t n = n_slots;

	n_slots = n ? 2 * n : 1 << 16;
	slots = calloc(n_slots, sizeof *slots);
	if (!slots)
		abort();
	for (size_t i = 0; i < n; i++)
		if (old[i].address)
			*find(old[i].address) = old[i];
	free(old);
}

static void count(uint64_t address)
{
	struct slot *s;

	if (2 * n_used >= n_slots)
		grow();
	s = find(address);
	if (!s->address) {
		s->address = address;
		n_used++;
	}
	s->count++;
}

/* What is mapped where, newest first: unmapped images stay known. */
struct map {
	uint64_t from, to, offset;
	char name[256];
	struct map *next;
};
static struct map *maps;

static struct map *map_of(uint64_t address)
{
	for (struct map *m = maps; m; m = m->next)
		if (address >= m->from && address < m->to)
			return m;
	return NULL;
}

static void read_maps(int pid)
{
	char path[64], line[1024];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f)) {
		struct map m = { 0 }, *old;
		char mode[8];

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255[^\n]", &m.from, &m.to, mode,
			   &m.offset, m.name) < 4 ||
		    mode[2] != 'x')
			continue;
		old = map_of(m.from);
		if (old && old->from == m.from && !strcmp(old->name, m.name))
			continue;
		m.next = maps;
		maps = malloc(sizeof m);
		if (!maps)
			abort();
		*maps = m;
	}
	if (f)
		fclose(f);
}

/* Whether the address is in code that -v leaves out. */
static int left_out(int pid, uint64_t address)
{
	static struct map *last;
	const char *slash;

	if (!last || address < last->from || address >= last->to) {
		last = map_of(address);
		if (!last) {
			read_maps(pid);
			last = map_of(address);
		}
	}
	if (!last)
		return 0;
	slash = strrchr(last->name, '/');
	return !strcmp(last->name, "[vdso]") || (slash && !strncmp(slash, "/ld-linux", 9));
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

	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	n = readlink(path, target, sizeof target - 1);
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
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
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

static int is_repeated(int pid, uint64_t address)
{
	uint8_t bytes[8] = { 0 };
	struct iovec local = { bytes, sizeof bytes }, remote = { (void *)address, sizeof bytes };
	int rep = 0, i = 0;

	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) < 2)
		return 0;
	for (; i < 6; i++)
		if (bytes[i] == 0xf3 || bytes[i] == 0xf2)
			rep = 1;
		else if (bytes[i] != 0x66 && bytes[i] != 0x67 && (bytes[i] & 0xf0) != 0x40)
			break;
	return rep &&
	       ((bytes[i] >= 0xa4 && bytes[i] <= 0xa7) || (bytes[i] >= 0xaa && bytes[i] <= 0xaf) ||
		(bytes[i] >= 0x6c && bytes[i] <= 0x6f));
}

static uint64_t pc_of(int pid)
{
	return (uint64_t)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), 0);
}

static uint64_t total;
static int rounds, skip_system;

static int is_caught(int pid, int number)
{
	char path[64], line[256];
	uint64_t mask = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "SigCgt: %lx", &mask) == 1)
			break;
	if (f)
		fclose(f);
	return mask >> (number - 1) & 1;
}

/* The signal that this stop would deliver; 0 if it is of the step. */
static int signal_of(int pid, int status)
{
	siginfo_t info;

	if (WSTOPSIG(status) != SIGTRAP)
		return WSTOPSIG(status);
	if (status >> 16 || ptrace(PTRACE_GETSIGINFO, pid, 0, &info) < 0)
		return 0;
	return info.si_code == SI_KERNEL || info.si_code <= 0 ? SIGTRAP : 0;
}

/*
 * Steps to the end; returns the wait status. Not executed, though stepped: an instruction at which a signal
 * arrives or that faults (it stops before it), and the step that enters a handler.
 */
static int step_through(int pid)
{
	uint64_t pc = pc_of(pid), before = 0;
	int status = 0, signal = 0;

	for (;;) {
		int repeated = pc == before && !rounds && is_repeated(pid, pc);
		int out = repeated || (skip_system && left_out(pid, pc));
		int enters = signal && is_caught(pid, signal);

		if (ptrace(PTRACE_SINGLESTEP, pid, 0, signal) < 0 || waitpid(pid, &status, 0) < 0)
			return status;
		if (!WIFSTOPPED(status)) { /* by this instruction: exit */
			if (!out && WIFEXITED(status)) {
				count(pc);
				total++;
			}
			return status;
		}
		signal = signal_of(pid, status);
		if (!enters && (!signal || pc_of(pid) != pc)) {
			if (!out) {
				count(pc);
				total++;
			}
			before = pc;
		}
		pc = pc_of(pid);
	}
}

static int run_to(int pid, uint64_t address)
{
	long word = ptrace(PTRACE_PEEKTEXT, pid, address, 0);
	int status;
	struct user_regs_struct r;

	ptrace(PTRACE_POKETEXT, pid, address, (word & ~0xffl) | 0xcc);
	do {
		ptrace(PTRACE_CONT, pid, 0, 0);
		if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
			return -1;
	} while (WSTOPSIG(status) != SIGTRAP || pc_of(pid) != address + 1);
	ptrace(PTRACE_POKETEXT, pid, address, word);
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	r.rip = address;
	ptrace(PTRACE_SETREGS, pid, 0, &r);
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static int write_counts(const char *file)
{
	FILE *f = fopen(file, "w");

	if (!f)
		return -1;
	qsort(slots, n_slots, sizeof *slots, by_address);
	for (size_t i = 0; i < n_slots; i++) {
		struct map *m = slots[i].address ? map_of(slots[i].address) : NULL;

		if (!slots[i].address)
			continue;
		fprintf(f, "%lu %s %#lx\n", slots[i].count, m && *m->name ? m->name : "-",
			m && *m->name ? slots[i].address - m->from + m->offset : slots[i].address);
	}
	return fclose(f);
}

int main(int argc, char **argv)
{
	const char *symbol = NULL, *file = NULL;
	uint64_t start;
	int o, pid, status;

	while ((o = getopt(argc, argv, "+s:o:rv")) != -1) {
		if (o == 's')
			symbol = optarg;
		else if (o == 'o')
			file = optarg;
		else if (o == 'r')
			rounds = 1;
		else if (o == 'v')
			skip_system = 1;
		else
			return 2;
	}
	if (optind == argc) {
		fprintf(stderr, "usage: count [-s SYMBOL] [-o FILE] [-r] [-v] COMMAND ARG…\n");
		return 2;
	}
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[optind], argv + optind);
		fprintf(stderr, "count: %s: %s\n", argv[optind], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return 127;
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC);
	if (!symbol || strcmp(symbol, "_")) {
		start = address_of(pid, symbol);
		if (!start || run_to(pid, start)) {
			fprintf(stderr, "count: %s: not reached\n", symbol ? symbol : "the entry");
			return 125;
		}
	}
	grow();
	read_maps(pid);
	status = step_through(pid);
	fprintf(stderr, "instructions %lu, addresses %zu\n", total, n_used);
	if (file && write_counts(file)) {
		fprintf(stderr, "count: %s: %s\n", file, strerror(errno));
		return 125;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
