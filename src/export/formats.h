/* SPDX-License-Identifier: MIT */
/* The list of formats, one line each. */
#ifndef ASSAY_EXPORT_FORMATS_H
#define ASSAY_EXPORT_FORMATS_H

#include "export/export.h"

extern const struct export_format export_bolt, export_autofdo, export_callgrind, export_folded,
	export_pprof, export_speedscope, export_firefox, export_perf_script;

#endif
