/* SPDX-License-Identifier: MIT */
/*
 * The recording: one SQLite file (docs/recording.md has the schema).
 *
 * A running recorder appends its windows to a journal table about once a second, which is cheap.
 * When it finishes, the aggregated profile replaces the journal; when the journal has grown to the
 * size of the aggregate, a snapshot of the aggregate replaces it in the meantime, so that a
 * recording grows with its content, not with time. If the recorder is killed, a reader adds the
 * journal to the snapshot: only unflushed data is lost. A recorder without windows (the exact one)
 * writes a snapshot from time to time instead.
 */
#ifndef ASSAY_STORE_RECORDING_H
#define ASSAY_STORE_RECORDING_H

#include "base/digest.h"
#include "base/err.h"
#include "observe/profile.h"

#define RECORDING_SCHEMA 5
#define RECORDING_APPLICATION_ID 0x41535359 /* "ASSY", SQLite's application_id */

struct recording; /* a recording that is open for writing */

/*
 * Creates `path` for writing: an existing recording becomes PATH.old (an existing PATH.old that is a
 * recording is replaced), an existing file that is not one is an error, never overwritten. Mode 0600, of the
 * process's user: a recorder has become the one who called sudo by then (base/privilege). NULL with err set.
 */
struct recording *recording_create(const char *path, struct err *err);

/* Appends a window to the journal, buffered in memory; recording_flush writes one transaction.
 * The profile provides images and the run, whose new rows are flushed with the windows; it must
 * contain all windows, since it replaces a journal that has become long. */
int recording_window(struct recording *r, const struct window *w, struct err *err);
int recording_flush(struct recording *r, const struct profile *p, struct err *err);
size_t recording_waiting(const struct recording *r); /* bytes of windows that are not written yet */

/* Writes a snapshot of the profile in place of the previous one, in one transaction; the
 * recording continues. Snapshots have no names of procedures. */
int recording_checkpoint(struct recording *r, const struct profile *p, struct err *err);

/* Writes the aggregated profile in place of journal and snapshot, and closes the file. On error the
 * journal is kept, and the file is closed. */
int recording_finish(struct recording *r, const struct profile *p, struct err *err);
/* Closes the file and leaves the journal in it. */
void recording_abandon(struct recording *r);

/* Writes a whole profile as a new recording (merge), under the rules of recording_create. */
int recording_write(const char *path, const struct profile *p, struct err *err);

/* Reads a recording, with its journal, and adds it to p. The file is untrusted: ERR_FAILED with
 * a message for one that is missing, no recording, truncated, corrupted, or of another schema. */
int recording_read(const char *path, struct profile *p, struct err *err);
/* Reads a recording into an empty profile; content: the digest of what was read. */
int recording_read_known(const char *path, struct profile *p, char content[DIGEST_TEXT],
			 struct err *err);
/* Of a recording under a schedule, into an empty profile: its images, its runs, and what each batch of samples counted. */
int recording_read_samples(const char *path, struct profile *p, struct err *err);

#endif
