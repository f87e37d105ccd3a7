/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Fixed-width types for code that is compiled for the kernel.
 */
#ifndef ASSAY_SAMPLER_BPF_TYPES_H
#define ASSAY_SAMPLER_BPF_TYPES_H

#include <linux/types.h>

typedef __u8 uint8_t;
typedef __s8 int8_t;
typedef __u16 uint16_t;
typedef __s16 int16_t;
typedef __u32 uint32_t;
typedef __s32 int32_t;
typedef __u64 uint64_t;
typedef __s64 int64_t;
typedef _Bool bool;
#define true 1
#define false 0

#endif
