/* SPDX-License-Identifier: MIT */
#include "forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_BITS 16

bool form_excluded(const struct insn *in)
{
	const ZydisDecodedInstruction *z = &in->z;
	bool near_branch = z->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE ||
			   z->meta.category == ZYDIS_CATEGORY_RET;

	if (z->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
		return true;
	if (z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return true;
	/* a 16-bit operand size on branches: Intel ignores it, AMD obeys */
	if (near_branch && z->operand_width == 16)
		return true;
	/* movsxd to 16 bits reads 16 bits of memory on Intel, 32 on AMD */
	if (z->mnemonic == ZYDIS_MNEMONIC_MOVSXD && z->operand_width == 16)
		return true;
	for (uint32_t i = 0; i < z->raw.prefix_count && near_branch; i++)
		if (z->raw.prefixes[i].value == 0x66)
			return true;
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_SEGOP:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
	case ZYDIS_CATEGORY_SGX:
	case ZYDIS_CATEGORY_CET:
	case ZYDIS_CATEGORY_UINTR:
	case ZYDIS_CATEGORY_WAITPKG:
	case ZYDIS_CATEGORY_ENQCMD:
	case ZYDIS_CATEGORY_PADLOCK:
	case ZYDIS_CATEGORY_KNC:
	case ZYDIS_CATEGORY_KNCMASK:
	case ZYDIS_CATEGORY_KNCSCALAR:
	case ZYDIS_CATEGORY_AMX_TILE:
	case ZYDIS_CATEGORY_PKU:
		return true;
	default:
		break;
	}
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_STI:
	case ZYDIS_MNEMONIC_WRFSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_MONITORX:
	case ZYDIS_MNEMONIC_MWAITX:
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
	case ZYDIS_MNEMONIC_CPUID: /* a trip to the hypervisor */
		return true;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_POP:
		return in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       ZydisRegisterGetClass(in->op[0].reg.value) >= ZYDIS_REGCLASS_FLAGS &&
		       ZydisRegisterGetClass(in->op[0].reg.value) <= ZYDIS_REGCLASS_DEBUG;
	default:
		return false;
	}
}

static void operand_name(const ZydisDecodedOperand *op, char *buf, size_t n)
{
	ZydisRegisterClass cls;

	switch (op->type) {
	case ZYDIS_OPERAND_TYPE_MEMORY:
		snprintf(buf, n, "%s%u", op->mem.type == ZYDIS_MEMOP_TYPE_MEM ? "m" : "a",
			 op->size);
		break;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		snprintf(buf, n, "%s%u", op->imm.is_relative ? "rel" : "i", op->size);
		break;
	case ZYDIS_OPERAND_TYPE_REGISTER:
		cls = ZydisRegisterGetClass(op->reg.value);
		if (cls == ZYDIS_REGCLASS_GPR8)
			snprintf(buf, n, "%s",
				 op->reg.value >= ZYDIS_REGISTER_AH &&
						 op->reg.value <= ZYDIS_REGISTER_BH
					 ? "r8h"
					 : "r8");
		else if (cls >= ZYDIS_REGCLASS_GPR16 && cls <= ZYDIS_REGCLASS_GPR64)
			snprintf(buf, n, "r%u", op->size);
		else
			snprintf(buf, n, "%s%u", cls == ZYDIS_REGCLASS_MASK ? "k" : "v", op->size);
		break;
	default:
		snprintf(buf, n, "?");
		break;
	}
}

void form_name(const struct insn *in, char *buf, size_t n)
{
	uint64_t at = in->z.attributes;
	int k = snprintf(buf, n, "%s%s%s%s", at & ZYDIS_ATTRIB_HAS_LOCK ? "LOCK " : "",
			 at & ZYDIS_ATTRIB_HAS_REPNE ? "REPNE " : "",
			 at & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE) ? "REP " : "",
			 ZydisMnemonicGetString(in->z.mnemonic));

	for (char *p = buf; *p; p++)
		if (*p >= 'a' && *p <= 'z')
			*p -= 'a' - 'A';
	for (int i = 0; i < in->z.operand_count_visible && k > 0 && (size_t)k < n; i++) {
		char op[16];

		operand_name(&in->op[i], op, sizeof(op));
		k += snprintf(buf + k, n - (size_t)k, "%s%s", i ? ", " : " ", op);
	}
	if (!in->z.operand_count_visible && k > 0 && (size_t)k < n)
		k += snprintf(buf + k, n - (size_t)k, " o%u", in->z.operand_width);
	if (in->z.address_width == 32 && in->nmem && k > 0 && (size_t)k < n)
		snprintf(buf + k, n - (size_t)k, " (a32)");
}

/* The form of that name, made if `make`. */
static struct form *find(struct forms *f, const char *name, bool make)
{
	uint64_t h = 0xcbf29ce484222325ull;
	uint32_t mask = (1u << INDEX_BITS) - 1;

	for (const char *p = name; *p; p++)
		h = (h ^ (uint8_t)*p) * 0x100000001b3ull;
	for (uint32_t i = (uint32_t)(h >> 40) & mask;; i = (i + 1) & mask) {
		struct form *form;

		if (f->index[i]) {
			form = &f->form[f->index[i] - 1];
			if (!strcmp(form->name, name))
				return form;
			continue;
		}
		if (!make || f->n == f->cap)
			return NULL;
		form = &f->form[f->n++];
		f->index[i] = f->n;
		snprintf(form->name, sizeof(form->name), "%s", name);
		return form;
	}
}

/* Sorts in what the bytes decode to. Of a form's encodings a few are kept, each as likely. */
static void offer(struct forms *f, const uint8_t *bytes, struct rng *r)
{
	struct insn in;
	struct form *form;
	char name[56];
	uint64_t at;
	int len = insn_decode(&in, bytes, INSN_MAX_LEN, 0x1000);

	if (!len || form_excluded(&in))
		return;
	form_name(&in, name, sizeof(name));
	form = find(f, name, true);
	if (!form)
		return;
	form->mnemonic = (uint16_t)in.z.mnemonic;
	form->vector = in.vector;
	at = form->seen++;
	if (at >= FORM_TEMPLATES)
		at = rng_below(r, form->seen);
	if (at >= FORM_TEMPLATES)
		return;
	if (at == form->ntemplate)
		form->ntemplate++;
	memcpy(form->tmpl[at].bytes, bytes, (size_t)len);
	form->tmpl[at].len = (uint8_t)len;
}

/* Every ModRM byte that can matter: each reg, with memory and with registers. */
static void offer_modrm(struct forms *f, uint8_t *bytes, size_t at, struct rng *r)
{
	static const uint8_t mod_rm[] = { 0x03, 0x43, 0x04, 0x05, 0xc0, 0xc1, 0xc6, 0xc7 };

	for (unsigned reg = 0; reg < 8; reg++)
		for (size_t i = 0; i < sizeof(mod_rm); i++) {
			bytes[at] = (uint8_t)(mod_rm[i] | reg << 3);
			offer(f, bytes, r);
		}
}

static void legacy_map(struct forms *f, const uint8_t *head, size_t n, struct rng *r)
{
	uint8_t bytes[INSN_MAX_LEN + 8] = { 0 };

	memcpy(bytes, head, n);
	memset(bytes + n + 2, 0x11, sizeof(bytes) - n - 2);
	for (unsigned op = 0; op < 256; op++) {
		bytes[n] = (uint8_t)op;
		offer_modrm(f, bytes, n + 1, r);
	}
}

static void all_legacy(struct forms *f, struct rng *r)
{
	static const struct {
		uint8_t n, b[3];
	} prefix[] = { { 0, { 0 } },	      { 1, { 0x66 } },	     { 1, { 0xf2 } },
		       { 1, { 0xf3 } },	      { 2, { 0x66, 0xf2 } }, { 2, { 0x66, 0xf3 } },
		       { 1, { 0xf0 } },	      { 2, { 0xf0, 0x66 } }, { 1, { 0x67 } },
		       { 2, { 0x67, 0x66 } }, { 2, { 0x67, 0xf3 } }, { 2, { 0x67, 0xf2 } } };
	static const struct {
		uint8_t n, b[2];
	} map[] = { { 0, { 0 } }, { 1, { 0x0f } }, { 2, { 0x0f, 0x38 } }, { 2, { 0x0f, 0x3a } } };
	static const uint8_t rex[] = { 0, 0x40, 0x48 };

	for (size_t p = 0; p < sizeof(prefix) / sizeof(*prefix); p++)
		for (size_t x = 0; x < sizeof(rex); x++)
			for (size_t m = 0; m < sizeof(map) / sizeof(*map); m++) {
				uint8_t head[8];
				size_t n = prefix[p].n;

				memcpy(head, prefix[p].b, n);
				if (rex[x])
					head[n++] = rex[x];
				memcpy(head + n, map[m].b, map[m].n);
				legacy_map(f, head, n + map[m].n, r);
			}
}

static void all_vex(struct forms *f, struct rng *r)
{
	for (unsigned map = 1; map <= 3; map++)
		for (unsigned k = 0; k < 32; k++) {
			/* W vvvv L pp: vvvv unused (all ones) or a register */
			unsigned vvvv = k & 8 ? 0xf : 0x9, w = k >> 4;
			uint8_t head[3] = { 0xc4, (uint8_t)(0xe0 | map),
					    (uint8_t)(w << 7 | vvvv << 3 | (k & 7)) };

			legacy_map(f, head, 3, r);
		}
}

static void all_evex(struct forms *f, struct rng *r)
{
	for (unsigned map = 1; map <= 3; map++)
		for (unsigned k = 0; k < 192; k++) {
			unsigned vvvv = k & 8 ? 0xf : 0x9, w = k >> 4 & 1, ll = k >> 6;
			unsigned mask = k >> 5 & 1;
			uint8_t head[4] = { 0x62, (uint8_t)(0xf0 | map),
					    (uint8_t)(w << 7 | vvvv << 3 | 4 | (k & 3)),
					    (uint8_t)(ll << 5 | 8 | (k & 4) << 2 | mask) };

			legacy_map(f, head, 4, r);
		}
}

int forms_init(struct forms *f)
{
	struct rng r = { 1 };

	memset(f, 0, sizeof(*f));
	f->cap = (1u << INDEX_BITS) / 2;
	f->form = calloc(f->cap, sizeof(*f->form));
	f->index = calloc(1u << INDEX_BITS, sizeof(*f->index));
	f->general = calloc(f->cap, sizeof(*f->general));
	f->vector = calloc(f->cap, sizeof(*f->vector));
	if (!f->form || !f->index || !f->general || !f->vector) {
		forms_fini(f);
		return -1;
	}
	all_legacy(f, &r);
	all_vex(f, &r);
	all_evex(f, &r);
	for (uint32_t i = 0; i < f->n; i++) {
		if (f->form[i].vector)
			f->vector[f->nvector++] = i;
		else
			f->general[f->ngeneral++] = i;
	}
	return 0;
}

void forms_fini(struct forms *f)
{
	free(f->form);
	free(f->index);
	free(f->general);
	free(f->vector);
	memset(f, 0, sizeof(*f));
}

struct form *forms_pick(struct forms *f, struct rng *r, bool vector)
{
	uint32_t n = vector ? f->nvector : f->ngeneral;

	for (;;) {
		struct form *form = &f->form[(vector ? f->vector : f->general)[rng_below(r, n)]];

		if (!form->refused)
			return form;
	}
}

struct form *forms_of(struct forms *f, const struct insn *in)
{
	char name[56];

	form_name(in, name, sizeof(name));
	return find(f, name, false);
}

/* Other registers in the prefix: REX, VEX and EVEX hold the high bits of register numbers. */
static void vary_prefix(uint8_t *b, int *len, const struct insn *in, struct rng *r)
{
	const ZydisDecodedInstruction *z = &in->z;
	uint64_t v = rng_u64(r);
	int at = z->raw.prefix_count;

	switch (z->encoding) {
	case ZYDIS_INSTRUCTION_ENCODING_LEGACY:
		if (z->attributes & ZYDIS_ATTRIB_HAS_REX) {
			b[z->raw.rex.offset] ^= v & 7;
		} else if (*len < INSN_MAX_LEN && (v & 0x30) == 0) {
			memmove(b + at + 1, b + at, (size_t)(*len - at));
			b[at] = (uint8_t)(0x40 | (v & 7));
			++*len;
		}
		break;
	case ZYDIS_INSTRUCTION_ENCODING_VEX:
		b[z->raw.vex.offset + 1] ^= (v & 7) << 5;
		b[z->raw.vex.offset + 2] ^= (v >> 3 & 15) << 3;
		break;
	case ZYDIS_INSTRUCTION_ENCODING_EVEX:
		b[z->raw.evex.offset + 1] ^= (v & 15) << 4;
		b[z->raw.evex.offset + 2] ^= (v >> 4 & 15) << 3;
		b[z->raw.evex.offset + 3] ^= v >> 8 & 0x0f;
		break;
	default:
		break;
	}
}

static void put_random(uint8_t *b, int n, struct rng *r)
{
	uint64_t v = rng_value(r);

	memcpy(b, &v, (size_t)n);
}

/* Rewrites what follows the opcode: ModRM of the same kind, SIB, displacement, immediates. */
static int vary_tail(uint8_t *b, const struct insn *in, struct rng *r, bool other_reg)
{
	const ZydisDecodedInstruction *z = &in->z;
	int at = z->raw.modrm.offset, nimm = 0;
	uint8_t old, mod, rm, m;
	bool stack;

	for (int i = 0; i < 2; i++)
		nimm += z->raw.imm[i].size / 8;
	if (!(z->attributes & ZYDIS_ATTRIB_HAS_MODRM)) {
		at = in->len - nimm - z->raw.disp.size / 8;
		put_random(b + at, z->raw.disp.size / 8, r);
		at += z->raw.disp.size / 8;
		put_random(b + at, nimm, r);
		return at + nimm;
	}
	old = b[at];
	mod = old >> 6 == 3 ? 3 : (uint8_t)rng_below(r, 3);
	stack = mod != 3 && rng_chance(r, 6);
	rm = stack ? 4 : (uint8_t)rng_below(r, 8);
	m = (uint8_t)(mod << 6 | (old & 0x38) | rm);
	if (other_reg)
		m = (uint8_t)((m & ~0x38) | rng_below(r, 8) << 3);
	b[at++] = m;
	if (mod != 3 && rm == 4) {
		b[at++] = (uint8_t)rng_u64(r);
		if (stack) /* addresses from rsp, which pop moves first and push last */
			b[at - 1] = (uint8_t)((b[at - 1] & ~7) | 4);
		if (mod == 0 && (b[at - 1] & 7) == 5)
			mod = 2;
	}
	if (mod == 1) {
		b[at++] = (uint8_t)rng_u64(r);
	} else if (mod == 2 || (mod == 0 && rm == 5)) {
		uint32_t d = (uint32_t)rng_value(r);

		if (rng_chance(r, 60))
			d = (uint32_t)((int32_t)d >> 22);
		memcpy(b + at, &d, 4);
		at += 4;
	}
	put_random(b + at, nimm, r);
	return at + nimm;
}

int form_encode(const struct form *form, struct rng *r, uint64_t addr, uint8_t *bytes,
		struct insn *in)
{
	uint64_t pick = rng_below(r, form->ntemplate);
	uint8_t b[INSN_MAX_LEN * 2 + 8];
	int len;

	for (int tries = 0; tries < 8; tries++) {
		memset(b, 0, sizeof(b));
		len = form->tmpl[pick].len;
		memcpy(b, form->tmpl[pick].bytes, (size_t)len);
		if (!insn_decode(in, b, (size_t)len, addr))
			return 0;
		if (tries < 6) {
			vary_prefix(b, &len, in, r);
			if (!insn_decode(in, b, (size_t)len, addr))
				continue;
		}
		len = vary_tail(b, in, r, tries < 4);
		if (len > INSN_MAX_LEN || insn_decode(in, b, (size_t)len, addr) != len)
			continue;
		if (in->z.mnemonic != form->mnemonic || form_excluded(in))
			continue;
		memcpy(bytes, b, (size_t)len);
		return len;
	}
	return 0;
}

int form_random(struct rng *r, uint64_t addr, uint8_t *bytes, struct insn *in)
{
	int len;

	for (int i = 0; i < INSN_MAX_LEN; i++)
		bytes[i] = (uint8_t)rng_u64(r);
	len = insn_decode(in, bytes, INSN_MAX_LEN, addr);
	return len && !form_excluded(in) ? len : 0;
}
