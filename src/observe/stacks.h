/* SPDX-License-Identifier: MIT */
/*
 * Call stacks of samples: a tree of frames that holds each stack once, and how many samples ended in which frame, by thread
 * and time.
 *
 *   frame 0              the root of the tree, no frame of any stack
 *    └─ why a stack ends one frame of a kind from FRAME_ROOT on: the outermost frame of each stack says whether the stack
 *       │                is whole (FRAME_ROOT), or why it is cut
 *       └─ procedures    FRAME_CALL: `addr` is where a call returns to, so the call ends right before it
 *          └─ …
 *             └─ where the thread was: FRAME_CODE, `addr` is the instruction itself. A signal's handler is called from
 *                such a frame, too: what the signal interrupted.
 *
 * A frame's parent has a smaller number than the frame: one pass from the last frame to the first sums up what lies below
 * each. Frames are only ever added, and their numbers stay.
 *
 * Everything adds up: stacks_merge() adds the stacks of another profile, whose threads stay threads of their own runs.
 */
#ifndef ASSAY_OBSERVE_STACKS_H
#define ASSAY_OBSERVE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_KINDS(X) \
	X(NONE, "none", "") /* frame 0 alone */ \
	X(CODE, "code", "") \
	X(CALL, "call", "") \
	X(ROOT, "root", "[root]") \
	X(NO_UNWIND, "no-unwind", "[no unwind information]") \
	X(UNREADABLE, "unreadable", "[stack not readable]") \
	X(DEPTH, "depth", "[deeper than the limit]") \
	X(GENERATED, "generated", "[generated code without frame pointers]") \
	X(UNMAPPED, "unmapped", "[unknown mapping]") \
	X(LOOP, "loop", "[stack that does not end]") \
	X(NOT_WALKED, "not-walked", "[stack not walked]")
enum frame_kind {
#define X(id, name, shown) FRAME_##id,
	FRAME_KINDS(X)
#undef X
	FRAME_KIND_N,
};
/* Returns the text that stands for a frame of that kind; "" for procedures. */
extern const char *const frame_kind_shown[FRAME_KIND_N];

/* Whether a frame of the kind says why the stack ends. */
static inline bool frame_is_end(unsigned kind)
{
	return kind >= FRAME_ROOT;
}

struct frame {
	/* address in the image, as a site has it; 0 if the kind says why a stack ends */
	uint64_t addr;
	uint32_t parent, image;
	uint32_t kind; /* enum frame_kind */
	uint32_t zero; /* no padding: frames are compared by their bytes */
};

/* A thread while its name and control group stay the same; each of them makes another entry. */
struct stack_thread {
	uint32_t run, pid, tid;
	char *comm;   /* the kernel's name of the thread */
	char *cgroup; /* path below the root of control groups, or "": not known */
};

struct stack_sample {
	uint32_t frame, thread;
	uint32_t bucket; /* stretch of time since the run began, in widths */
	uint32_t count;
	double time; /* what the samples stand for, in the run's unit */
};
/* Compares samples for qsort(): by thread, then bucket, then frame. */
int stack_samples_order(const void *a, const void *b);
/* Sorts samples in that order, and adds up those of one key, unless their count would be too large.
 * Returns how many are left. */
size_t stack_samples_fold(struct stack_sample *v, size_t nsample);

#define STACKS_WIDTH \
	10000000 /* ns of time in a bucket of samples at first; the width doubles when there are too many */
#define STACKS_BUCKETS 1024 /* most buckets: more of them are merged in pairs */
#define STACKS_FRAMES_MAX (1u << 26)
#define STACKS_THREADS_MAX (1u << 22)

struct stacks {
	struct frame *frame;
	size_t nframe, frame_room; /* 0 frames: no stacks were recorded */
	struct stack_thread *thread;
	size_t nthread, thread_room;
	struct stack_sample
		*sample; /* in any order; several may have the same key until stacks_fold() */
	size_t nsample, sample_room;
	uint64_t width; /* ns of a bucket */
	uint64_t folds; /* how often samples were folded, each of which may reorder them */
	/* private */
	uint32_t *slot; /* frames by their content: a hash table of numbers, in which 0 is empty */
	size_t nslot;
	struct stack_thread_key *keys;
	size_t folded; /* samples that the last stacks_fold() left */
};

void stacks_fini(struct stacks *s);
/* Returns the frame of that content below `parent`, made if new. 0 without memory. */
uint32_t stacks_frame(struct stacks *s, uint32_t parent, unsigned kind, uint32_t image,
		      uint64_t addr);
/* Returns the thread's number, made if new. Negative without memory. */
long stacks_thread(struct stacks *s, uint32_t run, uint32_t pid, uint32_t tid, const char *comm,
		   const char *cgroup);
/* Adds samples that ended in the frame, `since` ns after the run began. -1 without memory. */
int stacks_add(struct stacks *s, uint32_t frame, uint32_t thread, uint64_t since, uint32_t count,
	       double time);
/* Widens buckets to that width, a power of two times STACKS_WIDTH, if they are narrower. */
void stacks_widen(struct stacks *s, uint64_t width);
/* Whether a bucket can be as wide as that. */
bool stacks_is_width(uint64_t width);
/* Adds up samples of the same key, and sorts them by thread, bucket and frame. */
void stacks_fold(struct stacks *s);
/* dst += src; image_map[]: dst's number of each of src's images; first_run is added to the numbers of runs. -1 without
 * memory. */
int stacks_merge(struct stacks *dst, const struct stacks *src, const uint32_t *image_map,
		 uint32_t first_run);

/* Readings. */

/* Selects samples. All members zero: all samples. */
struct stack_filter {
	const bool *thread; /* by number; NULL: all threads */
	uint64_t from, to;  /* ns since the run began; to 0: until its end */
};
/* Whether the sample passes. A bucket belongs to the stretch of time that its beginning lies in. */
bool stacks_pass(const struct stacks *s, const struct stack_filter *f,
		 const struct stack_sample *one);

#endif
