/* SPDX-License-Identifier: MIT */
/*
 * An image's call frame information: that of .eh_frame, or else of .debug_frame, in which programs that are built without the
 * former have it, all but what the C library adds to them. The instructions are those of DWARF 5, section 6.4.2. What they may
 * take of time and memory is bounded by their length, whatever the file says.
 */
#ifndef ASSAY_IMAGE_CFI_H
#define ASSAY_IMAGE_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/entries.h"

#define CFI_RETURN 16	 /* column of the return address */
#define CFI_REGISTERS 17 /* columns that are told of, numbered as DWARF numbers registers */

/* Where the caller's value of a register is. CFA is the canonical frame address. */
enum cfi_how {
	CFI_DEFAULT,	/* no rule is given */
	CFI_UNDEFINED,	/* the value is lost; of the return address: there is no caller */
	CFI_SAME,	/* still in the register */
	CFI_OFFSET,	/* stored at CFA + off */
	CFI_VAL_OFFSET, /* CFA + off */
	CFI_REGISTER,	/* in the register of that number */
	CFI_EXPRESSION, /* stored where an expression says, which begins with the CFA */
	CFI_VAL_EXPRESSION,
};

struct cfi_rule {
	enum cfi_how how;
	uint32_t bytes; /* of the expression */
	union {
		int64_t off;
		uint64_t reg;
		const uint8_t *expression;
	};
};

struct cfi_frame {
	uint64_t start, end; /* the code that the rules are for */
	bool signal;	     /* the frame is that of a signal */
	enum {
		CFI_CFA_OFFSET,	    /* the CFA is register `base` + off */
		CFI_CFA_EXPRESSION, /* the CFA is the value of an expression */
	} cfa;
	uint64_t base;
	int64_t off;
	struct dwarf_cursor expression;
	struct cfi_rule rule[CFI_REGISTERS];
};

struct cfi_section {
	bool tried;
	struct entries entries;
	struct cfi_place *place; /* of FDEs, by the code that they describe */
	size_t n, cap;
};

struct cfi {
	struct cfi_section eh, debug;
	struct cfi_run *run; /* of the FDE that was asked for last, or NULL */
};

/* Finds the rules of the code at addr. They stay valid until the next call. NULL: there are none, or no memory. */
const struct cfi_frame *cfi_frame(struct cfi *c, const struct elf_file *f, uint64_t addr);
/* Returns how much memory was taken for that since cfi_fini(). */
size_t cfi_bytes(const struct cfi *c);
/* Frees it; cfi_frame() reads it again. */
void cfi_fini(struct cfi *c);

#endif
