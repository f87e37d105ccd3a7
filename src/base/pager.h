/* SPDX-License-Identifier: MIT */
/*
 * Long output on a terminal goes through a pager: $ASSAY_PAGER, else $PAGER, else less. Output for a terminal is kept
 * in memory until it is complete; output that fits on the screen is written at once, the pager reads the rest. So a
 * line of progress on the standard error never stands between lines of output, the exit status is the verb's own, and a
 * pager that the user leaves early stops nothing.
 */
#ifndef ASSAY_BASE_PAGER_H
#define ASSAY_BASE_PAGER_H

#include <stdbool.h>

/* From here on the standard output is kept, if it is a terminal. paged: the user did not refuse a pager. */
void pager_begin(bool paged);
/* Writes the kept text, or lets the pager show it and waits for the pager. Does nothing if pager_begin() kept nothing. */
void pager_end(void);
/* Returns the terminal that the descriptor's output ends up on; the descriptor itself if nothing is kept. */
int pager_terminal(int fd);

#endif
