/* SPDX-License-Identifier: MIT */
#include "oracle/singlestep.h"
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void forget(struct proc *p)
{
	if (p->mem >= 0)
		close(p->mem);
	free(p->map);
	memset(p, 0, sizeof(*p));
	p->mem = -1;
}

/* Waits for a stop; its signal, or -1 if the program has ended. */
static int wait_stop(struct proc *p)
{
	int status;

	if (waitpid(p->pid, &status, 0) != p->pid || !WIFSTOPPED(status)) {
		forget(p);
		return -1;
	}
	if (ptrace(PTRACE_GETREGS, p->pid, NULL, &p->regs)) {
		proc_kill(p);
		return -1;
	}
	return WSTOPSIG(status);
}

static void become(char **argv)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		execvp(argv[0], argv);
	_exit(127);
}

int proc_start(struct proc *p, char **argv)
{
	char path[64];

	memset(p, 0, sizeof(*p));
	p->mem = -1;
	p->pid = fork();
	if (p->pid < 0)
		return -1;
	if (p->pid == 0)
		become(argv);
	if (wait_stop(p) < 0) {
		errno = ENOEXEC;
		return -1;
	}
	ptrace(PTRACE_SETOPTIONS, p->pid, NULL, (void *)PTRACE_O_EXITKILL);
	snprintf(path, sizeof(path), "/proc/%d/mem", p->pid);
	p->mem = open(path, O_RDONLY | O_CLOEXEC);
	if (p->mem < 0) {
		proc_kill(p);
		return -1;
	}
	return 0;
}

void proc_kill(struct proc *p)
{
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	forget(p);
}

bool proc_run(struct proc *p, uint32_t us)
{
	struct timespec ts = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L };
	int sig = 0;

	ptrace(PTRACE_CONT, p->pid, NULL, NULL);
	nanosleep(&ts, NULL);
	kill(p->pid, SIGSTOP);
	while ((sig = wait_stop(p)) != SIGSTOP) {
		if (sig < 0)
			return false;
		ptrace(PTRACE_CONT, p->pid, NULL, (void *)(intptr_t)(sig == SIGTRAP ? 0 : sig));
	}
	/* a system call that the stop interrupted is begun again first */
	for (int i = 0; (int64_t)p->regs.orig_rax >= 0; i++)
		if (i == 4 || !proc_step(p))
			return false;
	return true;
}

bool proc_step(struct proc *p)
{
	int sig;

	if (single_step(p->pid, p->pid, &p->regs, 0)) {
		proc_kill(p);
		return false;
	}
	sig = wait_stop(p);
	if (sig < 0)
		return false;
	if (sig == SIGTRAP)
		return true;
	single_step(p->pid, p->pid, &p->regs, sig);
	wait_stop(p);
	return false;
}

size_t proc_read(const struct proc *p, uint64_t addr, void *buf, size_t n)
{
	ssize_t k = pread(p->mem, buf, n, (off_t)addr);

	return k < 0 ? 0 : (size_t)k;
}

static void read_maps(struct proc *p)
{
	char path[64], line[512], perm[8];
	struct proc_map m, *map;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
	f = fopen(path, "re");
	p->nmap = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64, &m.start, &m.end, perm,
			   &m.offset) != 4)
			continue;
		m.exec = perm[2] == 'x';
		if (!m.exec)
			continue;
		map = realloc(p->map, (p->nmap + 1) * sizeof(*map));
		if (!map)
			break;
		p->map = map;
		p->map[p->nmap++] = m;
	}
	if (f)
		fclose(f);
}

const struct proc_map *proc_code_at(struct proc *p, uint64_t addr)
{
	for (int again = 0; again < 2; again++) {
		for (uint32_t i = 0; i < p->nmap; i++)
			if (addr >= p->map[i].start && addr < p->map[i].end)
				return &p->map[i];
		if (!again)
			read_maps(p);
	}
	return NULL;
}
