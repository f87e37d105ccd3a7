/* SPDX-License-Identifier: MIT */
/* Finds the decoder's library. */
#ifndef ASSAY_ENGINE_TRANSLATE_DECODE_H
#define ASSAY_ENGINE_TRANSLATE_DECODE_H

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

/* Finds the decoder's library. */
void decode_init(void);

#pragma GCC visibility pop

#endif
