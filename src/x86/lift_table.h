/* SPDX-License-Identifier: MIT */
/* The table of the functions that lift instructions, by mnemonic. */
#ifndef ASSAY_X86_LIFT_TABLE_H
#define ASSAY_X86_LIFT_TABLE_H

#include "x86/lift_priv.h"

lift_fn *lift_table_find(ZydisMnemonic m);

#endif
