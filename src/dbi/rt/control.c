/* SPDX-License-Identifier: MIT */
/*
 * What ends a block.
 *
 *
 *        call L                         ret:  mov rcx, [rsp]; look its code up
 *        jmp <block after the call>           mov [rsp], code; ret
 *     L: mov [rsp], program's address
 *        jmp <callee>
 *
 * The same code is made again, elsewhere, to find out what state the program is in where a signal stopped
 */
#include "dbi/rt/build.h"

static void put_link(struct build *b, uint64_t target, enum link_kind kind)
{
	struct link *l = &b->link[b->nlink++];

	*l = (struct link){ .target = target,
			    .site = (uint32_t)(b->e.at - CACHE_BASE),
			    .kind = (uint8_t)kind,
			    .edge = l->edge,
			    .exit = l->exit };
	put32(&b->e, 0);
}

void put_link_jump(struct build *b, uint64_t target)
{
	put_align(&b->e, 1);
	put8(&b->e, 0xe9);
	put_link(b, target, LINK_JUMP);
}

/* Goes to the code of the address in rcx. */
static void put_lookup(struct build *b)
{
	struct emit *e = &b->e;
	static const uint8_t index[] = {
		0x0f, 0xb7, 0xc1, /* movzx eax, cx */
		0x8d, 0x04, 0x00, /* lea eax, [rax + rax] */
	};
	static const uint8_t compare[] = {
		0x48, 0x8d, 0x0c, 0x11, /* lea rcx, [rcx + rdx] */
		0xe3, 0x05,		/* jrcxz over the next one */
	};

	if (b->once) {
		put_jump(e, (uint64_t)rt_once_jump);
		return;
	}
	put_spill(e, RAX);
	put_spill(e, RDX);
	put_bytes(e, index, sizeof(index));
	put8(e, 0x65); /* mov rdx, gs:[rax * 8 + table] */
	put8(e, 0x48);
	put8(e, 0x8b);
	put8(e, 0x14);
	put8(e, 0xc5);
	put32(e, T_NEAR_TABLE);
	put_bytes(e, compare, sizeof(compare));
	put_jump(e, (uint64_t)rt_ibl_jump_miss);
	put8(e, 0x65); /* mov rax, gs:[rax * 8 + table + 8] */
	put8(e, 0x48);
	put8(e, 0x8b);
	put8(e, 0x04);
	put8(e, 0xc5);
	put32(e, T_NEAR_TABLE + 8);
	put_gs(e, 0x89, RAX, T_TARGET);
	put_restore(e, RAX);
	put_restore(e, RCX);
	put_restore(e, RDX);
	put8(e, 0x65); /* jmp gs:[target] */
	put8(e, 0xff);
	put8(e, 0x24);
	put8(e, 0x25);
	put32(e, T_TARGET);
}

static void put_store_return(struct emit *e, uint64_t pc)
{
	if (pc < 0x80000000) {
		put8(e, 0x48); /* mov qword [rsp], imm */
		put8(e, 0xc7);
		put8(e, 0x04);
		put8(e, 0x24);
		put32(e, pc);
	} else {
		put8(e, 0xc7); /* mov dword [rsp], imm */
		put8(e, 0x04);
		put8(e, 0x24);
		put32(e, pc);
		put8(e, 0xc7); /* mov dword [rsp + 4], imm */
		put8(e, 0x44);
		put8(e, 0x24);
		put8(e, 0x04);
		put32(e, pc >> 32);
	}
}

/* call L; jmp <after>; L: … */
static void put_call(struct build *b, uint64_t next)
{
	struct emit *e = &b->e;
	unsigned gap = (unsigned)(e->at + 5 + 1) & 63, pad = gap > 60 ? 64 - gap : 0;

	put8(e, 0xe8);
	put32(e, pad + 5);
	b->returns = e->at;
	put_nops(e, pad);
	put8(e, 0xe9);
	put_link(b, next, LINK_JUMP);
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
		put8(e, 0x0f);
		put8(e, 0x80 | (p[in->imm - 1u] & 15));
		b->link[b->nlink].edge = true;
		if (in < &b->in[b->n - 1]) {
			b->exits.exit[b->exits.n++] =
				(struct log_exit){ (uint8_t)(in - b->in), (uint16_t)b->word };
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
		put_call(b, next);
		put_link_jump(b, in->target);
		break;
	case RET:
	case RET_POP:
		in->spilled |= 1u << RCX;
		put_spill(e, RCX);
		in->core = (uint16_t)(e->at - b->code);
		put8(e, 0x48); /* mov rcx, [rsp] */
		put8(e, 0x8b);
		put8(e, 0x0c);
		put8(e, 0x24);
		if (in->kind == RET_POP) {
			put8(e, 0x48); /* lea rsp, [rsp + n] */
			put8(e, 0x8d);
			put8(e, 0xa4);
			put8(e, 0x24);
			put32(e, 8u + *(const uint16_t *)(p + in->imm));
		}
		if (b->once)
			put_jump(e,
				 in->kind == RET ? (uint64_t)rt_once_ret : (uint64_t)rt_once_jump);
		else
			put_jump(e, in->kind == RET ? (uint64_t)rt_ibl_ret : (uint64_t)rt_ibl_jump);
		break;
	case JUMP_INDIRECT:
	case CALL_INDIRECT:
		in->spilled |= 1u << RCX;
		put_spill(e, RCX);
		in->core = (uint16_t)(e->at - b->code);
		put_target(b, in, p, next);
		put_fields(b, b->n - 1, false, true);
		put_stream_end(b);
		if (in->kind == CALL_INDIRECT)
			put_call(b, next);
		put_lookup(b);
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
