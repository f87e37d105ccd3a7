/* SPDX-License-Identifier: MIT */
/* Finds the decoder's library. */
#ifndef ASSAY_ENGINE_TRANSLATE_DECODE_H
#define ASSAY_ENGINE_TRANSLATE_DECODE_H

#pragma GCC visibility push(hidden) /* all is in one file: no tables of addresses */

/* Finds the decoder's library. */
void decode_init(void);

#pragma GCC visibility pop

#endif
