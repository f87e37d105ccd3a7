/* SPDX-License-Identifier: MIT */
/*
 * The exact engine's run time: it lives in the program's process and runs the program from a code cache.
 *
 *   start ── elf        maps the program, its interpreter and the decoder's library
 *     │
 *   dispatch ─┬─ cache      blocks by address, links between them, what becomes invalid
 *     ▲  │    ├─ flush      … a full one
 *     │  │    ├─ translate  a block of the program to code in the cache
 *     │  ▼    ├─ regions    which memory is code, and whether it can be written
 *   switch.S  ├─ signals    what the program sees of them
 *             └─ syscalls ── process   threads, children, exec
 *
 * While the program's code runs, all registers but gs are the program's; gs is the thread's context. The
 * engine uses general registers only, so vector and x87 state are the program's throughout; the decoder's
 * library is called with xmm and fs put aside.
 */
#ifndef ASSAY_DBI_RT_RT_H
#define ASSAY_DBI_RT_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dbi/rt/layout.h"
#include "dbi/rt/registers.h"
#include "dbi/shared.h"

#pragma GCC visibility push(hidden) /* all in one file: no tables of addresses */

typedef uint64_t sig_set;
#define SIGNALS 64
#define sig_bit(n) (1ull << ((n)-1))

struct action { /* as the kernel takes it */
	uint64_t handler, flags, restorer;
	sig_set mask;
};

/* Threads that share signal handlers share one. */
struct handlers {
	int users;
	int lock;
	struct action a[SIGNALS + 1];
};

struct sig_info {
	int signo, err, code, pad;
	uint64_t addr; /* or pid, uid */
	uint8_t rest[104];
};

struct sig_stack {
	uint64_t sp;
	int flags, pad;
	uint64_t size;
};

struct pending {
	struct sig_info info;
	uint64_t err, trapno, cr2;
	sig_set mask;	/* the program's, to be restored when its handler returns */
	sig_set during; /* … what its handler's is added to: of a system call that waits with a mask of its own, that one */
	bool fault;	/* by the instruction at pc */
};

struct thread {
	struct thread *self;
	int64_t exit_link;
	uint64_t engine_sp;
	uint64_t target;
	uint64_t pending;
	uint64_t pc, flags, gs_base, flags_spill;
	uint64_t stop;
	uint64_t site;
	uint64_t plane;
	uint64_t area; /* of restartable sequences: see rseq.c */
	uint64_t aside[3];
	uint64_t regs[16];
	uint64_t spill[16];
	uint64_t later[8 + 16];
	int64_t left[LEFT_PARTS];
	/* C alone from here */
	struct pending signal;
	sig_set blocked; /* of those that the engine keeps open */
	sig_set held; /* of those, and of any while one is pending: that have come meanwhile, not as faults */
	struct { /* the system call's own mask, while it waits */
		sig_set mask;
		bool on;
	} wait;
	struct sig_info held_info[SIGNALS + 1];
	struct handlers *handlers;
	struct sig_stack altstack;
	struct thread *next; /* all threads */
	struct known *known; /* what counts the instruction in its block for code that changes */
	uint32_t once;	     /* … which is this: number + 1 */
	int tid;
	uint64_t no_area[4]; /* in the place of a registered one */
	uint64_t named;	     /* the section that the area was last seen to name */
	struct {
		uint64_t pc, addr;
	} excused;	  /* a fault in a section that was not told of */
	bool interrupted; /* in a section: it goes on at the section's handler */
	bool stepping;	  /* to a place where the pending signal can be delivered */
	bool steps_pushf; /* … over a pushf, which pushes the flag that makes it step */
	bool ended;
	bool told;   /* what it has counted is told, or left to the recorder: phases.c */
	bool mapped; /* the recorder's memory for it: counters, stream */
	int called;  /* out of the cache, by a signal that has not come yet: see flush.c */
	bool inside; /* may look at blocks, links, counters: flush.c waits until it does not */
	bool uncount; /* the instruction at pc, counted in a cache that is no more, is still to come */
	bool in_library;  /* of the decoder: */
	uint64_t fs_base; /* the program's, while it runs */
	struct {
		uint64_t start, size, selector;
		bool on;
	} user_calls; /* PR_SET_SYSCALL_USER_DISPATCH: calls from elsewhere are signals, where the byte says so */
	bool reset;		     /* its clone reset the handlers */
	uint64_t clear_tid;	     /* where the kernel writes when it ends; 0: nowhere */
	int64_t granted[LEFT_PARTS]; /* what `left` began with */
	int64_t taken[LEFT_PARTS];   /* … of the one before */
	uint32_t
		shorten; /* the next block has only so many instructions: the schedule's next phase begins behind them; or 0 */
	uint8_t xmm[16 * 16];
};

/* Enters the cache at t->target; returns when it is left, the reason in t->exit_link. */
void rt_enter(struct thread *t);
void rt_exit(void);
void rt_enter_check(void), rt_enter_end(void), rt_enter_abort(void); /* addresses only */
void rt_once_ret(void), rt_once_jump(void);
void rt_ibl_ret(void), rt_ibl_jump(void), rt_ibl_jump_miss(void), rt_ibl_begin(void),
	rt_ibl_end(void);
/* … of sites from NEAR_SITES on. */
void rt_ibl_far_ret(void), rt_ibl_far_jump(void);
/* … where nothing is counted. */
void rt_direct_wrong(void), rt_direct_none(void);
/* The system call in t->regs, restartable: returns its result, or RESTART if a signal came first. */
long rt_syscall(struct thread *t);
void rt_syscall_begin(void), rt_syscall_insn(void), rt_syscall_restart(void);
#define RESTART (-512)
/* Copies, or returns false if memory cannot be accessed. */
bool rt_copy(void *to, const void *from, size_t n);
void rt_copy_begin(void), rt_copy_end(void), rt_copy_failed(void);
struct sig_ucontext;
void on_signal(int sig, struct sig_info *info, struct sig_ucontext *uc);
void rt_on_signal(void), rt_sigreturn(void);
/* Switches to the stack and calls; does not return. */
void rt_call_on(uint64_t sp, void (*f)(void *), void *arg) __attribute__((noreturn));
/* clone with registers as given; in the child (which has the stack) calls f(arg). */
long rt_clone(long nr, long a, long b, long c, long d, long e, uint64_t child_sp, void (*f)(void *),
	      void *arg);
void rt_save_xmm(void *to), rt_load_xmm(const void *from);

static inline struct thread *self(void)
{
	struct thread *t;

	__asm__ volatile("mov %%gs:rt_context(%%rip), %0" : "=r"(t));
	return t;
}

static inline uint64_t fs_base(void)
{
	uint64_t v;

	__asm__ volatile("rdfsbase %0" : "=r"(v));
	return v;
}

static inline void set_fs_base(uint64_t v)
{
	__asm__ volatile("wrfsbase %0" ::"r"(v));
}

static inline void set_gs_base(uint64_t v)
{
	__asm__ volatile("wrgsbase %0" ::"r"(v));
}

static inline void set_self(struct thread *t)
{
	set_gs_base((uint64_t)t - CONTEXT);
}

/* util.c */
void *memcpy(void *to, const void *from, size_t n);
void *memset(void *p, int c, size_t n);
size_t strlen(const char *s);
int memcmp(const void *a, const void *b, size_t n);
int strcmp(const char *a, const char *b);
bool starts_with(const char *s, const char *prefix);
/* printf's %s %d %x %c to standard error, in one write. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
size_t format(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Ends the process, after a message: the engine itself cannot go on. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Memory for good, zeroed. */
void *arena(size_t n);
#define LARGE_PAGE (2ul << 20)
/* Address space, zeroed when touched. What is reserved densely lies in large pages: for what is touched all over; `align`
 * is a power of two. What grows is touched from its begin on, and lies in large pages but for what small programs need:
 * of the first one that is in the page of what is reserved densely, else in small ones. */
void *reserve(size_t n), *reserve_densely(size_t n, size_t align), *reserve_growing(size_t n);
#define GROWING_SMALL (256ul << 10)
/* A free place of the engine's room, mapped: mmap's arguments and result. */
long room_map(size_t n, int prot, int flags, long fd, uint64_t offset);
/* Between these two calls no other thread is in one of the functions above: a child that is forked meanwhile can call
 * them. */
void memory_hold(void), memory_release(void);
void lock(int *l), unlock(int *l);

/* elf.c */
struct loaded {
	uint64_t base; /* added to the file's addresses */
	uint64_t entry, phdr;
	unsigned phnum, phent;
	char interp[256]; /* "" if none */
	uint64_t
		heap; /* where the kernel would begin it: behind the image, of one that says where it lies; else 0 */
	bool exec_stack;
};
/* Maps a program or an interpreter. fd stays open. -errno, -ENOEXEC if its headers are damaged, or why it
 * cannot be run. */
enum refusal {
	REFUSE_FORMAT = -1000,
	REFUSE_32_BIT,
	REFUSE_MACHINE,
	REFUSE_TYPE,
	REFUSE_RIGHTS,
	REFUSE_UNREADABLE,
};
int elf_load(int fd, struct loaded *out);
struct library {
	uint64_t base;
	const void *sym;
	const char *str;
	unsigned nsym;
};
/* Where n bytes of an image go, within reach of the cache; 0: anywhere. */
uint64_t near_hint(uint64_t n);
/* In the engine's room. */
int elf_load_library(int fd, struct library *lib, uint64_t (*resolve)(const char *name));
uint64_t elf_symbol(const struct library *lib, const char *name);

/* regions.c */
struct region {
	uint64_t start, end;
	uint64_t offset, dev, inode;
	int prot;
	bool shared;
	uint32_t image; /* number in the log, or 0 */
	char path[192];
};
/* The code region of an address, or NULL if it cannot be executed. */
struct region *region_of(uint64_t pc);
/* Why it cannot be executed: SEGV_MAPERR or SEGV_ACCERR. */
int regions_fault(uint64_t pc);
void regions_protect(uint64_t start, uint64_t n, int prot); /* mprotect has been done */
void regions_forget(uint64_t start, uint64_t n);	    /* mapped anew or unmapped */
/* … the whole mapping there, whose size nobody says, if code of it was met. */
void regions_detached(uint64_t addr);
/* A write fault: true if the page was protected by us, and can be written now. */
bool regions_write_fault(uint64_t addr);
/* Before code of the page is translated: watches it if it can be written. Returns false if its code
 * changes so often that no translation may be kept. */
bool regions_watch(const struct region *r, uint64_t pc, unsigned n);
/* Gives pages their own protection again: before they are moved, or the kernel writes there. */
void regions_release(uint64_t start, uint64_t n);
/* The page can be written, and is protected by us. */
bool regions_watched(uint64_t page);
/* How far, up to `end`, all pages from `page` on are that, or none of them is. */
uint64_t regions_watched_alike(uint64_t page, uint64_t end);
/* The kernel writes there at any time: the page is never protected. */
void regions_keep_writable(uint64_t addr);
/* Images are numbered anew. */
void regions_renumber(void);
bool regions_any_watched(void);
bool regions_unwatch_all(void); /* true if there were any */

/* decode.c */
/* Finds the decoder's library. */
void decode_init(void);

/* translate.c, publish.c, place.c */
struct block {
	uint64_t pc, code; /* read by switch.S */
	uint32_t size;	   /* of the code */
	uint16_t len, n;   /* bytes and instructions of the program */
	uint32_t link;	   /* first of its links */
	uint32_t links;
	uint32_t in;	       /* links that lead here: number + 1, a list */
	uint32_t next_page[2]; /* blocks of the same page: number + 1 */
	uint32_t site;	       /* number of the indirect jump, call or return at its end, or 0 */
	uint16_t flags;
	uint16_t weight;      /* what an execution takes of T_LEFT */
	uint32_t id;	      /* the recorder's number; those of its exits follow */
	const uint8_t *bytes; /* the program's at pc, as they were, and BYTES_BEHIND more */
};
#define BYTES_BEHIND 15 /* what the decoder sees of what is no instruction */
#define BLOCK_DEAD 1
#define BLOCK_ONCE 2	    /* one instruction, never kept: its code changes */
#define BLOCK_FLAGS_DEAD 8  /* arithmetic flags are not read before they are written */
#define BLOCK_EXITS_DEAD 16 /* … where it ends */
/* The program may write there. Others may be about to enter the code when it is forgotten: it begins with a no-op
 * then, which becomes a jump out of the cache, to the link behind the block's own ones. */
#define BLOCK_CHANGES 32
#define BLOCK_CHECKED 128 /* of a restartable sequence: see rseq.c */
#define BLOCK_GUARDED 256 /* … a store */
#define BLOCK_SKIPS 64	  /* made for skipping: nothing of it is observed */
#define BLOCK_INVERTED 4  /* its branch has the opposite condition, its two links are exchanged */

#define EXITS_MAX 4 /* branches that leave a block before its end */
enum link_kind {
	LINK_JUMP,    /* goes on at target */
	LINK_SYSCALL, /* target is the instruction after it */
	LINK_ODD,     /* an instruction that the engine does itself: target is the instruction */
	LINK_LATER,   /* target is the instruction after one whose lines are to be marked now */
};
struct link {
	uint64_t target;
	uint32_t site; /* cache offset of the rel32, 0 if it can't be linked */
	uint32_t stub; /* cache offset, 0 if it has none */
	uint32_t from; /* block */
	uint32_t next; /* in target's list */
	uint8_t kind;
	bool linked;
	bool fallen;  /* its jump is gone: target's code follows */
	bool edge;    /* counted */
	uint8_t exit; /* … by that exit's counter; 0: the block's second one */
};

/* Where its jump leads to from now on. */
static inline void link_patch(struct link *l, uint64_t to)
{
	uint64_t site = CACHE_BASE + l->site;

	__atomic_store_n((int32_t *)site, (int32_t)(to - (site + 4)), __ATOMIC_RELEASE);
}

/* Makes a block of the code at pc; NULL if there is none to decode (a fault is then pending). If `from`
 * leads there and its block was the last one made, the code goes on where that one ends. */
struct block *translate(struct thread *t, uint64_t pc, struct link *from);
/* … of the first n instructions there, or fewer: nothing leads to it. */
struct block *translate_short(struct thread *t, uint64_t pc, unsigned n);
/* What the program's state is where the cache's code stands at `at`, in a block. */
struct place {
	uint64_t pc, next; /* the instruction, and what follows it */
	uint32_t spilled;  /* registers whose value is in t->spill */
	unsigned done;	   /* instructions of the block that are complete */
	bool clean;	   /* exactly between two instructions */
	bool counted;	   /* the block's counter has been advanced */
	unsigned record;   /* bytes of the stream that are complete */
	unsigned base;	   /* register that points to the execution's record, or NO_REG */
	unsigned closed;   /* the whole record's bytes, if it has been completed already */
	int undone;   /* to be given back to T_LEFT: what was taken for instructions from pc on */
	bool ours;    /* the code there is the engine's, before the instruction */
	bool repeats; /* the instruction does, and may have begun: T_LATER is set */
};
/* Code that counts an edge and goes on at `to`: its address in the cache, or 0 without room. */
uint64_t translate_edge(const struct link *l, const struct block *to);
/* Code that indirect jumps come to the block by: its address in the cache, or 0 without room. */
uint64_t translate_entry(const struct block *b);
/* The counter of an edge. */
uint32_t edge_counter(const struct link *l);
bool translate_place(struct thread *t, const struct block *b, uint64_t at, struct place *out);

/* cache.c */
extern const void **rt_direct; /* where nothing is counted: code by the low 16 bits of an address */
extern struct block *blocks;
extern struct link *links;
extern uint32_t nblocks, nlinks;
extern uint32_t nids; /* the recorder's numbers */
void cache_init(void), cache_direct_init(void);
struct block *cache_find(uint64_t pc);
struct block *cache_by_code(uint64_t at);
void cache_add(struct block *b);
/* It is forgotten when its code changes, but is not found. */
void cache_add_page(struct block *b);
/* They are looked up, or added, soon: by then the line of the table should be here. */
void cache_expect(uint64_t pc), cache_expect_return(uint64_t pc);
void cache_add_return(uint64_t pc, uint64_t code);
/* Where nothing is counted: an indirect jump that comes to the block is to find it. */
void cache_direct(const struct block *b);
uint64_t cache_return(uint64_t pc); /* or 0 */
void cache_link(struct link *l, struct block *to);
void cache_invalidate(uint64_t start, uint64_t n);
extern int cache_lock;
bool cache_full(void); /* of pages that code lies on */
void cache_reset(void);
/* Blocks that skip and blocks that observe are found in tables of their own; one of the two is in use. */
void cache_turn(bool skip);

/* publish.c */
void publish_init(void);
/* Before memory gets a limit: what is opened later would be taken from the program's share. */
void publish_open_all(void);
void publish_limit(uint64_t bytes); /* of code; 0: as much as there is room for */
bool publish_full(void);	    /* for one more block */
void publish_reset(void);
void publish_leave(void); /* the cache is unmapped, for good */
/* The link's jump is made to lead to its stub; or has been made to lead elsewhere: it may go without one until the
 * former. */
void publish_unlinked(struct link *l), publish_linked(struct link *l);

/* flush.c: where the cache is full all of it is forgotten and made again */
extern uint32_t flushes;
/* Its code is to be made in another way, or, where `more` is to be made, it is full. With cache_lock held. */
bool flush_due(bool more);
/* Empties it, if that still is due. Nobody's lock is held. */
void flush_cache(struct thread *t);
/* The blocks that there are keep flags and registers for who looks at them where an instruction faults, though they are
 * overwritten next. */
extern bool faults_keep_state;
/* From now on they are to. */
void flush_to_keep_state(void);
/* The blocks that there are must not run any more. */
void flush_all(void);
/* Not while it is being emptied. */
void flush_wait(void);
void flush_after_fork(void);
/* Calls all other threads out of the cache, and calls f with the cache's lock held. */
void flush_outside(struct thread *t, void (*f)(struct thread *t));
/* Whether it is one that brings the thread out. */
bool flush_signal(struct thread *t, int sig, const struct sig_info *info);
/* Outside: it comes now, or will never come. */
void flush_expect_signal(struct thread *t);

/* edges.c: where control goes that no link tells of. With cache_lock held, but for edges_note(). */
struct pair {			   /* read by switch.S */
	uint64_t pc, site, number; /* number: + 1 */
	struct pair *next;	   /* of the same target */
};
void edges_init(void), edges_reset(void);
/* The thread's counters are new: no pair has a slot. */
void edges_thread(struct thread *t);
/* A number for the indirect jump, call or return that a block ends in. */
uint32_t edges_site(uint32_t block, bool returns);
/* That way, found or made. */
struct pair *edges_pair(uint64_t site, uint64_t pc);
void edges_count(struct thread *t, const struct pair *p);
/* How often the thread took that way. */
uint64_t edges_counted(struct thread *t, const struct pair *p);
/* All pairs that there were since the last reset, with phases. */
void edges_each(void (*f)(const struct pair *p));
/* Code of the pair's target, which is made already, is found from now on. */
void edges_near(struct thread *t, const struct pair *p, const struct block *b);
/* What is at pc is no longer what it was. */
void edges_forget(uint64_t pc);
/* Something that is not counted, because it happens seldom (enum edge_kind). block: + 1, or 0. Addresses: 0 is the
 * outside. */
void edges_note(unsigned kind, uint32_t block, uint64_t from, uint64_t to);
void edges_note_locked(unsigned kind, uint32_t block, uint64_t from, uint64_t to);

/* dispatch.c */
extern struct thread *threads;
extern int threads_lock;
struct thread *thread_new(void);
/* The process has no other thread, being a forked child, or because they have ended: their contexts are unmapped. */
void threads_forget_others(struct thread *t);
/* It runs no more code: nobody looks at its counters from here on, and they are unmapped, as is its stream. */
void thread_end(struct thread *t);
void dispatch(void *thread) __attribute__((noreturn));
extern struct config {
	bool verbose;
	char self[256];	    /* the engine's file */
	char program[4096]; /* absolute */
} config;

/* signals.c */
void signals_init(void);
void signals_thread(struct thread *t); /* its alternate stack */
void signals_deliver(struct thread *t);
/* A fault of the program at t->pc, found by the engine. False: another signal goes first. */
bool signals_raise(struct thread *t, int sig, int code, uint64_t addr);
/* SIGSYS for the system call before t->pc, which is not made. */
bool signals_raise_call(struct thread *t, long nr);
/* A filter has made the system call that is being done a signal. */
bool signals_trapped(const struct thread *t);
long signals_action(struct thread *t);
long signals_altstack(struct thread *t);
/* rt_sigreturn. False: it is still to be done, another signal goes first. */
bool signals_return(struct thread *t);
long signals_mask(struct thread *t); /* rt_sigprocmask */
long signals_pending(struct thread *t);
/* A system call that may take a mask for as long as it waits. */
long signals_wait(struct thread *t, long nr);
void signals_before_exec(struct thread *t);
void signals_leave(struct thread *t, sig_set mask) __attribute__((noreturn));
void signals_after_exec(void); /* it failed */
/* In a thread with handlers of its own, whose clone reset them (CLONE_CLEAR_SIGHAND). */
void signals_reset(struct thread *t);
/* The kernel's mask, for the engine's own sake. */
void signals_block_all(sig_set *old);
void signals_restore(sig_set old);

/* log.c: what the recorder is told */
extern int log_fd; /* or -1 */
extern uint64_t
	log_mode; /* what the code that is made now observes: log_observed, or MODE_SKIPPING */
extern uint64_t log_observed; /* … and what the recorder asks for */
#define MODE_SKIPPING (1ull << 32)
const struct exact_schedule *log_schedule(void);
/* A piece of the recorder's memory, to be read. */
const void *log_piece(uint64_t at, uint64_t n);
void log_sampled(const struct exact_sampled *s);
/* What the recorder is to know of the schedule's state. */
void log_position(uint64_t position, unsigned phase, bool main);
/* Waits until the recorder has read all that has been observed. All other threads are out of the cache. */
void log_ask(void);
/* How lines are observed, as the recorder says. */
const struct exact_lines *log_lines(void);
/* What our first argument says: the descriptor, and whose place the image takes, "FD:OFFSET", or only FD. */
void log_init(const char *option);
/* … what it says of the schedule: how far the process had come, and whether it is the first one. */
extern uint64_t log_began;
extern bool log_main;
/* Our first argument in a new image. */
void log_exec_option(char *out, size_t size);
void log_thread(struct thread *t);
void log_thread_end(struct thread *t); /* its counters and stream are unmapped */
void log_before_fork(void);
void log_after_fork(struct thread *t, long result);
uint32_t log_image(const struct region *g); /* its number */
struct plan;
struct log_exits { /* of a block: see struct exact_exit */
	unsigned n, before;
	struct log_exit {
		uint8_t insn;	/* the branch */
		uint16_t words; /* the stream's, before it */
		uint64_t target;
	} exit[EXITS_MAX];
};
/* The block gets its number, and its exits those that follow. */
void log_block(struct block *b, uint32_t image, const uint8_t *lens, const struct plan *plan,
	       const struct log_exits *exits);
/* Another half for t's stream: executions are complete up to `end`, the n bytes there are taken along. */
void log_next_half(struct thread *t, uint64_t end, size_t n);
void log_inverted(uint32_t id);
void log_pair(uint32_t number, uint32_t block, uint64_t pc, uint32_t image);
void log_edge(unsigned kind, uint32_t block, uint64_t from, uint32_t from_image, uint64_t to,
	      uint32_t to_image);
void log_cut(uint32_t id, unsigned done, bool counted);
void log_native(const char *path);
void log_mapping(const char *line, bool first); /* a line of /proc/self/maps */
/* `bits`: one for each line of the chunk. */
void log_touched(unsigned plane, uint64_t chunk, const uint64_t *bits, unsigned n);
void log_ran(const uint8_t *bits, uint32_t blocks);
void log_stack(const struct thread *t);
void log_snapshot(const struct exact_snapshot *s);
void log_vector(const struct exact_executed *e, unsigned n, bool pairs);
void log_interval(void);
void log_uncounted(int n);
void log_tell(
	void); /* what has waited for that: before the process ends, or executes another image */
/* The process is the one that logs, and no vfork's child, which shares its memory. */
bool log_is_ours(void);
void log_ended(void);
/* Blocks are numbered anew from here on: another set of counters and streams for all threads. */
void log_restart(void);
/* The process's only thread goes on without the engine: ends the log, and lets go of the recorder's memory. */
void log_leave(struct thread *t);
bool log_descriptors(struct thread *t, long nr, long *ret);
/* Whether the call is to read, write or map the recorder's memory: to the program that is no open file. */
bool log_refuses(const struct thread *t, long nr);

static inline struct exact_stream *stream_of(struct thread *t)
{
	return (struct exact_stream *)((char *)t + T_STREAM);
}

static inline uint64_t *counter_of(struct thread *t, uint32_t id)
{
	return (uint64_t *)((char *)t + T_COUNTERS) + id;
}

/* left.c: instructions that may still be executed */
/* Grants the thread `room` of them, in parts; `part` gets `weight` at least. */
void left_divide(struct thread *t, uint64_t room, unsigned weight, unsigned part);
/* How many it has executed since; nothing is left to it then. */
uint64_t left_settle(struct thread *t);
void left_clear(struct thread *t);
/* What one thread is granted of that room: with several threads a part of it, and the weight at least. */
uint64_t left_share(uint64_t room, unsigned weight);
/* How much before its end an interval is over: with several threads a 256th of it, so that they need not ask time and
 * again. */
uint64_t left_slack(uint64_t interval, unsigned weight);

/* phases.c: which blocks each interval executes */
void phases_init(struct thread *t);
void phases_thread(struct thread *t), phases_thread_end(struct thread *t);
void phases_after_fork(struct thread *t); /* in the child */
/* There is not enough left in that part for an execution of that weight. */
void phases_interval(struct thread *t, unsigned weight, unsigned part);
/* No interval ends between. */
void phases_hold(void), phases_release(void);
/* Between those, before blocks are numbered anew. */
void phases_restart(void);

/* marks.c: which lines of memory have been touched since they were told last */
extern struct exact_lines lines;
/* The marks of the blocks that there are, of one thread, are reached by gs. */
extern bool lines_alone;
/* Memory for marks. `alone`: the thread whose marks are reached by gs, if there is room for that; or NULL. */
void marks_init(const struct thread *alone);
void marks_begin(void);		     /* no thread has begun */
void marks_thread(struct thread *t); /* it gets a plane */
void marks_clear(void);		     /* all of them */
void marks_leave(void);		     /* they are unmapped, for good */
void marks_tell(void);		     /* and clears them: log_touched() */
/* Eight bytes: taken, and cleared, while others may be setting them. */
uint64_t marks_take(uint64_t *p);
void marks_spread(struct thread *alone); /* marks are reached by gs no longer */
/* Whether that memory is where those are that are reached by gs. */
bool marks_stand_alone(uint64_t start, uint64_t n);
/* Marks the lines of so many bytes. Returns how many were not marked before. */
uint64_t marks_set(const struct thread *t, uint64_t addr, uint64_t n);
void marks_unmapped(uint64_t start, uint64_t n);
/* Whether the program may not have that memory. */
bool marks_in_the_way(uint64_t start, uint64_t n);

/* warm.c: which lines are touched where the schedule skips, for simulated caches */
extern bool warming;
void warm_init(struct thread *t);
void warm_thread(struct thread *t); /* a new one begins */
void warm_after_fork(struct thread *t);
void warm_restart(void); /* blocks are numbered anew */
/* Tells what has been touched since the last time. All other threads are out of the cache. */
void warm_tell(void);

/* lines.c: which lines of memory each interval touches */
void lines_init(struct thread *t);
void lines_thread(struct thread *t);	 /* a new one begins */
void lines_thread_end(struct thread *t); /* it ends */
void lines_ran(struct thread *t, uint32_t block);
void lines_after_fork(struct thread *t); /* in the child */
/* There is not enough left in that part for an execution of that weight. */
void lines_interval(struct thread *t, unsigned weight, unsigned part);
/* No snapshot is made between. */
void lines_hold(void), lines_release(void);
/* Between those, before blocks are numbered anew: those that ran are told. */
void lines_restart(void);
/* The last snapshot, before the process ends or executes another image. */
void lines_end(struct thread *t);
#define NO_BLOCK ~0u
void lines_later(struct thread *t, uint32_t block); /* what T_LATER says; of a block, or of none */
void lines_syscall(struct thread *t, long nr, const uint64_t *regs, long ret);
/* Around a change of mappings: between, nobody else changes any. */
void lines_mapping_begin(void), lines_mapping_end(void);
/* There is going to be another thread, or the program wants the memory where they are: no longer. */
void lines_join(struct thread *t);
/* … if the program wants it, and it can have it. */
void lines_give_way(struct thread *t, uint64_t start, uint64_t n);

/* schedule.c: which parts of the run are observed */
extern bool schedule_on;
extern uint32_t switches; /* between skipping and observing */
void schedule_init(struct thread *t);
void schedule_after_fork(struct thread *t); /* in the child, with cache_lock held */
/* There is not enough left in that part for an execution of that weight. t->pc is where it begins. */
void schedule_ask(struct thread *t, unsigned weight, unsigned part);
/* Code that is made anew each time is about to execute an instruction. False: look for the block again. */
bool schedule_take_one(struct thread *t);
void schedule_thread_end(struct thread *t);
/* The process ends, or executes another image. */
void schedule_end(struct thread *t);
uint64_t schedule_position(struct thread *t);
/* Blocks are numbered anew: the recorder knows nothing of this process. */
void schedule_restart(void);

/* Of a block, by its number in the cache: which part of T_LEFT it takes from. */
static inline unsigned left_part(uint32_t number)
{
	return number & (LEFT_PARTS - 1);
}

static inline bool counting(void)
{
	return log_mode & EXACT_COUNTS;
}

static inline bool skipping(void)
{
	return log_mode & MODE_SKIPPING;
}

/* The code that is made now marks lines: for working sets, or, where the schedule skips, to warm caches up. */
static inline bool lines_on(void)
{
	return log_mode & EXACT_LINES;
}

/* Working sets are observed. */
static inline bool lines_observed(void)
{
	return log_observed & EXACT_LINES;
}

/* There is memory for marks, which the program must not have. */
static inline bool marks_kept(void)
{
	return lines_observed() || warming;
}

static inline bool phases_on(void)
{
	return log_mode & EXACT_PHASES;
}

/* Blocks take from T_LEFT, and leave the cache where that does not suffice. */
static inline bool intervals_on(void)
{
	return log_mode & (EXACT_LINES | EXACT_PHASES);
}

static inline void interval_over(struct thread *t, unsigned weight, unsigned part)
{
	if (schedule_on)
		schedule_ask(t, weight, part);
	else if (lines_on())
		lines_interval(t, weight, part);
	else
		phases_interval(t, weight, part);
}

/* shadow.c */
/* A fault in our own code at `at`: the program's address is none, or marks are looked at that are not aligned. Where to
 * go on. */
uint64_t shadow_skip(uint64_t at, bool unaligned);

/* rseq.c: restartable sequences */
void rseq_thread(struct thread *t); /* it has none registered */
long rseq_syscall(struct thread *t);
/* Outside of the cache: a thread that was interrupted in a section goes on at the section's handler. Returns whether. */
bool rseq_check(struct thread *t);
/* The fault at pc is not to be told of: the section may have been interrupted before, and is aborted. */
bool rseq_excuses(struct thread *t, uint64_t pc, uint64_t addr);
/* Whether the kernel, or a check, has sent the thread to the abort of a block's guard: the place in the cache that it was at
 * before, whose rax and rcx are aside; or 0. */
uint64_t rseq_aborted(uint64_t at);

/* syscalls.c */
/* The one in t->regs; t->pc is behind it. False: it is still to be done, and t->pc is at it. */
bool do_syscall(struct thread *t);
/* The one at t->pc, in a page of the kernel's that cannot be read. False: there is none, or it faults. */
#define VSYSCALL 0xffffffffff600000
bool do_vsyscall(struct thread *t);

/* process.c */
/* A path for the next image: "N/NAME" behind this is descriptor N, to be closed, and what it was called. */
#define OPEN_FILE "//assay/fd/"
bool process_syscall(struct thread *t, long nr, long *ret);
/* Whether the program wants a signal in place of the call before t->pc. */
bool process_refuses_call(const struct thread *t);

#pragma GCC visibility pop

#endif
