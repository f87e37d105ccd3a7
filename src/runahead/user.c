/* SPDX-License-Identifier: MIT */
#include "runahead/user.h"

static _Thread_local const struct ra_env *cur;

static inline const struct uop *ra_uop_at(uint32_t index)
{
	return index < cur->code->nuop ? &cur->code->uop[index] : NULL;
}

static inline int ra_read_user(uint64_t addr, uint32_t bytes, uint64_t *val)
{
	return cur->read(cur->ctx, addr, bytes, val);
}

static inline int ra_read_line(uint64_t addr, uint64_t *data)
{
	for (int i = 0; i < RA_LINE_BYTES / 8; i++)
		if (cur->read(cur->ctx, addr + 8 * (uint64_t)i, 8, &data[i]))
			return -1;
	return 0;
}

static inline const struct code_line *ra_line_at(uint32_t index)
{
	return &cur->code->line[index];
}

static inline uint32_t ra_line_bits(void)
{
	return cur->code->line_bits;
}

static inline void ra_link(uint32_t from, uint32_t to)
{
	cur->code->uop[from].imm = to;
}

static inline void ra_mark(uint32_t at, uint32_t flags)
{
	cur->code->uop[at].flags |= (uint8_t)flags;
}

static inline int ra_map(struct ra_state *s, uint64_t addr)
{
	return cur->map(cur->ctx, s, addr);
}

#include "runahead/interp.h"

void ra_user_run(struct ra_state *s, const struct ra_env *env, uint64_t ip, uint64_t rflags,
		 uint32_t burst)
{
	uint32_t left = ra_budget(burst);

	cur = env;
	ra_new_mappings(s);
	s->known &= (1u << UR_BIAS) - 1;
	ra_begin(s, rflags, burst);
	if (rflags & FL_DF) {
		s->stop = RA_STOP_UNSUPPORTED;
		return;
	}
	if (ra_goto(s, ip))
		return;
	while (left--) {
		s->uops++;
		if (ra_step(s))
			return;
	}
	s->stop = RA_STOP_STRING;
}
