/* SPDX-License-Identifier: MIT */
#include "estimate/mca.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/privilege.h"
#include "cpu/models.h"
#include "x86/insn.h"
#include "x86/uop.h"

#define UNIT_LEAST 0.5 /* cycles of waiting for a unit that count as waiting */
#define CYCLES_MAX 1e6 /* largest accepted cycles of a block */
#define OUTPUT_MAX (1ULL << 30)
#define MEMORY_MAX (4ULL << 30)
/* instructions given to one process; starting a process costs as much as some 300 */
#define JOB_INSNS 1500
#define PROCESSES 4 /* processes that run at a time */
#define AGAIN 64    /* processes that may be started again because others died */

/* Writing the question. */

/* Writes the pushed or popped operand as text; false if it is no general register or number of
 * 64 bits. */
static bool pushed(const struct insn *in, char *text, size_t n)
{
	const ZydisDecodedOperand *o = &in->op[0];

	if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && in->z.operand_width == 64)
		return snprintf(text, n, "1") > 0;
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_GPR64 &&
	       snprintf(text, n, "%s", ZydisRegisterGetString(o->reg.value)) > 0;
}

/*
 * Writes an instruction, replacing those that llvm-mca models badly by what the CPU makes of them.
 * Calls and returns would take a hundred cycles: they are written as their memory accesses, an
 * indirect call also as its load. A pop would wait for the popped value before it knows the new
 * stack pointer, five cycles for each pop, while a CPU's front end tracks the stack pointer: pushes
 * and pops are written as stores and loads. A branch that fuses with the instruction before it is
 * written as a nop, which occupies no unit. What clears a register is written as a setting, where
 * the model does not know that it depends on nothing.
 */
static void write_insn(FILE *to, const struct insn *in, const ZydisFormatter *f)
{
	static const char indirect[] = "call qword ptr ";
	const size_t known = sizeof(indirect) - 1;
	char text[256] = "", what[64] = "rax";

	ZydisFormatterFormatInstruction(f, &in->z, in->op, in->z.operand_count_visible, text,
					sizeof(text), ZYDIS_RUNTIME_ADDRESS_NONE, NULL);
	if (in->cls == INSN_ICALL && strncmp(text, indirect, known) == 0)
		fprintf(to, "mov r11, qword ptr %s\n", text + known);
	else if (in->cls == INSN_CALL || in->cls == INSN_ICALL ||
		 (in->z.mnemonic == ZYDIS_MNEMONIC_PUSH && pushed(in, what, sizeof(what))))
		fprintf(to, "mov qword ptr [rsp], %s\n", what);
	else if (in->cls == INSN_RET)
		fputs("mov r11, qword ptr [rsp]\n", to);
	else if (in->z.mnemonic == ZYDIS_MNEMONIC_POP && pushed(in, what, sizeof(what)))
		fprintf(to, "mov %s, qword ptr [rsp]\n", what);
	else if (in->cls == INSN_BRANCH || in->cls == INSN_JUMP)
		fprintf(to, "%s elsewhere\n", ZydisMnemonicGetString(in->z.mnemonic));
	else
		fprintf(to, "%s\n", text);
}

static uint32_t registers(uint16_t general, uint16_t vectors)
{
	return general | (uint32_t)vectors << SCHEDULE_VECTORS;
}

/*
 * Registers, one bit each as in `carried`, that the block reads before it changes them and that
 * are not as its last execution left them. rsp is not among them, and effects of calls are ignored.
 */
static uint32_t registers_set(const struct schedule_block *b)
{
	uint32_t written = 1u << UR_RSP, read = 0, changed = 0;
	size_t at = 0;

	for (unsigned i = 0; i < b->n && b->carried != SCHEDULE_LOOP; i++) {
		struct insn in;
		int len = insn_decode(&in, b->code + at, b->size - at, b->addr + at);

		if (!len)
			break;
		if (in.cls != INSN_CALL && in.cls != INSN_ICALL && in.cls != INSN_RET) {
			read |= registers(in.gpr_read, insn_vectors_read(&in)) & ~written;
			changed |= registers(in.gpr_written, insn_vectors_written(&in));
			written |= changed;
		}
		at += (size_t)len;
	}
	return read & changed & ~b->carried;
}

/* Returns how many instructions in front of the block's set those registers. */
static unsigned settings(const struct schedule_block *b)
{
	return (unsigned)__builtin_popcount(registers_set(b));
}

static bool is_avx(const struct insn *in)
{
	return in->z.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
	       in->z.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
}

/* Whether the block has AVX instructions, which read more of a register than SSE ones set. */
static bool uses_avx(const struct schedule_block *b)
{
	struct insn in;
	size_t at = 0;
	int len;

	for (unsigned i = 0; i < b->n; i++, at += (size_t)len) {
		len = insn_decode(&in, b->code + at, b->size - at, b->addr + at);
		if (!len)
			return false;
		if (is_avx(&in))
			return true;
	}
	return false;
}

/* Writes instructions that set registers: one bit each, as in `carried`. */
static void write_settings(FILE *to, uint32_t set, bool avx)
{
	for (unsigned r = UR_RAX; r <= UR_R15; r++)
		if (set >> r & 1)
			fprintf(to, "mov %s, 1\n",
				ZydisRegisterGetString((ZydisRegister)(ZYDIS_REGISTER_EAX + r)));
	for (unsigned r = 0; r < 16; r++)
		if (set >> (SCHEDULE_VECTORS + r) & 1)
			fprintf(to, "%smovaps xmm%u, xmmword ptr [rsp]\n", avx ? "v" : "", r);
}

static void write_block(FILE *to, const struct schedule_block *b, size_t name,
			const ZydisFormatter *f, bool idioms)
{
	uint32_t set = registers_set(b);
	struct insn before;
	size_t at = 0;

	fprintf(to, "# LLVM-MCA-BEGIN %zu\n", name);
	if (set)
		write_settings(to, set, set >> SCHEDULE_VECTORS && uses_avx(b));
	for (unsigned i = 0; i < b->n; i++) {
		struct insn in;
		int len = insn_decode(&in, b->code + at, b->size - at, b->addr + at);

		if (!len)
			break;
		if (i && insn_fuses(&before, &in))
			fputs("nop\n", to);
		else if (idioms && insn_clears(&in))
			write_settings(to, registers(in.gpr_written, insn_vectors_written(&in)),
				       is_avx(&in));
		else
			write_insn(to, &in, f);
		before = in;
		at += (size_t)len;
	}
	fprintf(to, "# LLVM-MCA-END\n");
}

static bool is_asked(const struct schedule_block *b)
{
	return b->n && b->n <= SCHEDULE_BLOCK_MAX && !b->cold && !b->known;
}

void mca_write(FILE *to, const struct schedule_block *v, size_t n, const struct cpu_model *m)
{
	ZydisFormatter f;

	ZydisFormatterInit(&f, ZYDIS_FORMATTER_STYLE_INTEL);
	ZydisFormatterSetProperty(&f, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE);
	fputs(".intel_syntax noprefix\n", to);
	for (size_t i = 0; i < n; i++)
		if (is_asked(&v[i]))
			write_block(to, &v[i], i, &f, m->idioms);
}

/* Reading the answer. */

struct moment { /* cycles of one execution */
	double dispatched, ready, issued, executed, retired;
};

static bool read_number(const json_t *o, const char *key, double *to)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v))
		return false;
	*to = (double)json_integer_value(v);
	return *to >= 0 && *to < CYCLES_MAX * MCA_ITERATIONS;
}

static bool read_moment(const json_t *o, struct moment *m)
{
	return read_number(o, "CycleDispatched", &m->dispatched) &&
	       read_number(o, "CycleReady", &m->ready) &&
	       read_number(o, "CycleIssued", &m->issued) &&
	       read_number(o, "CycleExecuted", &m->executed) &&
	       read_number(o, "CycleRetired", &m->retired);
}

/* Whether b reads a register that a writes. */
static bool feeds(const struct insn *a, const struct insn *b)
{
	if ((a->gpr_written & b->gpr_read) || (a->fl_written & b->fl_read))
		return true;
	for (unsigned i = 0; a->vector && i < a->z.operand_count; i++)
		for (unsigned j = 0; b->vector && j < b->z.operand_count; j++)
			if (a->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    b->op[j].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    (a->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
			    (b->op[j].actions & ZYDIS_OPERAND_ACTION_MASK_READ) &&
			    a->op[i].reg.value == b->op[j].reg.value)
				return true;
	return false;
}

static bool decode_at(const struct schedule_block *b, unsigned i, struct insn *in)
{
	size_t at = 0;

	for (unsigned k = 0; k <= i; k++) {
		int len = insn_decode(in, b->code + at, b->size - at, b->addr + at);

		if (!len)
			return false;
		at += (size_t)len;
	}
	return true;
}

/* Whether the i-th instruction may wait for the k-th before it, whether or not that feeds it;
 * for an instruction of the execution before only by registers. */
static bool may_wait(const struct schedule_block *b, unsigned i, unsigned k, bool depends,
		     const struct insn *from, const struct insn *to)
{
	if (k > i && b->carried != SCHEDULE_LOOP)
		return depends && (from->gpr_written & to->gpr_read & b->carried);
	return !depends || feeds(from, to);
}

/* Finds the instruction that the i-th of the last iteration waited for. m is the moment of the
 * i-th; earlier moments precede it, with `set` other instructions between those of successive
 * iterations. */
static void find_cause(struct schedule_block *b, unsigned i, const struct moment *m, unsigned set)
{
	struct schedule_insn *s = &b->insn[i];
	bool depends = m->ready > m->dispatched;
	double until = depends ? m->ready : m->issued;
	struct insn to, from;

	s->why = SCHEDULE_LATENCY;
	s->cause = (int32_t)i;
	if ((!depends && m->issued <= m->ready) || !decode_at(b, i, &to))
		return;
	for (unsigned k = 1; k <= b->n; k++) {
		const struct moment *e = m - k - (k > i ? set : 0);
		unsigned j = (i + b->n - k) % b->n;
		bool fits = depends ? e->executed + 1 >= until && e->executed <= until
				    : e->issued >= m->ready && e->issued < until;

		if (!fits || !decode_at(b, j, &from) || !may_wait(b, i, k, depends, &from, &to))
			continue;
		s->cause = (int32_t)j;
		s->why = depends ? SCHEDULE_DEPENDENCE : SCHEDULE_UNIT;
		return;
	}
}

/* Whether an instruction that takes most of a cycle or more takes it because others are before
 * it at the unit: where nothing waits, several instructions retire in a cycle. */
static bool waits_for_unit(const struct schedule_insn *s, const struct moment *m)
{
	return s->least > UNIT_LEAST && m->ready <= m->dispatched && m->issued > m->ready;
}

static void take(struct schedule_block *b, const struct moment *m)
{
	const unsigned half = MCA_ITERATIONS / 2, first = settings(b), n = first + b->n;
	const unsigned last = (MCA_ITERATIONS - 1) * n + first;

	for (unsigned i = 0; i < b->n; i++) {
		double sum = 0;

		for (unsigned k = half; k < MCA_ITERATIONS; k++) {
			const struct moment *at = &m[k * n + first + i];

			sum += fmax(0, at->retired - at[-1].retired);
		}
		b->insn[i] = (struct schedule_insn){ .least = (float)(sum / half), .cause = -1 };
		if (b->insn[i].least > 1 || waits_for_unit(&b->insn[i], &m[last + i]))
			find_cause(b, i, &m[last + i], first);
		b->insn[i].latency = (uint8_t)fmin(
			UINT8_MAX, fmax(0, m[last + i].executed - m[last + i].issued));
	}
	b->modelled = true;
}

/* True if the region is one of ours, as it was written. */
static bool take_region(const json_t *region, struct schedule_block *v, size_t n)
{
	const char *name = json_string_value(json_object_get(region, "Name"));
	const json_t *insns = json_object_get(region, "Instructions");
	const json_t *list =
		json_object_get(json_object_get(region, "TimelineView"), "TimelineInfo");
	struct moment *m;
	struct schedule_block *b;
	char *end = NULL;
	size_t index = name ? strtoull(name, &end, 10) : n, asked, total;

	if (!name || end == name || *end || index >= n)
		return false;
	b = &v[index];
	asked = (size_t)b->n + settings(b);
	total = asked * MCA_ITERATIONS;
	if (!b->n || b->n > SCHEDULE_BLOCK_MAX || json_array_size(insns) != asked ||
	    json_array_size(list) != total)
		return false;
	m = calloc(total, sizeof(*m));
	for (size_t i = 0; m && i < total; i++)
		if (!read_moment(json_array_get(list, i), &m[i])) {
			free(m);
			return false;
		}
	if (m)
		take(b, m);
	free(m);
	return m != NULL;
}

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && strchr(" \t\r\n,", *p) && *p)
		p++;
	return p;
}

/* Parses one region at a time, so that memory holds only one. */
long mca_parse(const char *text, size_t size, struct schedule_block *v, size_t n, struct err *err)
{
	static const char key[] = "\"CodeRegions\"";
	const char *end = text + size, *p = memmem(text, size, key, strlen(key));
	long modelled = 0;

	p = p ? memchr(p, '[', (size_t)(end - p)) : NULL;
	if (!p)
		return err_set(err, ERR_FAILED, "llvm-mca's answer has no regions");
	for (p = skip_space(p + 1, end); p < end && *p == '{'; p = skip_space(p, end)) {
		json_error_t e;
		json_t *region = json_loadb(p, (size_t)(end - p),
					    JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &e);

		if (!region)
			return err_set(err, ERR_FAILED, "llvm-mca's answer is no JSON: %s", e.text);
		modelled += take_region(region, v, n);
		p += e.position;
		json_decref(region);
	}
	return modelled;
}

/* The child process. */

/* Versions of llvm-mca, best first. Versions before 19 have no model of recent CPUs, and some of them crash on an instruction
 * without a model, such as push fs. */
static const char *const programs[] = { "/usr/bin/llvm-mca-19", "/usr/bin/llvm-mca-20",
					"/usr/bin/llvm-mca-21", "/usr/bin/llvm-mca-22" };

const char *mca_program(const struct schedule_options *o)
{
	if (o->program)
		return o->program;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (access(programs[i], X_OK) == 0)
			return programs[i];
	return NULL;
}

static void limit(int what, rlim_t most)
{
	struct rlimit l = { .rlim_cur = most, .rlim_max = most };

	setrlimit(what, &l);
}

/* Reads text of instructions and writes text: the child may do nothing else. */
static void child(const char *program, const char *model, int in, int out, unsigned seconds)
{
	unsigned width = cpu_model(model, NULL)->dispatch;
	char mcpu[64], iterations[32], most[64], dispatch[32];
	char *argv[] = { (char *)"llvm-mca",
			 (char *)"-mtriple=x86_64",
			 mcpu,
			 iterations,
			 most,
			 (char *)"-timeline-max-cycles=0",
			 (char *)"-timeline",
			 (char *)"-json",
			 (char *)"-resource-pressure=0",
			 (char *)"-instruction-info=0",
			 (char *)"-summary-view=0",
			 (char *)"-skip-unsupported-instructions=any",
			 width ? dispatch : (char *)"-",
			 width ? (char *)"-" : NULL,
			 NULL };
	char *env[] = { (char *)"LC_ALL=C", NULL };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	snprintf(mcpu, sizeof(mcpu), "-mcpu=%s", model);
	snprintf(dispatch, sizeof(dispatch), "-dispatch=%u", width);
	snprintf(iterations, sizeof(iterations), "-iterations=%d", MCA_ITERATIONS);
	snprintf(most, sizeof(most), "-timeline-max-iterations=%d", MCA_ITERATIONS);
	if (null < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0)
		_exit(127);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!privilege_become_nobody())
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* changing the user clears this setting */
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_CPU, seconds + 1);
	limit(RLIMIT_FSIZE, OUTPUT_MAX);
	limit(RLIMIT_AS, MEMORY_MAX);
	syscall(SYS_close_range, 3U, ~0U, 0U);
	execve(program, argv, env);
	_exit(127);
}

/* A process and the blocks that it is asked about: v[0 .. n). */
struct job {
	struct schedule_block *v;
	size_t n;
	int in, out; /* -1: none */
	pid_t pid;   /* 0: none */
};

/* Returns 1 with err set if the process died of a signal. */
static int wait_for(struct job *j, unsigned timeout_ms, const char *program, struct err *err)
{
	int fd = (int)syscall(SYS_pidfd_open, j->pid, 0), status = 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int rc;

	do
		rc = fd < 0 ? 1 : poll(&p, 1, (int)timeout_ms);
	while (rc < 0 && errno == EINTR);
	if (rc == 0)
		kill(j->pid, SIGKILL);
	if (fd >= 0)
		close(fd);
	while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR)
		;
	j->pid = 0;
	if (rc == 0)
		return err_set(err, ERR_FAILED, "%s took more than %u s", program,
			       timeout_ms / 1000);
	if (WIFSIGNALED(status)) {
		err_set(err, ERR_FAILED, "%s died of signal %d", program, WTERMSIG(status));
		return 1;
	}
	return 0; /* unknown instructions make llvm-mca fail after it has answered */
}

static int ask(const struct schedule_block *v, size_t n, const struct schedule_options *o, int *in)
{
	int fd;
	FILE *f;

	*in = memfd_create("assay-mca-in", MFD_CLOEXEC);
	fd = *in < 0 ? -1 : dup(*in);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return -1;
	mca_write(f, v, n, cpu_model(schedule_model(o->cpu), o->cpu));
	if (fclose(f) != 0)
		return -1;
	return lseek(*in, 0, SEEK_SET) < 0 ? -1 : 0;
}

static long answer(const struct job *j, const char *program, struct err *err)
{
	struct stat st;
	char *text;
	long done;

	if (fstat(j->out, &st) || st.st_size <= 0)
		return err_set(err, ERR_FAILED, "%s gave no answer", program);
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, j->out, 0);
	if (text == MAP_FAILED)
		return err_sys(err, "reading the answer of %s", program);
	done = mca_parse(text, (size_t)st.st_size, j->v, j->n, err);
	munmap(text, (size_t)st.st_size);
	return done;
}

static int start(struct job *j, const char *program, const struct schedule_options *o,
		 unsigned timeout, struct err *err)
{
	j->out = memfd_create("assay-mca-out", MFD_CLOEXEC);
	if (j->out < 0 || ask(j->v, j->n, o, &j->in))
		return err_sys(err, "asking %s", program);
	j->pid = fork();
	if (j->pid == 0)
		child(program, schedule_model(o->cpu), j->in, j->out, timeout / 1000);
	if (j->pid > 0)
		return 0;
	j->pid = 0;
	return err_sys(err, "running %s", program);
}

static void end(struct job *j)
{
	if (j->pid) {
		kill(j->pid, SIGKILL);
		while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (j->in >= 0)
		close(j->in);
	if (j->out >= 0)
		close(j->out);
	*j = (struct job){ .in = -1, .out = -1 };
}

static size_t insns_asked(const struct schedule_block *v, size_t n)
{
	size_t insns = 0;

	for (size_t i = 0; i < n; i++)
		insns += is_asked(&v[i]) ? v[i].n : 0;
	return insns;
}

/* Divides n blocks into at most `jobs` parts of about as many instructions each. Returns the
 * number of parts; each has something to ask. */
static size_t divide(struct job *job, size_t jobs, struct schedule_block *v, size_t n)
{
	size_t left = insns_asked(v, n), k = 0;

	for (; k < jobs && left; k++) {
		size_t insns = 0, i = 0;

		while (i < n && (k + 1 == jobs || insns < left / (jobs - k))) {
			insns += is_asked(&v[i]) ? v[i].n : 0;
			i++;
		}
		job[k] = (struct job){ .v = v, .n = i, .in = -1, .out = -1 };
		v += i;
		n -= i;
		left -= insns;
	}
	return k;
}

static unsigned timeout_of(const struct schedule_options *o)
{
	return o->timeout_ms ? o->timeout_ms : 60000;
}

static size_t processors(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n < PROCESSES ? (size_t)n : PROCESSES;
}

static long again(struct job *j, unsigned *tries, const char *program,
		  const struct schedule_options *o, struct err *err);

/* Takes the answer of a process that has ended; *died is true if there is none, because one of
 * its blocks made llvm-mca crash. */
static long take_answer(struct job *j, bool died, unsigned *tries, const char *program,
			const struct schedule_options *o, struct err *err)
{
	long n = died ? again(j, tries, program, o, err) : answer(j, program, err);

	end(j);
	return n;
}

/* Asks again in halves about the blocks of a process that died, until the fatal block is alone
 * and gets its schedule from the table. err: why it died; left set if too many died. */
static long again(struct job *j, unsigned *tries, const char *program,
		  const struct schedule_options *o, struct err *err)
{
	long done = 0;

	for (size_t part = 0; part < 2 && j->n > 1; part++) {
		size_t half = j->n / 2;
		struct job h = { .v = part ? j->v + half : j->v,
				 .n = part ? j->n - half : half,
				 .in = -1,
				 .out = -1 };
		unsigned timeout = timeout_of(o);
		long n;
		int rc;

		if (!insns_asked(h.v, h.n))
			continue;
		if (!*tries)
			return -1;
		--*tries;
		rc = start(&h, program, o, timeout, err) ? -1 : wait_for(&h, timeout, program, err);
		n = rc < 0 ? -1 : take_answer(&h, rc > 0, tries, program, o, err);
		end(&h);
		if (n < 0)
			return -1;
		done += n;
	}
	return done;
}

/* Runs one process for each processor at a time; the next one works before an answer is read.
 * Returns the blocks modelled, or -1 with err set. */
static long run(struct job *job, size_t jobs, const char *program, const struct schedule_options *o,
		struct err *err)
{
	unsigned timeout = timeout_of(o), tries = AGAIN;
	size_t started = 0, most = processors();
	long done = 0;

	for (size_t k = 0; k < jobs; k++) {
		struct err why = { 0 };
		int rc;
		long n;

		for (; started < jobs && started < k + most; started++)
			if (start(&job[started], program, o, timeout, err))
				return -1;
		rc = wait_for(&job[k], timeout, program, &why);
		if (rc >= 0 && started < jobs && start(&job[started++], program, o, timeout, &why))
			rc = -1;
		n = rc < 0 ? -1 : take_answer(&job[k], rc > 0, &tries, program, o, &why);
		if (n < 0) {
			*err = why;
			return -1;
		}
		done += n;
	}
	return done;
}

long mca_run(struct schedule_block *v, size_t n, const struct schedule_options *o, struct err *err)
{
	const char *program = mca_program(o);
	size_t jobs = 1 + insns_asked(v, n) / JOB_INSNS;
	struct job *job;
	long done;

	if (!program) {
		err_set(err, ERR_FAILED,
			"no llvm-mca of LLVM 19 or later: least times are by a coarse table");
		return err_hint(err, "apt-get install llvm-19");
	}
	job = calloc(jobs, sizeof(*job));
	if (!job)
		return err_no_memory(err, "what %s is asked", program);
	jobs = divide(job, jobs, v, n);
	done = run(job, jobs, program, o, err);
	for (size_t k = 0; k < jobs; k++)
		end(&job[k]);
	free(job);
	return done;
}
