/* SPDX-License-Identifier: MIT */
#include "cfg/code_priv.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t *image_bytes(void *ctx, uint64_t addr, size_t *n)
{
	const struct cfg_code *c = ctx;

	return image_code(c->im, addr, n);
}

static bool image_proc(void *ctx, uint64_t addr, struct cfg_proc *proc)
{
	const struct cfg_code *c = ctx;
	const struct image_proc *p = image_proc_at(c->im, addr);

	if (!p)
		return false;
	*proc = (struct cfg_proc){ p->start, p->end, p->name };
	return true;
}

static bool image_bytes_of_data(void *ctx, uint64_t addr, void *buf, size_t n, bool *constant)
{
	const struct cfg_code *c = ctx;

	return image_data(c->im, addr, buf, n, constant);
}

static size_t image_pads_of(void *ctx, uint64_t start, uint64_t *pad, size_t max)
{
	const struct cfg_code *c = ctx;

	return image_pads(c->im, start, pad, max);
}

struct cfg_code *cfg_code_over(const struct cfg_source *src, struct err *err)
{
	struct cfg_code *c = calloc(1, sizeof(*c));

	if (c)
		c->memo = lift_memo_new();
	if (!c || !c->memo) {
		cfg_code_free(c);
		err_no_memory(err, "control-flow graphs");
		return NULL;
	}
	c->src = *src;
	return c;
}

struct cfg_code *cfg_code_new(struct image *im, struct err *err)
{
	struct cfg_source src = { .bytes = image_bytes,
				  .proc = image_proc,
				  .data = image_bytes_of_data,
				  .pads = image_pads_of };
	struct cfg_code *c = cfg_code_over(&src, err);

	if (!c)
		return NULL;
	c->im = im;
	c->src.ctx = c;
	return c;
}

void cfg_code_free(struct cfg_code *c)
{
	if (!c)
		return;
	lift_memo_free(c->memo);
	code_found_fini(c);
	free(c->callee);
	free(c->learnt);
	free(c->entry);
	free(c->scanned);
	free(c);
}

bool cfg_code_proc(struct cfg_code *c, uint64_t addr, struct cfg_proc *proc)
{
	const struct code_found *f;

	if (c->src.proc(c->src.ctx, addr, proc) && proc->start <= addr && addr < proc->end)
		return true;
	f = code_find_unnamed(c, addr);
	if (!f)
		return false;
	*proc = (struct cfg_proc){ f->start, f->end, f->name };
	return true;
}

static bool fetch(struct cfg_code *c, struct code_at *at, uint64_t addr)
{
	if (at->p && addr - at->addr < at->left && at->left - (addr - at->addr) >= INSN_MAX_LEN) {
		at->p += addr - at->addr;
		at->left -= addr - at->addr;
		at->addr = addr;
		return true;
	}
	at->p = c->src.bytes(c->src.ctx, addr, &at->left);
	at->addr = addr;
	return at->p && at->left;
}

bool code_decode(struct cfg_code *c, struct code_at *at, uint64_t addr, struct code_insn *in)
{
	const struct lift_form *f;
	struct lift_values v = { 0 };

	if (!fetch(c, at, addr))
		return false;
	lift_memo_rest(c->memo);
	f = lift_memo_decode(c->memo, at->p, at->left, &v);
	if (!f)
		return false;
	*in = (struct code_insn){ .target = f->has_target ? addr + f->len + (uint64_t)v.imm : 0,
				  .len = f->len,
				  .cls = f->cls,
				  .falls = f->falls_through,
				  .ends = f->ends_block,
				  .nop = f->nop };
	return true;
}

bool code_decode_fully(struct cfg_code *c, uint64_t addr, struct insn *in)
{
	struct code_at at = { 0 };

	return fetch(c, &at, addr) && insn_decode(in, at.p, at.left, addr) > 0;
}

struct image *cfg_open_recorded(const struct profile_image *pi, struct err *err)
{
	struct image *im;

	if (pi->kind != IMAGE_FILE) {
		err_set(err, ERR_FAILED, "%s is no file: it has no control-flow graphs", pi->path);
		return NULL;
	}
	im = image_open(pi->path, pi->path, err);
	if (!im) {
		err_hint(err, "put back the file that was recorded, or record again");
		return NULL;
	}
	if (pi->build_id[0] && strcmp(image_build_id(im), pi->build_id)) {
		err_set(err, ERR_FAILED,
			"%s is not the file that was recorded (build-id %.16s, recorded %.16s)",
			pi->path, image_build_id(im), pi->build_id);
		err_hint(err, "put back the file that was recorded, or record again");
		image_close(im);
		return NULL;
	}
	return im;
}
