/* SPDX-License-Identifier: MIT */
/*
 * Messages in the wire format of protocol buffers: fields behind one another, each with its number and type. A field that
 * is 0 or "" is left out, as proto3 has it.
 */
#ifndef ASSAY_EXPORT_PROTO_H
#define ASSAY_EXPORT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto {
	uint8_t *p;
	size_t n, room;
	bool failed; /* memory ran out; everything that follows is ignored */
};

void proto_fini(struct proto *m);
void proto_uint(struct proto *m, unsigned field, uint64_t v);
/* Numbers in a packed list; an empty list is left out. */
void proto_packed(struct proto *m, unsigned field, const uint64_t *v, size_t n);
/* Another message, which is emptied by this. */
void proto_message(struct proto *m, unsigned field, struct proto *inner);
/* Text, even if empty: an element of a list. */
void proto_element(struct proto *m, unsigned field, const char *s, size_t n);

#endif
