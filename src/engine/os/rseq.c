/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences. The program's area is registered with the kernel, which keeps the CPU numbers there and looks
 * at the section named there whenever it interrupts the thread. For the kernel the thread is never in the program's
 * section, because it runs the translation: the kernel clears the section's name and does nothing else. So a cleared
 * name tells that the thread has been interrupted, and these places look for it:
 *
 *   - each block of a section, where it begins; a jump is a block of its own, because it must not depend on values read
 *     before;
 *   - each instruction of a section that writes memory, and the last one. Such an instruction is a block of its own.
 *     While it is executed the thread is in a section of the engine's, which begins where the two sections' names are
 *     exchanged:
 *
 *             jmp 1f                     the section's description: from 2 to 3, handler `abort`
 *             its signature
 *     abort:  ud2                        the engine comes here by its handler of SIGILL
 *     1:      rax and rcx are saved
 *             xchg rcx, [the area's section]
 *     2:      jrcxz abort                the thread was interrupted before
 *             rax and rcx are restored
 *             the instruction
 *     3:      the names are exchanged again, unless the thread was interrupted here;
 *
 *   - the dispatcher, and the code that delivers a signal.
 *
 * An interrupted section continues at its handler, with the registers as they were. Before the thread reaches one of
 * those places, the section may read what it would not have read natively: a fault counts only when it comes twice.
 *
 * Sections become known when code that computes the address of a description is translated, or when the dispatcher
 * finds one named in the area. At first the engine goes through the dispatcher between any two blocks, so a section is
 * known at the latest during its first execution, which is aborted if it still runs.
 */
#include <asm/errno.h>

#include "engine/core/cache.h"
#include "engine/core/edges.h"
#include "engine/core/layout.h"
#include "engine/core/regions.h"
#include "engine/core/registers.h"
#include "engine/core/thread.h"
#include "engine/os/rseq.h"
#include "engine/os/util.h"
#include "engine/translate/block.h"
#include "engine/shared.h"
#include "engine/translate/build.h"
#include "engine/os/sys.h"

#define SECTIONS_MAX 4096
#define SECTION_SIZE_MAX (1u << 20)
#define UNREGISTER 1
#define AREA_SECTION 8				    /* in the area: the address of a description */
#define DESCRIPTION 32				    /* bytes */
#define STORE_BEHIND (GUARD_SIZE - DESCRIPTION - 6) /* distance from `abort` to the instruction */
#define CHECK_BEHIND 40				    /* distance from `abort` to the block */

struct description { /* a section's description, as the kernel takes it */
	uint32_t version, flags;
	uint64_t start, size, abort;
};

static struct section {
	struct description d;
	uint64_t at;
} sections[SECTIONS_MAX];
static unsigned nsections;
static uint32_t signature;
static bool any_registered;

_Static_assert(offsetof(struct thread, area) == T_AREA, "layout");
_Static_assert(offsetof(struct thread, aside) == T_ASIDE, "layout");

void rseq_thread(struct thread *t)
{
	t->no_area[AREA_SECTION / 8] = ~0ull;
	t->area = (uint64_t)t->no_area;
}

static bool registered(const struct thread *t)
{
	return t->area != (uint64_t)t->no_area;
}

long rseq_syscall(struct thread *t)
{
	const uint64_t *r = t->regs;
	uint32_t sig = (uint32_t)r[R10];
	bool leaves = r[RDX] & UNREGISTER;
	long ret;

	if (!leaves && any_registered && sig != signature && !registered(t)) {
		say("the program registers restartable sequences with two signatures, 0x%lx and "
		    "0x%lx, which is not supported under exact recording: the second one is "
		    "refused",
		    (long)signature, (long)sig);
		return -EINVAL;
	}
	if (!leaves)
		regions_keep_writable(r[RDI]);
	ret = sys(__NR_rseq, r[RDI], r[RSI], r[RDX], r[R10]);
	if (sys_failed(ret))
		return ret;
	if (leaves) {
		rseq_thread(t);
		return ret;
	}
	t->area = r[RDI];
	signature = sig;
	__atomic_store_n(&any_registered, true, __ATOMIC_RELEASE);
	return ret;
}

/* Finds the section that contains an address, or begins or ends there. */
static struct section *section_near(uint64_t pc, bool border)
{
	unsigned n = __atomic_load_n(&nsections, __ATOMIC_ACQUIRE);

	for (unsigned i = 0; i < n; i++)
		if (pc - sections[i].d.start < sections[i].d.size ||
		    (border && sections[i].d.size &&
		     pc == sections[i].d.start + sections[i].d.size))
			return &sections[i];
	return NULL;
}

static bool describes(const struct description *d)
{
	uint32_t found;

	return !d->version && !d->flags && d->size && d->size <= SECTION_SIZE_MAX &&
	       d->start < 1ull << ADDRESS_BITS && d->abort < 1ull << ADDRESS_BITS &&
	       d->abort - d->start >= d->size &&
	       rt_copy(&found, (const void *)(d->abort - sizeof(found)), sizeof(found)) &&
	       found == signature;
}

/* The description may be gone together with the code. */
static void forget_stale(struct section *s)
{
	struct description d;

	if (!rt_copy(&d, (const void *)s->at, sizeof(d)) || memcmp(&d, &s->d, sizeof(d)))
		s->d.size = 0;
}

/* Looks for a description at `at`. True if there is one that was not known. cache_lock is held. */
static bool learn(uint64_t at)
{
	struct section *s = NULL;
	struct description d;

	if (!rt_copy(&d, (const void *)at, sizeof(d)) || !describes(&d))
		return false;
	for (unsigned i = 0; i < nsections; i++) {
		if (sections[i].d.start == d.start && sections[i].d.size == d.size)
			return false;
		if (sections[i].d.size && sections[i].d.start < d.start + d.size &&
		    d.start < sections[i].d.start + sections[i].d.size)
			forget_stale(&sections[i]);
		if (!sections[i].d.size)
			s = &sections[i];
	}
	if (!s && nsections == SECTIONS_MAX)
		die("more than %ld restartable sequences", (long)SECTIONS_MAX);
	if (s) {
		*s = (struct section){ d, at };
		return true;
	}
	sections[nsections] = (struct section){ d, at };
	__atomic_store_n(&nsections, nsections + 1, __ATOMIC_RELEASE);
	return true;
}

/* Learns that a section has begun, and forgets code that was translated from it without guards. */
static bool learn_late(uint64_t at)
{
	struct description d;
	bool new;

	lock(&cache_lock);
	new = learn(at);
	if (new &&rt_copy(&d, (const void *)at, sizeof(d)))
		cache_invalidate(d.start, d.size);
	unlock(&cache_lock);
	return new;
}

bool rseq_check(struct thread *t)
{
	uint64_t at = 0, *named = (uint64_t *)(t->area + AREA_SECTION), none = 0;
	bool interrupted = t->interrupted;
	struct section *s;

	t->interrupted = false;
	if (!registered(t) || !rt_copy(&at, named, sizeof(at)))
		return false;
	if (at && at != t->named) {
		t->named = at;
		interrupted |= learn_late(at);
	}
	s = section_near(t->pc, false);
	if (!s || (at && !interrupted))
		return false;
	rt_copy(named, &none, sizeof(none));
	edges_note(EXACT_CAME, 0, t->pc, s->d.abort);
	t->pc = s->d.abort;
	return true;
}

bool rseq_excuses(struct thread *t, uint64_t pc, uint64_t addr)
{
	if (!registered(t) || !section_near(pc, false) ||
	    (t->excused.pc == pc && t->excused.addr == addr)) {
		t->excused.pc = 0;
		return false;
	}
	t->excused.pc = pc;
	t->excused.addr = addr;
	t->interrupted = true;
	return true;
}

/* lea reg, [rip + …] */
static void learn_of(const struct insn *in, const uint8_t *p, uint64_t next)
{
	int32_t disp;

	if (in->kind != MEMORY || !in->rip || p[in->modrm - 1] != 0x8d)
		return;
	__builtin_memcpy(&disp, p + in->disp, sizeof(disp));
	learn(next + (uint64_t)(int64_t)disp);
}

/* Whether the instruction at pc is executed under a guard: it writes memory, or is the section's last one. */
static bool guarded(const struct section *s, const struct insn *in, const uint8_t *p, uint64_t pc)
{
	return (in->kind == PLAIN || in->kind == MEMORY || in->kind == LATER) &&
	       (pc + in->len == s->d.start + s->d.size || writes_memory(p));
}

/* Returns the guard of the next block, and limits *n, the number of instructions from pc on, so
 * that the block lies within a section, or before one. */
static uint16_t divide(const struct insn *in, const uint8_t *p, uint64_t pc, unsigned *n)
{
	uint16_t guard = 0;

	for (unsigned i = 0; i < *n; pc += in[i].len, p += in[i].len, i++) {
		const struct section *s = section_near(pc, true);
		bool inside = s && pc - s->d.start < s->d.size;

		if (i && s &&
		    (!inside || pc == s->d.start || ends_block(in[i].kind) ||
		     guarded(s, &in[i], p, pc))) {
			*n = i;
		} else if (inside && guarded(s, &in[i], p, pc)) {
			*n = 1;
			return BLOCK_GUARDED;
		} else if (inside && !i) {
			guard = BLOCK_CHECKED;
		}
	}
	return guard;
}

unsigned rseq_divide(struct build *b)
{
	uint64_t pc = b->pc;
	unsigned n = b->n;

	b->guard = 0;
	if (!__atomic_load_n(&any_registered, __ATOMIC_ACQUIRE))
		return n;
	for (unsigned i = 0; i < n; pc += b->in[i].len, i++)
		learn_of(&b->in[i], b->bytes + (pc - b->pc), pc + b->in[i].len);
	if (__atomic_load_n(&nsections, __ATOMIC_ACQUIRE))
		b->guard = divide(b->in, b->bytes, b->pc, &n);
	return n;
}

static void put_aside(struct emit *e)
{
	put_gs(e, 0x89, RAX, T_ASIDE);
	put_gs(e, 0x89, RCX, T_ASIDE + 8);
}

void rseq_put_check(struct build *b)
{
	struct emit *e = &b->e;

	if (b->guard != BLOCK_CHECKED)
		return;
	put16(e, 0x02eb); /* jmp over the next one */
	put16(e, 0x0b0f); /* ud2 */
	put_aside(e);
	put_gs(e, 0x8b, RCX, T_AREA);
	put32(e, AREA_SECTION << 24 | 0x498b48); /* mov rcx, [rcx + …] */
	put16(e, 0xe0e3);			 /* jrcxz to ud2 */
	put_gs(e, 0x8b, RCX, T_ASIDE + 8);
}

static void put_exchange(struct emit *e)
{
	put32(e, AREA_SECTION << 24 | 0x488748); /* xchg [rax + …], rcx */
}

void rseq_put_begin(struct build *b)
{
	struct emit *e = &b->e;
	uint64_t description = e->at + 2, abort = description + DESCRIPTION + 4;

	if (b->guard != BLOCK_GUARDED)
		return;
	put16(e, (DESCRIPTION + 4 + 2) << 8 | 0xeb);
	b->description = (uint64_t *)e->out;
	put64(e, 0);
	put64(e, abort + STORE_BEHIND - 26); /* the address behind the exchange */
	put64(e, 0);			     /* the size, which rseq_put_end() fills in */
	put64(e, abort);
	put32(e, signature);
	put16(e, 0x0b0f);
	put_aside(e);
	put_gs(e, 0x8b, RAX, T_AREA);
	put_imm64(e, RCX, description);
	put_exchange(e);
	put_gs(e, 0x89, RCX, T_ASIDE + 16);
	put16(e, (uint8_t)(abort - (e->at + 2)) << 8 | 0xe3);
	put_gs(e, 0x8b, RCX, T_ASIDE + 8);
	put_gs(e, 0x8b, RAX, T_ASIDE);
}

void rseq_put_end(struct build *b)
{
	struct emit *e = &b->e;

	if (b->guard != BLOCK_GUARDED)
		return;
	b->description[2] = e->at - b->description[1];
	put_aside(e);
	put_gs(e, 0x8b, RAX, T_AREA);
	put_gs(e, 0x8b, RCX, T_ASIDE + 16);
	put_exchange(e);
	put32(e, 0x04eb02e3);			 /* jrcxz over the jump, over the next one */
	put32(e, AREA_SECTION << 24 | 0x488948); /* mov [rax + …], rcx */
	put_gs(e, 0x8b, RCX, T_ASIDE + 8);
	put_gs(e, 0x8b, RAX, T_ASIDE);
}

uint64_t rseq_aborted(uint64_t at)
{
	const struct block *b = at < CACHE_BASE + CACHE_CODE_SIZE ? cache_by_code(at) : NULL;
	uint64_t abort;

	if (!b || !(b->flags & (BLOCK_GUARDED | BLOCK_CHECKED)))
		return 0;
	if (b->flags & BLOCK_CHECKED)
		return at == b->code + (b->flags & BLOCK_CHANGES ? CHANGED_SIZE : 0) + 2
			       ? at + CHECK_BEHIND
			       : 0;
	if (at < b->code + DESCRIPTION + 6 || *(const uint16_t *)at != 0x0b0f)
		return 0;
	memcpy(&abort, (const void *)(at - 4 - 8), sizeof(abort));
	return abort == at ? at + STORE_BEHIND : 0;
}
