/* SPDX-License-Identifier: MIT */
/*
 * A consumer of executed instructions in order (exact/order.h) that gives them to a simulated co-processor (coproc/lab.h).
 *
 * The co-processor sees each instruction at an address that does not depend on where images are loaded: image i begins
 * at i times 256 MiB, in 32 bits. All threads and processes share one co-processor, in the turns in which their streams
 * are read. Time is that of the core model (model/timing.h), or four instructions a cycle.
 */
#ifndef ASSAY_EXACT_COPROCESS_H
#define ASSAY_EXACT_COPROCESS_H

#include "coproc/lab.h"
#include "exact/order.h"
#include "model/machine.h"
#include "observe/profile.h"

struct coprocess;

/* Makes a co-processor. m: the core model's machine; NULL: four instructions retire in a cycle.
 * NULL with err set. Both arguments have to live as long. */
struct coprocess *coprocess_new(struct lab *l, struct profile *p, const struct machine *m,
				struct err *err);
void coprocess_free(struct coprocess *c);
const struct order_consumer *coprocess_consumer(const struct coprocess *c);

/* Called when the run has ended. -1 with err set: the program trapped, now or while it ran. */
int coprocess_end(struct coprocess *c, struct err *err);
/* Whether an error has stopped the co-processor, so that it takes nothing more. */
bool coprocess_failed(const struct coprocess *c);
uint64_t coprocess_instructions(const struct coprocess *c);
uint64_t coprocess_cycles(const struct coprocess *c);
const struct lab *coprocess_lab(const struct coprocess *c);
/* Returns the site at an address of the co-processor's; NULL: none. */
const struct site *coprocess_site(const struct coprocess *c, uint64_t pc);
/* Replaces the profile's contents by what the co-processor learned. `observed` of a site is its
 * number of samples. -1 without memory. */
int coprocess_record(const struct coprocess *c, struct profile *p);

#endif
