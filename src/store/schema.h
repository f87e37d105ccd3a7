/* SPDX-License-Identifier: MIT */
/*
 * The schema of a recording (docs/recording.md), version RECORDING_SCHEMA, which changes whenever a table does.
 */
#ifndef ASSAY_STORE_SCHEMA_H
#define ASSAY_STORE_SCHEMA_H

#include "observe/cycles.h"
#include "observe/misses.h"
#include "observe/reuses.h"

#define X(id, name, what) ", " name " INTEGER"
#define Y(name, what) ", " #name " INTEGER"
#define MISS_COLUMNS MISSES(X)
#define CYCLE_COLUMNS TIMING_PARTS(X)
#define REUSE_COLUMNS REUSES_COUNTS(Y)

static const char schema_sql[] =
	"CREATE TABLE run(id INTEGER PRIMARY KEY, source TEXT, command TEXT, host TEXT, cpu TEXT,"
	" kernel TEXT, version TEXT, event TEXT, unit TEXT, started INTEGER, rate REAL,"
	" burst INTEGER, sketch INTEGER, sketch_capacity INTEGER, status INTEGER, finished INTEGER,"
	" distance INTEGER, machine TEXT, clock INTEGER);"
	"CREATE TABLE counter(run INTEGER, name TEXT, value INTEGER, PRIMARY KEY(run, name))"
	" WITHOUT ROWID;"
	"CREATE TABLE image(id INTEGER PRIMARY KEY, kind TEXT, path TEXT, build_id TEXT,"
	" stripped INTEGER, layout_samples INTEGER, layout_squares REAL);"
	"CREATE TABLE procedure(image INTEGER, start INTEGER, end INTEGER, name TEXT,"
	" PRIMARY KEY(image, start)) WITHOUT ROWID;"
	"CREATE TABLE call(part INTEGER PRIMARY KEY, size INTEGER, calls BLOB);"
	"CREATE TABLE conflict(part INTEGER PRIMARY KEY, size INTEGER, conflicts BLOB);"
	"CREATE TABLE miss(image INTEGER, address INTEGER" MISS_COLUMNS
	", PRIMARY KEY(image, address)) WITHOUT ROWID;"
	"CREATE TABLE cycle(image INTEGER, address INTEGER" CYCLE_COLUMNS
	", PRIMARY KEY(image, address)) WITHOUT ROWID;"
	"CREATE TABLE spread(image INTEGER, address INTEGER, seen INTEGER, lines BLOB, pages BLOB,"
	" PRIMARY KEY(image, address)) WITHOUT ROWID;"
	"CREATE TABLE distance(run INTEGER, number INTEGER, pid INTEGER, line INTEGER,"
	" cold INTEGER, buckets BLOB, PRIMARY KEY(run, number)) WITHOUT ROWID;"
	"CREATE TABLE site_distance(image INTEGER, address INTEGER, cold INTEGER, octaves BLOB,"
	" PRIMARY KEY(image, address)) WITHOUT ROWID;"
	"CREATE TABLE tally(image INTEGER, address INTEGER, step INTEGER, agreed INTEGER,"
	" differed INTEGER, seen INTEGER, strangers INTEGER, gaps BLOB, peers BLOB,"
	" PRIMARY KEY(image, address)) WITHOUT ROWID;"
	"CREATE TABLE reuse(run INTEGER, pid INTEGER, windows INTEGER, instructions INTEGER,"
	" touches INTEGER, watched INTEGER" REUSE_COLUMNS
	", near_ended BLOB, near_left BLOB, far_ended BLOB, far_left BLOB,"
	" touches_square INTEGER, watches_square INTEGER, PRIMARY KEY(run, pid)) WITHOUT ROWID;"
	"CREATE TABLE sampled(run INTEGER PRIMARY KEY, schedule TEXT, size INTEGER, warmup INTEGER,"
	" instructions INTEGER, expected INTEGER, mismatch INTEGER, killed INTEGER,"
	" scaled INTEGER);"
	"CREATE TABLE sample(run INTEGER, row INTEGER, number INTEGER, begin INTEGER, end INTEGER,"
	" pid INTEGER, batch INTEGER, cut INTEGER, PRIMARY KEY(run, row)) WITHOUT ROWID;"
	"CREATE TABLE sample_batch(run INTEGER, batch INTEGER, weight REAL, dropped INTEGER,"
	" PRIMARY KEY(run, batch)) WITHOUT ROWID;"
	"CREATE TABLE sample_value(run INTEGER, batch INTEGER, counter TEXT, value INTEGER,"
	" PRIMARY KEY(run, batch, counter)) WITHOUT ROWID;"
	"CREATE TABLE reuse_region(run INTEGER, pid INTEGER, image INTEGER, address INTEGER,"
	" windows INTEGER, instructions INTEGER, touches INTEGER, watched INTEGER" REUSE_COLUMNS
	", near_ended BLOB, near_left BLOB, far_ended BLOB, far_left BLOB,"
	" touches_square INTEGER, watches_square INTEGER, PRIMARY KEY(run, pid, image, address))"
	" WITHOUT ROWID;"
	"CREATE TABLE journal(seq INTEGER PRIMARY KEY, size INTEGER, windows BLOB);"
	"CREATE TABLE site(part INTEGER PRIMARY KEY, size INTEGER, sites BLOB);"
	"CREATE TABLE edge(part INTEGER PRIMARY KEY, size INTEGER, edges BLOB);"
	"CREATE TABLE wset(run INTEGER, process INTEGER, pid INTEGER, parent INTEGER, command TEXT,"
	" line INTEGER, unit TEXT, interval INTEGER, max INTEGER, PRIMARY KEY(run, process))"
	" WITHOUT ROWID;"
	"CREATE TABLE wset_region(run INTEGER, process INTEGER, region INTEGER, kind TEXT,"
	" name TEXT, PRIMARY KEY(run, process, region)) WITHOUT ROWID;"
	"CREATE TABLE wset_interval(run INTEGER, process INTEGER, number INTEGER, start INTEGER,"
	" end INTEGER, cpu_ns INTEGER, wall_ns INTEGER, lines INTEGER, code_lines INTEGER,"
	" first INTEGER, stack TEXT, size INTEGER, sets BLOB, PRIMARY KEY(run, process, number))"
	" WITHOUT ROWID;"
	"CREATE TABLE wset_first(run INTEGER, process INTEGER, procedure TEXT, lines INTEGER,"
	" PRIMARY KEY(run, process, procedure)) WITHOUT ROWID;"
	"CREATE TABLE phases(run INTEGER, process INTEGER, pid INTEGER, parent INTEGER,"
	" wanted INTEGER, max INTEGER, size INTEGER, blocks BLOB, PRIMARY KEY(run, process))"
	" WITHOUT ROWID;"
	"CREATE TABLE phases_part(run INTEGER, process INTEGER, part INTEGER, size INTEGER,"
	" intervals BLOB, PRIMARY KEY(run, process, part)) WITHOUT ROWID;";

/* Made when there are call stacks to be written. */
static const char schema_stacks_sql[] =
	"CREATE TABLE IF NOT EXISTS frame(first INTEGER PRIMARY KEY, size INTEGER, frames BLOB);"
	"CREATE TABLE IF NOT EXISTS stack_thread(number INTEGER PRIMARY KEY, run INTEGER,"
	" pid INTEGER, tid INTEGER, comm TEXT, cgroup TEXT);"
	"CREATE TABLE IF NOT EXISTS stack(part INTEGER PRIMARY KEY, width INTEGER, size INTEGER,"
	" samples BLOB);";

#undef X
#undef Y
#undef MISS_COLUMNS
#undef CYCLE_COLUMNS
#undef REUSE_COLUMNS

#endif
