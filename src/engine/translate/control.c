/* SPDX-License-Identifier: MIT */
/*
 * What ends a block.
 *
 *        call L                         ret:  mov rcx, [rsp]; look its code up
 *        jmp <block after the call>           mov [rsp], code; ret
 *     L: mov [rsp], program's address
 *        jmp <callee>
 *
 * Where nothing is counted the code that is found may be another address's: between the call and the jump it is looked
 * at whether it is (put_entry_check).
 *
 * The same code is made again, elsewhere, to find out what state the program is in where a signal stopped
 */
#include "engine/core/cache.h"
#include "engine/core/layout.h"
#include "engine/core/left.h"
#include "engine/core/registers.h"
#include "engine/core/thread.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/translate/build.h"

void put_link(struct build *b, uint64_t target, enum link_kind kind)
{
	struct link *l = &b->link[b->nlink++];

	invariant(b->nlink <= sizeof(b->link) / sizeof(b->link[0]));
	invariant(b->e.at - CACHE_BASE < CACHE_SIZE);
	*l = (struct link){ .target = target,
			    .site = (uint32_t)(b->e.at - CACHE_BASE),
			    .kind = (uint8_t)kind,
			    .edge = l->edge,
			    .exit = l->exit,
			    .owed = b->due };
	put32(&b->e, 0);
}

void put_link_jump(struct build *b, uint64_t target)
{
	put_align(&b->e, 1);
	put8(&b->e, 0xe9);
	put_link(b, target, LINK_JUMP);
}

/* Loads the address into rcx and the site's number into eax, as switch.S expects them; or the
 * number alone. Returns whether the site has slots in the near table. */
static bool put_site(struct build *b)
{
	struct emit *e = &b->e;
	bool near = b->site < NEAR_SITES;

	invariant(b->site); /* 0 is no site */
	put_spill(e, RAX);
	if (near) { /* lea eax, [rcx + site] */
		put8(e, 0x8d);
		put8(e, 0x81);
	} else { /* mov eax, site */
		put8(e, 0xb8);
	}
	put32(e, b->site);
	return near;
}

/* Puts the context's address, relative to gs, into rdx. */
static void put_base(struct emit *e)
{
	put8(e, 0x48); /* lea rdx, [rip + …] */
	put8(e, 0x8d);
	put8(e, 0x15);
	put_context(e, 0, 0);
}

/* Puts op reg, gs:[rdx + rax * 8 + offset], for one of the first eight registers. */
static void put_near(struct emit *e, unsigned op, unsigned reg, uint32_t offset)
{
	invariant(reg < 8);
	put8(e, 0x65);
	put8(e, 0x48);
	put8(e, op);
	put8(e, 0x84 | reg << 3);
	put8(e, 0xc2);
	put32(e, offset);
}

/* Puts into rax the slot of the address in rcx in the table of cache_direct(), in units of 8 bytes. */
static void put_slot(struct emit *e)
{
	put_imm64(e, RAX, (uint64_t)rt_direct / 8);
	put16(e, 0x8966); /* mov ax, cx */
	put8(e, 0xc8);
}

/* jmp [rax * 8] */
static void put_direct(struct emit *e)
{
	put_slot(e);
	put8(e, 0xff);
	put8(e, 0x24);
	put8(e, 0xc5);
	put32(e, 0);
}

/* Emits the jump of a ret, which the CPU has predicted. */
static void put_direct_return(struct emit *e)
{
	put_slot(e);
	put32(e, 0xc5048b48); /* mov rax, [rax * 8] */
	put32(e, 0);
	put_based(e, 0x89, RAX, RSP, 0);
	put8(e, 0xc3);
}

void put_entry_check(struct emit *e, uint64_t pc)
{
	put_imm64(e, RAX, 0 - pc);
	put32(e, 0x010c8d48); /* lea rcx, [rcx + rax] */
	put16(e, 0x05e3);     /* jrcxz over the next one */
	put_jump(e, (uint64_t)rt_direct_wrong);
	put_restore(e, RAX);
	put_restore(e, RCX);
}

/* Emits a jump to the code of the address in rcx, as in rt_ibl_jump. */
static void put_lookup(struct build *b)
{
	struct emit *e = &b->e;
	static const uint8_t index[] = {
		0x0f, 0xb7, 0xc0,	      /* movzx eax, ax */
		0x8d, 0x04, 0x85, 0, 0, 0, 0, /* lea eax, [rax * 4] */
	};

	if (b->once) {
		put_jump(e, (uint64_t)rt_once_jump);
		return;
	}
	if (!counting()) {
		put_direct(e);
		return;
	}
	if (!put_site(b)) {
		put_jump(e, (uint64_t)rt_ibl_far_jump);
		return;
	}
	put_spill(e, RDX);
	put_bytes(e, index, sizeof(index));
	put_base(e);
	put_near(e, 0x8b, RDX, T_NEAR);
	put8(e, 0x48); /* lea rcx, [rcx + rdx + bias] */
	put8(e, 0x8d);
	put8(e, 0x8c);
	put8(e, 0x11);
	put32(e, NEAR_BIAS);
	put8(e, 0xe3); /* jrcxz over the next one */
	put8(e, 0x05);
	put_jump(e, (uint64_t)rt_ibl_jump_miss);
	put_base(e);
	put_near(e, 0x8b, RCX, T_NEAR_CODE);
	put_gs(e, 0x89, RCX, T_TARGET);
	put_near(e, 0x8b, RCX, T_NEAR_COUNT);
	put_lea(e, RCX, RCX, NO_REG, 1, 1);
	put_near(e, 0x89, RCX, T_NEAR_COUNT);
	put_restore(e, RAX);
	put_restore(e, RCX);
	put_restore(e, RDX);
	put8(e, 0x65); /* jmp gs:[target] */
	put8(e, 0xff);
	put8(e, 0x25);
	put_context(e, T_TARGET, 0);
}

/* Continues at the return address, for a ret, which the CPU has predicted, or for a jump. */
static void put_return(struct build *b, bool pops)
{
	bool near;

	if (b->once) {
		put_jump(&b->e, (uint64_t)(pops ? rt_once_jump : rt_once_ret));
		return;
	}
	if (!counting()) {
		if (pops)
			put_direct(&b->e);
		else
			put_direct_return(&b->e);
		return;
	}
	near = put_site(b);
	if (pops)
		put_jump(&b->e, (uint64_t)(near ? rt_ibl_jump : rt_ibl_far_jump));
	else
		put_jump(&b->e, (uint64_t)(near ? rt_ibl_ret : rt_ibl_far_ret));
}

static bool return_fits(uint64_t pc)
{
	return pc < 0x80000000;
}

/* Writes the return address in one store, because a ret can read it before it has reached the
 * cache. r11 has been spilled for that, unless the address fits into the instruction. */
static void put_store_return(struct emit *e, uint64_t pc)
{
	if (return_fits(pc)) {
		put32(e, 0x2404c748); /* mov qword [rsp], imm */
		put32(e, pc);
	} else {
		put_imm64(e, R11, pc);
		put_based(e, 0x89, R11, RSP, 0);
		put_restore(e, R11);
	}
}

/* Spills the registers that put_call needs, before an instruction that may fault. */
static void spill_for_call(struct build *b, struct insn *in, uint64_t next)
{
	/* r11 is the stream's register: its value is in the spill slot already */
	if (return_fits(next) || in->spilled & 1u << R11)
		return;
	in->spilled |= 1u << R11;
	put_spill(&b->e, R11);
}

/* Spills the registers that finding an address's code needs, before an instruction that may fault. */
static void spill_for_lookup(struct build *b, struct insn *in)
{
	in->spilled |= 1u << RCX;
	put_spill(&b->e, RCX);
	if (counting() || b->once) /* rax is saved later in these cases */
		return;
	in->spilled |= 1u << RAX;
	put_spill(&b->e, RAX);
}

/* call L; jmp <after>; L: code of the called procedure */
static void put_call(struct build *b, uint64_t next)
{
	struct emit *e = &b->e;
	unsigned check = counting() ? 0 : CHECK_SIZE;
	unsigned gap = (unsigned)(e->at + 5 + check + 1) & 63, pad = gap > 60 ? 64 - gap : 0;

	put8(e, 0xe8);
	put32(e, check + pad + 5);
	b->returns = e->at;
	if (check)
		put_entry_check(e, next);
	put_nops(e, pad);
	put8(e, 0xe9);
	put_link(b, next, LINK_JUMP);
	b->link[b->nlink - 1].owed = 0; /* the return owes nothing */
	put_store_return(e, next);
}

void put_control(struct build *b, struct insn *in, const uint8_t *p, uint64_t next)
{
	struct emit *e = &b->e;

	switch (in->kind) {
	case JUMP:
		put_link_jump(b, in->target);
		break;
	case BRANCH:
		put_align(e, 2);
		put16(e, 0x0f | (0x80u | (p[in->imm - 1u] & 15)) << 8);
		b->link[b->nlink].edge = true;
		if (in < &b->in[b->n - 1]) {
			b->exits.exit[b->exits.n++] =
				(struct log_exit){ (uint8_t)(in - b->in), (uint16_t)b->word,
						   in->target };
			b->link[b->nlink].exit = (uint8_t)b->exits.n;
			put_link(b, in->target, LINK_JUMP);
			break;
		}
		put_link(b, in->target, LINK_JUMP);
		put_link_jump(b, next);
		break;
	case LOOP: {
		unsigned size = in->len + 10u, room = 64 - (unsigned)(e->at & 63);

		if (room < size)
			put_nops(e, room);
		in->core = (uint16_t)(e->at - b->code);
		put_bytes(e, p, in->imm);
		put8(e, 5);
		put8(e, 0xe9);
		put_link(b, next, LINK_JUMP);
		put8(e, 0xe9);
		b->link[b->nlink].edge = true;
		put_link(b, in->target, LINK_JUMP);
		break;
	}
	case CALL:
		spill_for_call(b, in, next);
		in->core = (uint16_t)(e->at - b->code);
		put_call(b, next);
		put_link_jump(b, in->target);
		break;
	case RET:
	case RET_POP:
		spill_for_lookup(b, in);
		left_put_end(b, in);
		in->core = (uint16_t)(e->at - b->code);
		put32(e, 0x240c8b48); /* mov rcx, [rsp] */
		if (in->kind == RET_POP) {
			put8(e, 0x48); /* lea rsp, [rsp + n] */
			put8(e, 0x8d);
			put8(e, 0xa4);
			put8(e, 0x24);
			put32(e, 8u + *(const uint16_t *)(p + in->imm));
		}
		put_return(b, in->kind == RET_POP);
		left_put_behind(b);
		break;
	case JUMP_INDIRECT:
	case CALL_INDIRECT:
		spill_for_lookup(b, in);
		if (in->kind == CALL_INDIRECT)
			spill_for_call(b, in, next);
		left_put_end(b, in);
		in->core = (uint16_t)(e->at - b->code);
		put_target(b, in, p, next);
		put_fields(b, b->n - 1, false, true);
		put_stream_end(b);
		if (in->kind == CALL_INDIRECT)
			put_call(b, next);
		put_lookup(b);
		left_put_behind(b);
		break;
	case SYSCALL:
		put8(e, 0xe9);
		put_link(b, next, LINK_SYSCALL);
		break;
	case ODD:
		put8(e, 0xe9);
		put_link(b, next - in->len, LINK_ODD);
		break;
	default: /* ud2 */
		put8(e, 0x0f);
		put8(e, 0x0b);
		break;
	}
}
