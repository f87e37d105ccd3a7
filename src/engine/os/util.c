/* SPDX-License-Identifier: MIT */
#include <stdarg.h>

#include <asm/errno.h>
#include <linux/futex.h>
#include <linux/mman.h>

#include "engine/core/layout.h"
#include "engine/os/util.h"
#include "engine/translate/block.h"
#include "engine/os/sys.h"

/* These functions use general registers only, because the program's vector registers are live.
 * String instructions are avoided: they take long to begin. */
void *memcpy(void *to, const void *from, size_t n)
{
	uint8_t *d = to;
	const uint8_t *s = from;

	if (n > 256) {
		__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
		return to;
	}
	for (; n >= 8; n -= 8, d += 8, s += 8)
		__builtin_memcpy(d, s, 8);
	for (; n; n--)
		*d++ = *s++;
	return to;
}

void *memset(void *p, int c, size_t n)
{
	void *d = p;

	__asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
	return p;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] - y[i];
	return 0;
}

int strcmp(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (unsigned char)*a - (unsigned char)*b;
}

bool starts_with(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return false;
	return true;
}

static size_t put_number(char *out, uint64_t v, unsigned base)
{
	char digits[20];
	size_t n = 0;

	do
		digits[n++] = "0123456789abcdef"[v % base];
	while (v /= base);
	for (size_t i = 0; i < n; i++)
		out[i] = digits[n - 1 - i];
	return n;
}

static size_t vformat(char *out, size_t size, const char *fmt, va_list ap)
{
	size_t n = 0;

	for (; *fmt && n + 1 < size; fmt++) {
		if (*fmt != '%') {
			out[n++] = *fmt;
			continue;
		}
		fmt++;
		while (*fmt == 'l')
			fmt++;
		if (*fmt == 's') {
			const char *s = va_arg(ap, const char *);

			while (*s && n + 1 < size)
				out[n++] = *s++;
		} else if (n + 22 >= size) {
			break; /* a number that does not fit is left out entirely */
		} else if (*fmt == 'd') {
			long v = va_arg(ap, long);

			if (v < 0)
				out[n++] = '-';
			n += put_number(out + n, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10);
		} else if (*fmt == 'x') {
			n += put_number(out + n, va_arg(ap, uint64_t), 16);
		}
	}
	out[n] = 0;
	return n;
}

size_t format(char *out, size_t size, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = vformat(out, size, fmt, ap);
	va_end(ap);
	return n;
}

/* Writes one line to stderr. Names of files may hold any character: only ASCII is shown (base/text
 * is not linked into the engine). */
static void put_message(const char *fmt, va_list ap)
{
	char line[512];
	size_t n;

	memcpy(line, "assay: ", 8);
	n = 7 + vformat(line + 7, sizeof(line) - 8, fmt, ap);
	for (size_t i = 7; i < n; i++)
		if (line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[n++] = '\n';
	sys(__NR_write, 2, line, n);
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_message(fmt, ap);
	va_end(ap);
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_message(fmt, ap);
	va_end(ap);
	sys(__NR_exit_group, 126);
	__builtin_unreachable();
}

static int room_lock, arena_lock;

long room_map(size_t n, int prot, int flags, long fd, uint64_t offset)
{
	static uint64_t next = ROOM_BASE;
	unsigned around = 0;
	long p;

	n = (n + 4095) & ~4095ul;
	lock(&room_lock);
	do {
		if (n >= LARGE_PAGE)
			next = (next + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
		if (n > ROOM_END - next) {
			next = ROOM_BASE;
			around++;
		}
		p = sys(__NR_mmap, next, n, prot, flags | MAP_FIXED_NOREPLACE, fd, offset);
		next += n;
	} while (p == -EEXIST && around < 2);
	unlock(&room_lock);
	return p;
}

void *reserve(size_t n)
{
	long p = room_map(n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0);

	if (sys_failed(p))
		die("no memory for the engine: %ld bytes, errno %ld (see ulimit -v and -d)",
		    (long)n, -p);
	return (void *)p;
}

static struct {
	uint8_t *at, *end;
	int lock;
} dense;

void *reserve_densely(size_t n, size_t align)
{
	void *p;

	n = (n + 4095) & ~4095ul;
	if (n >= LARGE_PAGE) {
		p = reserve(n);
		sys(__NR_madvise, p, n, MADV_HUGEPAGE);
		return p;
	}
	lock(&dense.lock);
	dense.at += -(uint64_t)dense.at & (align - 1);
	if (dense.at > dense.end || (size_t)(dense.end - dense.at) < n) {
		dense.at = reserve(LARGE_PAGE);
		dense.end = dense.at + LARGE_PAGE;
		sys(__NR_madvise, dense.at, LARGE_PAGE, MADV_HUGEPAGE);
	}
	p = dense.at;
	dense.at += n;
	unlock(&dense.lock);
	return p;
}

void *reserve_growing(size_t n)
{
	uint8_t *p = reserve(LARGE_PAGE + n), *small = p + LARGE_PAGE - GROWING_SMALL;
	bool first;

	lock(&dense.lock);
	first = !dense.at;
	if (first) {
		dense.at = p;
		dense.end = small;
	}
	unlock(&dense.lock);
	p += first ? 0 : LARGE_PAGE;
	sys(__NR_madvise, p, small + GROWING_SMALL + n - p, MADV_HUGEPAGE);
	return small;
}

void *arena(size_t n)
{
	static uint8_t *at, *end;
	void *p;

	n = (n + 15) & ~15ul;
	lock(&arena_lock);
	if ((size_t)(end - at) < n) {
		size_t chunk = n > 1 << 16 ? n : 1 << 16;

		at = reserve_densely(chunk, 1);
		end = at + chunk;
	}
	p = at;
	at += n;
	unlock(&arena_lock);
	return p;
}

void memory_hold(void)
{
	lock(&arena_lock);
	lock(&dense.lock);
	lock(&room_lock);
}

void memory_release(void)
{
	unlock(&room_lock);
	unlock(&dense.lock);
	unlock(&arena_lock);
}

/* 0 free, 1 taken, 2 taken and awaited (Drepper, "Futexes are tricky", mutex 2) */
void lock(int *l)
{
	int c = 0;

	if (__atomic_compare_exchange_n(l, &c, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(l, 2, __ATOMIC_ACQUIRE))
		sys(__NR_futex, l, FUTEX_WAIT_PRIVATE, 2, 0);
}

void unlock(int *l)
{
	if (__atomic_exchange_n(l, 0, __ATOMIC_RELEASE) == 2)
		sys(__NR_futex, l, FUTEX_WAKE_PRIVATE, 1);
}
