/* SPDX-License-Identifier: MIT */
/*
 * The recording: one SQLite file (docs/recording.md has the schema).
 *
 * While a recorder runs it appends what it saw to a journal table, cheaply, about once a second.
 * When it finishes, the aggregated profile replaces the journal; when the journal has grown to the size of the aggregate,
 * a snapshot of the aggregate replaces it meanwhile, so that a recording grows as what it tells does, and not with time.
 * If the recorder is killed, a reader adds the journal to the snapshot: the result is the same but for what was not flushed
 * yet. Who keeps no windows (the exact recorder) writes a snapshot from time to time instead.
 */
#ifndef ASSAY_STORE_RECORDING_H
#define ASSAY_STORE_RECORDING_H

#include "base/digest.h"
#include "base/err.h"
#include "observe/profile.h"

#define RECORDING_SCHEMA 1
#define RECORDING_APPLICATION_ID 0x41535359 /* "ASSY", SQLite's application_id */

struct recording; /* open for writing */

/*
 * Creates `path` for writing: an existing recording becomes PATH.old (an existing PATH.old that is a
 * recording is replaced), an existing file that is not one is an error, never overwritten. Mode 0600, of the
 * process's user: a recorder has become the one who called sudo by then (base/privilege). NULL with err set.
 */
struct recording *recording_create(const char *path, struct err *err);

/* Journal: windows as they came. Buffered in memory; recording_flush writes one transaction. The
 * profile is consulted for images and the run, whose new rows are flushed with them; it is to have all windows, since it
 * replaces a journal that has become long. */
int recording_window(struct recording *r, const struct window *w, struct err *err);
int recording_flush(struct recording *r, const struct profile *p, struct err *err);

/* Writes a snapshot of the profile in place of the one before, in one transaction; the recording goes on.
 * Names of procedures are not in it. */
int recording_checkpoint(struct recording *r, const struct profile *p, struct err *err);

/* Writes the aggregated profile, drops journal and snapshot, closes. On error the journal is still there and
 * the file is closed. */
int recording_finish(struct recording *r, const struct profile *p, struct err *err);
/* The same with sites in a snapshot, in place of rows: for very many of them. */
int recording_finish_packed(struct recording *r, const struct profile *p, struct err *err);
/* Closes leaving the journal. */
void recording_abandon(struct recording *r);

/* Writes a whole profile as a new recording (merge), under the rules of recording_create. */
int recording_write(const char *path, const struct profile *p, struct err *err);

/* Reads a recording, journal included, into p, which is added to. Nothing in the file is trusted:
 * ERR_FAILED with a message for one that is missing, no recording, truncated, corrupted, or of a newer
 * schema. */
int recording_read(const char *path, struct profile *p, struct err *err);
/* The same into an empty profile; content: the digest of what was read. */
int recording_read_known(const char *path, struct profile *p, char content[DIGEST_TEXT],
			 struct err *err);
/* Of a recording under a schedule, into an empty profile: its images, its runs, and what each batch of samples counted. */
int recording_read_samples(const char *path, struct profile *p, struct err *err);

#endif
