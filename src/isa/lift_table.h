/* SPDX-License-Identifier: MIT */
/*
 * Which function lifts which mnemonic.
 */
#ifndef ASSAY_ISA_LIFT_TABLE_H
#define ASSAY_ISA_LIFT_TABLE_H

#include "isa/lift_priv.h"

lift_fn *lift_table_find(ZydisMnemonic m);

#endif
