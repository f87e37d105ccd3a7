/* SPDX-License-Identifier: MIT */
/*
 * Checks that in an exact recording as much control reaches each instruction as leaves it.
 *
 * Usage: flow [-t] RECORDING
 *   -t   the recording has all targets of indirect jumps and calls (--observe values, lists long enough), and
 *        they are ELF virtual addresses (a static program that is not position independent)
 *
 * What a recording says of edges: an instruction that falls through passes its executions on to the next one, a
 * branch those that it did not take, and those that it took to its target, direct jumps and calls theirs to
 * their target, a system call to what follows. What is left over at an instruction has come or gone another way:
 *
 *   returns   at what follows a call: from a ret (or longjmp)
 *   entries   at a procedure's first instruction, or at one that nothing executed leads to: by an indirect
 *             jump or call, a signal, or the start of a process. With -t: what no target explains, the starts of
 *             processes and handlers
 *   starts    after a system call: a fork's child, or what sigreturn returns to
 *   ends      after a system call that did not return: exit, exec, sigreturn
 *   inner     inside a procedure, as often as it made indirect jumps, or less: by those. None with -t
 *   odd       anything else: what faulted, where a handler did not return to. No recording tells of them
 *
 * Prints a line for each odd one, at most 20, and the sums. Exit status 1 if there is an odd one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "isa/insn.h"
#include "observe/profile.h"
#include "store/recording.h"

struct node {
	const struct site *site;
	uint64_t target;
	int64_t left; /* executions that nothing leads to */
	int before;   /* class of the executed instruction that ends here, or -1 */
	uint64_t before_count;
};

static struct profile profile;
static struct image **images;
static struct node *nodes;
static size_t n_nodes;

static struct node *find(uint32_t image, uint64_t addr)
{
	size_t low = 0, high = n_nodes;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct site_id *id = &nodes[mid].site->id;

		if (id->image == image && id->addr == addr)
			return &nodes[mid];
		if (id->image < image || (id->image == image && id->addr < addr))
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static void collect(void)
{
	struct site **list = sites_sorted(&profile.sites);

	images = calloc(profile.nimage, sizeof(*images));
	nodes = calloc(profile.sites.n + 1, sizeof(*nodes));
	if (!list || !images || !nodes)
		abort();
	for (size_t i = 0; i < profile.nimage; i++) {
		struct err ignored;

		if (profile.image[i]->kind == IMAGE_FILE)
			images[i] = image_open(profile.image[i]->path, profile.image[i]->path,
					       &ignored);
	}
	for (size_t i = 0; i < profile.sites.n; i++) {
		const struct site *s = list[i];
		struct node *n = &nodes[n_nodes];
		const uint8_t *code;
		struct insn in;
		size_t room;

		if (!images[s->id.image] || !s->observed)
			continue;
		*n = (struct node){ .site = s, .left = (int64_t)s->observed, .before = -1 };
		code = image_code(images[s->id.image], s->id.addr, &room);
		if (code && insn_decode(&in, code, room, s->id.addr) == s->len)
			n->target = in.target;
		n_nodes++;
	}
	free(list);
}

static struct {
	int64_t returns, entries, inner, starts, ends;
	unsigned odd;
} sum;

static void odd(const struct site *s, uint64_t addr, int64_t n, const char *what)
{
	if (++sum.odd <= 20)
		printf("%s %#" PRIx64 ": %+" PRId64 " of %" PRIu64 " %s\n",
		       profile.image[s->id.image]->path, addr, n, s->observed, what);
}

static void lead(const struct node *from, uint64_t addr, uint64_t count, bool falls)
{
	const struct site *s = from->site;
	struct node *to = find(s->id.image, addr);

	if (to) {
		to->left -= (int64_t)count;
		if (falls) {
			to->before = s->cls;
			to->before_count = s->observed;
		}
	} else if (count && s->cls == INSN_SYSCALL) {
		sum.ends += (int64_t)count;
	} else if (count) {
		odd(s, addr, -(int64_t)count, "lead to what was never executed");
	}
}

static void follow(const struct node *n)
{
	const struct site *s = n->site;
	uint64_t next = s->id.addr + s->len;

	switch (s->cls) {
	case INSN_BRANCH:
		lead(n, next, s->observed - s->taken, true);
		lead(n, n->target, s->taken, false);
		break;
	case INSN_JUMP:
		lead(n, n->target, s->observed, false);
		break;
	case INSN_CALL: /* what follows is known to follow a call */
		lead(n, n->target, s->observed, false);
		/* fall through */
	case INSN_ICALL: {
		struct node *after = find(s->id.image, next);

		if (after) {
			after->before = s->cls;
			after->before_count = s->observed;
		}
		break;
	}
	case INSN_IJUMP:
	case INSN_RET:
	case INSN_TRAP:
		break;
	default:
		lead(n, next, s->observed, true);
		break;
	}
}

static void follow_targets(const struct node *n)
{
	static struct hot_value v[HOT_CAPACITY_MAX];
	const struct hot *h = n->site->operand[OPERAND_TARGET];
	unsigned k = h ? hot_top(h, v, HOT_CAPACITY_MAX) : 0;
	uint64_t known = 0;

	if (n->site->cls != INSN_IJUMP && n->site->cls != INSN_ICALL)
		return;
	for (unsigned i = 0; i < k; i++) {
		struct node *to = find(n->site->id.image, v[i].value);

		known += (uint64_t)v[i].count;
		if (to)
			to->left -= (int64_t)v[i].count;
	}
	if (!h || !hot_exact(h) || known != n->site->observed)
		odd(n->site, n->site->id.addr, (int64_t)(n->site->observed - known),
		    "targets are not known");
}

static bool is_entry(const struct node *n)
{
	const struct image_proc *p = image_proc_at(images[n->site->id.image], n->site->id.addr);

	return (p && p->start == n->site->id.addr) ||
	       (n->before < 0 && n->left == (int64_t)n->site->observed);
}

/* Whether the indirect jumps of its procedure can have led to it. */
static bool is_inner(const struct node *n)
{
	const struct site_id *id = &n->site->id;
	const struct image_proc *p = image_proc_at(images[id->image], id->addr);
	uint64_t jumps = 0;

	for (size_t i = 0; p && i < n_nodes; i++) {
		const struct site *s = nodes[i].site;

		if (s->cls == INSN_IJUMP && s->id.image == id->image && s->id.addr >= p->start &&
		    s->id.addr < p->end)
			jumps += s->observed;
	}
	return n->left > 0 && (uint64_t)n->left <= jumps;
}

static void judge(const struct node *n, bool targets)
{
	bool call = n->before == INSN_CALL || n->before == INSN_ICALL;

	if (!n->left)
		return;
	if (call && n->left > 0)
		sum.returns += n->left;
	else if (n->before == INSN_SYSCALL && n->left < 0)
		sum.ends -= n->left;
	else if (n->before == INSN_SYSCALL)
		sum.starts += n->left;
	else if (n->left > 0 && is_entry(n))
		sum.entries += n->left;
	else if (!targets && is_inner(n))
		sum.inner += n->left;
	else
		odd(n->site, n->site->id.addr, n->left,
		    n->left > 0 ? "come from nowhere" : "are missing");
}

int main(int argc, char **argv)
{
	bool targets = argc == 3 && !strcmp(argv[1], "-t");
	uint64_t executions = 0;
	struct err err;

	if (argc != 2 + targets) {
		fprintf(stderr, "usage: flow [-t] RECORDING\n");
		return 2;
	}
	if (profile_init(&profile, &err) || recording_read(argv[1 + targets], &profile, &err)) {
		fprintf(stderr, "flow: %s\n", err.msg);
		return 2;
	}
	collect();
	for (size_t i = 0; i < n_nodes; i++) {
		executions += nodes[i].site->observed;
		follow(&nodes[i]);
		if (targets)
			follow_targets(&nodes[i]);
	}
	for (size_t i = 0; i < n_nodes; i++)
		judge(&nodes[i], targets);
	printf("instructions %zu, executions %" PRIu64 ", returns %" PRId64 ", entries %" PRId64
	       ", inner %" PRId64 ", starts %" PRId64 ", ends %" PRId64 ", odd %u\n",
	       n_nodes, executions, sum.returns, sum.entries, sum.inner, sum.starts, sum.ends,
	       sum.odd);
	return !n_nodes || sum.odd;
}
