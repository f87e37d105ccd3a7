/* SPDX-License-Identifier: MIT */
/*
 * Which calls do not return. Code elsewhere is judged by name (abort@plt), other code by looking
 * for a way from the procedure's start to a return: first one without calls, then one through calls
 * that return themselves. A call that cannot be judged counts as returning.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/invariant.h"
#include "cfg/code_priv.h"

#define BUDGET 20000 /* most instructions that one question may examine */
#define DEPTH 48     /* largest depth of nested calls */
#define EXTENT_MAX (1u << 20)
#define NAME_LEN 200

/* Names that never return, whatever image defines them. */
static const char *const never[] = {
	"abort",
	"exit",
	"_exit",
	"_Exit",
	"quick_exit",
	"__stack_chk_fail",
	"__stack_chk_fail_local",
	"__fortify_fail",
	"__chk_fail",
	"__assert_fail",
	"__assert_perror_fail",
	"__assert",
	"__libc_fatal",
	"__libc_start_call_main",
	"longjmp",
	"_longjmp",
	"siglongjmp",
	"__longjmp_chk",
	"pthread_exit",
	"__cxa_throw",
	"__cxa_rethrow",
	"__cxa_bad_cast",
	"__cxa_bad_typeid",
	"__cxa_throw_bad_array_new_length",
	"__cxa_throw_bad_array_length",
	"__cxa_call_unexpected",
	"__cxa_call_terminate",
	"__cxa_pure_virtual",
	"__cxa_deleted_virtual",
	"_Unwind_Resume",
	"__clang_call_terminate",
};

/* Names of library functions that never return; a program may use such a name for something
 * else. */
static const char *const never_imported[] = {
	"err", "errx", "verr", "verrx", "__libc_start_main", "thrd_exit", "g_abort",
};

static const char *const twice[] = {
	"setjmp", "_setjmp", "sigsetjmp",  "__sigsetjmp",
	"vfork",  "__vfork", "getcontext", "savectx",
};

static bool is_among(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}
#define IS_AMONG(name, list) is_among(name, list, sizeof(list) / sizeof((list)[0]))

/* Whether the name is std::terminate() or a function like std::__throw_length_error(char
 * const*). */
static bool throws(const char *name)
{
	return !strncmp(name, "_ZSt", 4) &&
	       (strstr(name, "__throw_") || !strcmp(name, "_ZSt9terminatev"));
}

/* Copies the name of the procedure that begins at addr, or "", without "@plt"; *imported says whether it ended so. */
static void name_at(struct cfg_code *c, uint64_t addr, char *name, bool *imported)
{
	struct cfg_proc p;
	size_t n;

	name[0] = 0;
	*imported = false;
	if (!c->src.proc(c->src.ctx, addr, &p) || p.start != addr)
		return;
	n = strcspn(p.name, "@");
	*imported = !strcmp(p.name + n, "@plt");
	if (n >= NAME_LEN || (p.name[n] && !*imported && p.name[n] != '@'))
		return;
	memcpy(name, p.name, n);
	name[n] = 0;
}

bool code_returns_twice(struct cfg_code *c, uint64_t addr)
{
	char name[NAME_LEN];
	bool imported;

	name_at(c, addr, name, &imported);
	return IS_AMONG(name, twice);
}

/* Results that are known already. */

static struct code_callee *find(struct cfg_code *c, uint64_t addr)
{
	uint32_t mask = (1u << c->callee_bits) - 1;

	invariant(c->callees <= mask); /* some slot is free, and ends the search */
	for (uint32_t i = (uint32_t)hash_bits(addr, c->callee_bits);; i++) {
		struct code_callee *k = &c->callee[i & mask];

		if (k->fate == CODE_FREE || k->addr == addr)
			return k;
	}
}

static bool grow(struct cfg_code *c)
{
	struct code_callee *old = c->callee;
	uint32_t n = old ? 1u << c->callee_bits : 0;
	uint32_t bits = old ? c->callee_bits + 1 : 10;
	struct code_callee *v = calloc((size_t)1 << bits, sizeof(*v));

	if (!v)
		return false;
	c->callee = v;
	c->callee_bits = bits;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].fate != CODE_FREE)
			*find(c, old[i].addr) = old[i];
	free(old);
	return true;
}

static uint8_t known(struct cfg_code *c, uint64_t addr)
{
	uint8_t fate = c->callee ? find(c, addr)->fate : CODE_FREE;

	return fate == CODE_FREE ? CODE_NOT_KNOWN : fate;
}

/* Remembers a result; without memory the result is dropped. */
static void remember(struct cfg_code *c, uint64_t addr, uint8_t fate)
{
	struct code_callee *k;

	if ((!c->callee || c->callees >= (1u << c->callee_bits) / 4 * 3) && !grow(c))
		return;
	k = find(c, addr);
	invariant(fate != CODE_FREE && (k->fate == CODE_FREE || k->addr == addr));
	c->callees += k->fate == CODE_FREE;
	*k = (struct code_callee){ addr, fate };
}

/* The search for a return. */

struct later {
	/* next 0: control jumps to the callee, whose return is a return of this procedure */
	uint64_t callee, next;
};

struct search {
	struct cfg_code *c;
	struct cfg_proc proc;
	uint64_t *been; /* one bit for each byte of the procedure */
	uint64_t *todo;
	size_t ntodo, todo_cap;
	struct later *later;
	size_t nlater, later_cap;
	unsigned depth;
	bool failed; /* no memory */
};

static bool returns(struct cfg_code *c, uint64_t addr, unsigned depth);

static void add_todo(struct search *s, uint64_t addr)
{
	if (array_reserve(s->todo, s->todo_cap, s->ntodo + 1))
		s->todo[s->ntodo++] = addr;
	else
		s->failed = true;
}

static void add_later(struct search *s, uint64_t callee, uint64_t next)
{
	if (array_reserve(s->later, s->later_cap, s->nlater + 1))
		s->later[s->nlater++] = (struct later){ callee, next };
	else
		s->failed = true;
}

/* Marks addr; false if it was marked already. */
static bool first_time(struct search *s, uint64_t addr)
{
	uint64_t at = addr - s->proc.start, bit = 1ull << at % 64;

	invariant(addr >= s->proc.start && addr < s->proc.end);
	if (s->been[at / 64] & bit)
		return false;
	s->been[at / 64] |= bit;
	return true;
}

/* Follows control from addr to its end. True if it ends in a return. */
static bool follow(struct search *s, uint64_t addr)
{
	struct code_at at = { 0 };
	struct code_insn in;

	for (;;) {
		if (addr < s->proc.start || addr >= s->proc.end) {
			add_later(s, addr, 0);
			return false;
		}
		if (!first_time(s, addr) || !code_decode(s->c, &at, addr, &in))
			return false;
		if (!s->c->budget)
			return true;
		s->c->budget--;
		switch (in.cls) {
		case INSN_RET:
		case INSN_IJUMP:
			return true;
		case INSN_TRAP:
			return false;
		case INSN_JUMP:
			addr = in.target;
			continue;
		case INSN_BRANCH:
			add_todo(s, in.target);
			break;
		case INSN_CALL:
			add_later(s, in.target, addr + in.len);
			return false;
		default:
			break;
		}
		addr += in.len;
	}
}

static bool search(struct search *s, uint64_t addr)
{
	struct later l;

	add_todo(s, addr);
	for (;;) {
		while (s->ntodo)
			if (follow(s, s->todo[--s->ntodo]))
				return true;
		if (s->failed || !s->nlater)
			return s->failed;
		l = s->later[--s->nlater];
		if (!returns(s->c, l.callee, s->depth + 1))
			continue;
		if (!l.next)
			return true;
		add_todo(s, l.next);
	}
}

static bool look(struct cfg_code *c, uint64_t addr, unsigned depth)
{
	struct search s = { .c = c, .depth = depth };
	uint64_t extent;
	bool found;

	if (!c->src.proc(c->src.ctx, addr, &s.proc) || addr < s.proc.start || addr >= s.proc.end)
		return true;
	extent = s.proc.end - s.proc.start;
	if (extent > EXTENT_MAX)
		return true;
	s.been = calloc(extent / 64 + 1, sizeof(*s.been));
	found = !s.been || search(&s, addr);
	free(s.been);
	free(s.todo);
	free(s.later);
	return found;
}

/* Judges by name alone; CODE_NOT_KNOWN if the name does not tell. */
static uint8_t by_name(struct cfg_code *c, uint64_t addr)
{
	char name[NAME_LEN];
	bool imported;

	name_at(c, addr, name, &imported);
	if (IS_AMONG(name, never) || throws(name))
		return CODE_NORETURN;
	if (!imported)
		return CODE_NOT_KNOWN;
	return IS_AMONG(name, never_imported) ? CODE_NORETURN : CODE_RETURNS;
}

static bool returns(struct cfg_code *c, uint64_t addr, unsigned depth)
{
	uint8_t fate = known(c, addr);
	bool outer = c->assumed, found;

	if (fate == CODE_PENDING)
		c->assumed = true;
	if (fate != CODE_NOT_KNOWN)
		return fate == CODE_RETURNS;
	invariant(depth <= DEPTH + 1);
	fate = by_name(c, addr);
	if (fate != CODE_NOT_KNOWN) {
		remember(c, addr, fate);
		return fate == CODE_RETURNS;
	}
	if (depth > DEPTH || !c->budget)
		return true;
	remember(c, addr, CODE_PENDING);
	c->assumed = false;
	found = look(c, addr, depth);
	/* A negative result may depend on a pending question further up, and is then not
	 * remembered. */
	fate = found ? CODE_RETURNS : CODE_NORETURN;
	if (!found && c->assumed && depth)
		fate = CODE_NOT_KNOWN;
	remember(c, addr, fate);
	c->assumed = outer || c->assumed;
	return found;
}

bool code_returns(struct cfg_code *c, uint64_t addr, bool deep)
{
	uint8_t fate = known(c, addr);

	if (fate != CODE_NOT_KNOWN)
		return fate == CODE_RETURNS;
	if (!deep)
		return by_name(c, addr) != CODE_NORETURN;
	c->budget = BUDGET;
	c->assumed = false;
	return returns(c, addr, 0);
}
