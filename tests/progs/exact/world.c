/* SPDX-License-Identifier: MIT */
/*
 * What a program sees of itself and of its process: /proc, the auxiliary vector, memory, descriptors,
 * limits, clocks.
 */
#include "cases.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <asm/prctl.h>

extern char **environ;

static char *slurp(const char *path, size_t *size)
{
	static char text[1 << 20];
	int fd = open(path, O_RDONLY);
	ssize_t n, all = 0;

	while (fd >= 0 && (n = read(fd, text + all, sizeof text - 1 - (size_t)all)) > 0)
		all += n;
	close(fd);
	text[all] = 0;
	if (size)
		*size = (size_t)all;
	return text;
}

CASE(exe)
{
	char a[4096] = "", b[4096] = "", *name;
	struct stat one, two;

	CHECK(readlink("/proc/self/exe", a, sizeof a - 1) > 0);
	EQ(readlink("/proc/self/exe", b, 5), 5);
	CHECK(!strncmp(a, b, 5));
	CHECK(readlinkat(AT_FDCWD, "/proc/self/exe", b, sizeof b - 1) > 0);
	CHECK(!strcmp(a, b));
	snprintf(b, sizeof b, "/proc/%d/exe", getpid());
	char c[4096] = "";
	CHECK(readlink(b, c, sizeof c - 1) > 0);
	CHECK(!strcmp(a, c));
	EQ(stat("/proc/self/exe", &one), 0);
	EQ(stat(a, &two), 0);
	EQ(one.st_ino, two.st_ino);
	int fd = open("/proc/self/exe", O_RDONLY);
	EQ(fstat(fd, &two), 0);
	EQ(one.st_ino, two.st_ino);
	name = realpath("/proc/self/exe", NULL);
	printf("%s\n%s\n", a, name);
}

/* The other names that /proc has for the same. */
CASE(may_exe_by_thread)
{
	char a[4096] = "", b[4096] = "";

	CHECK(readlink("/proc/thread-self/exe", a, sizeof a - 1) > 0);
	CHECK(readlink("/proc/self/task/../exe", b, sizeof b - 1) > 0);
	printf("%s\n%s\n", a, b);
}

CASE(cmdline)
{
	size_t n;
	char *text = slurp("/proc/self/cmdline", &n);

	for (size_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = '|';
	printf("%s\n%s\n", text, program_invocation_name);
}

CASE(comm)
{
	char name[32] = "";

	printf("%s", slurp("/proc/self/comm", NULL));
	prctl(PR_GET_NAME, name);
	puts(name);
	prctl(PR_SET_NAME, "a new name that is long");
	printf("%s", slurp("/proc/self/comm", NULL));
}

CASE(environment)
{
	size_t n;
	char *text = slurp("/proc/self/environ", &n);

	for (char **e = environ; *e; e++) {
		puts(*e);
		CHECK(memmem(text, n, *e, strlen(*e) + 1) != NULL);
	}
}

/* The maps name the program, its stack and what it mapped; each line is well formed and they ascend. */
CASE(maps)
{
	char exe[4096] = "", line[5000], *text;
	unsigned long last = 0;
	int own = 0, own_code = 0, stack = 0, heap = 0, code = 0, vdso = 0;
	char here;

	sbrk(4096);
	text = slurp("/proc/self/maps", NULL);
	CHECK(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	for (char *at = text; *at;) {
		unsigned long from, to;
		char mode[8], *end = strchr(at, '\n');

		memcpy(line, at, (size_t)(end - at));
		line[end - at] = 0;
		at = end + 1;
		EQ(sscanf(line, "%lx-%lx %4s", &from, &to, mode), 3);
		CHECK(from >= last && to > from);
		last = to;
		if (strstr(line, exe)) {
			own++;
			own_code += mode[2] == 'x' && (unsigned long)case_maps >= from &&
				    (unsigned long)case_maps < to;
		}
		if (strstr(line, "[stack]"))
			stack += (unsigned long)&here >= from && (unsigned long)&here < to;
		heap += strstr(line, "[heap]") != NULL;
		vdso += strstr(line, "[vdso]") != NULL;
		code += mode[2] == 'x' && mode[1] == 'w';
	}
	CHECK(own >= 3);
	EQ(own_code, 1);
	EQ(stack, 1);
	EQ(heap, 1);
	EQ(vdso, 1);
	printf("writable code: %d\n", code);
}

/* Whether anything is there that is not the program's: reported. */
CASE(may_maps_exactly)
{
	char *text = slurp("/proc/self/maps", NULL);

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *name = strchr(line, '/') ? strrchr(line, '/') : strchr(line, '[');

		printf("%.4s %s\n", strchr(line, ' ') + 1, name ? name : "");
	}
}

CASE(auxiliary_vector)
{
	static const unsigned long same[] = { AT_PAGESZ, AT_CLKTCK, AT_UID,    AT_EUID,
					      AT_GID,	 AT_EGID,   AT_SECURE, AT_PHENT,
					      AT_HWCAP,	 AT_HWCAP2, AT_FLAGS,  AT_MINSIGSTKSZ };
	ElfW(Phdr) *phdr = (void *)getauxval(AT_PHDR);
	char exe[4096] = "";

	for (unsigned i = 0; i < sizeof same / sizeof *same; i++)
		printf("%lu: %#lx\n", same[i], getauxval(same[i]));
	printf("%s\n", (char *)getauxval(AT_EXECFN));
	printf("%s\n", (char *)getauxval(AT_PLATFORM));
	CHECK(getauxval(AT_RANDOM) != 0);
	printf("%lu program headers\n", getauxval(AT_PHNUM));
	int loads = 0;
	for (unsigned long i = 0; i < getauxval(AT_PHNUM); i++)
		loads += phdr[i].p_type == PT_LOAD;
	printf("%d loaded\n", loads);
	CHECK(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	int fd = open(exe, O_RDONLY);
	ElfW(Ehdr) header;
	EQ(read(fd, &header, sizeof header), sizeof header);
	unsigned long bias = (unsigned long)phdr - header.e_phoff;
	for (unsigned long i = 0; i < getauxval(AT_PHNUM); i++)
		if (phdr[i].p_type == PT_PHDR)
			bias = (unsigned long)phdr - phdr[i].p_vaddr;
	if (header.e_type == ET_DYN)
		EQ(getauxval(AT_ENTRY), bias + header.e_entry);
	else
		EQ(getauxval(AT_ENTRY), header.e_entry);
	EQ(getauxval(12345), 0);
	size_t n;
	slurp("/proc/self/auxv", &n);
	CHECK(n >= 16 * 15);
	printf("vdso: %d, base: %d\n", getauxval(AT_SYSINFO_EHDR) != 0, getauxval(AT_BASE) != 0);
}

static int add_object(struct dl_phdr_info *info, size_t size, void *n)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	printf("object %s\n", slash ? slash : info->dlpi_name);
	++*(int *)n;
	return 0;
}

CASE(objects)
{
	int n = 0;

	dl_iterate_phdr(add_object, &n);
	CHECK(n >= 1);
}

/* brk. */
CASE(brk)
{
	char *first = sbrk(0), *p;

	for (int i = 1; i <= 300; i++) {
		p = sbrk(i * 64);
		CHECK(p != (void *)-1);
		memset(p, i, (size_t)i * 64);
	}
	for (int i = 1, at = 0; i <= 300; at += i * 64, i++)
		CHECK(first[at] == (char)i && first[at + i * 64 - 1] == (char)i);
	CHECK((char *)sbrk(0) == first + 64 * 300 * 301 / 2);
	CHECK((char *)sbrk(40 << 20) != (char *)-1);
	memset((char *)sbrk(0) - (40 << 20), 1, 40 << 20);
	EQ(brk(first), 0);
	CHECK(sbrk(0) == first);
	CHECK((char *)sbrk(4096 * 2) == first);
	CHECK(first[4096] == 0 || ((uintptr_t)first & 4095)); /* fresh pages are zero */
	/* the system call itself: refused is the old value */
	long now = syscall(SYS_brk, 0);
	EQ(syscall(SYS_brk, 1), now);
	EQ(syscall(SYS_brk, ~0ul >> 1), now);
}

/* Heap far beyond what any loader keeps free by chance. */
CASE(big_heap)
{
	uint64_t sum = 0;

	for (int i = 0; i < 2000; i++) {
		char *p = sbrk(131072);

		CHECK(p != (char *)-1);
		p[0] = (char)i;
		p[131071] = (char)(i * 3);
		sum = mix(sum, (uint64_t)(p[0] + p[131071]));
	}
	printf("%#llx\n", (unsigned long long)sum);
}

/* Lisps that are dumped as programs count on the heap behind the image, where that lies at fixed addresses. */
CASE(heap_behind_image)
{
	extern char end[];
	uintptr_t image = (uintptr_t)end, heap = (uintptr_t)sbrk(0);

	if (image < 1ul << 32)
		CHECK(heap >= image && heap - image < 1ul << 30);
}

/* Sanitizers reserve that much; what is to be read is a few lines all the same. */
CASE(maps_of_terabytes)
{
	size_t size = 32ul << 40;
	char *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned found = 0;

	CHECK(p != MAP_FAILED);
	for (int i = 0; i < 1000; i++) {
		FILE *f = fopen("/proc/self/maps", "r");
		char line[512];

		while (f && fgets(line, sizeof line, f))
			found += strtoul(line, NULL, 16) <= (uintptr_t)p &&
				 strtoul(strchr(line, '-') + 1, NULL, 16) >= (uintptr_t)p + size;
		CHECK(f && !fclose(f));
	}
	EQ(found, 1000);
}

CASE(heap_and_maps)
{
	void *v[3000];
	uint64_t h = 0;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 3000; i++) {
			size_t n = (size_t)(i * 7919 + round * 104729) % 5000 +
				   (i % 300 == 0 ? 200000 : 1);

			v[i] = malloc(n);
			memset(v[i], i, n);
		}
		for (int i = 0; i < 3000; i++) {
			h = mix(h, *(unsigned char *)v[i]);
			free(v[i]);
		}
	}
	printf("%#llx\n", (unsigned long long)h);
}

CASE(mmap)
{
	char *p = mmap(NULL, 10 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     *q;

	for (int i = 0; i < 10; i++)
		p[i << 12] = (char)i;
	EQ(munmap(p + (3 << 12), 2 << 12), 0);
	EQ(mincore(p + (3 << 12), 1 << 12, (unsigned char[1]){ 0 }), -1);
	EQ(errno, ENOMEM);
	q = mmap(p + (3 << 12), 1 << 12, PROT_READ,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(q == p + (3 << 12));
	EQ((uintptr_t)mmap(p, 1 << 12, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			   -1, 0),
	   (uintptr_t)-1);
	EQ(errno, EEXIST);
	q = mremap(p + (5 << 12), 5 << 12, 2000 << 12, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED && q[0] == 5 && q[4 << 12] == 9);
	q = mremap(q, 2000 << 12, 1 << 12, 0);
	CHECK(q[0] == 5);
	q = mmap((void *)0x200000000000, 1 << 12, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(q == (void *)0x200000000000);
	q = mmap(NULL, 1 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1,
		 0);
	CHECK((uintptr_t)q < 1ul << 31);
	q = mmap((void *)0x10000, 1 << 12, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(q == (void *)0x10000);
	EQ((uintptr_t)mmap((void *)1, 1 << 12, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			   -1, 0),
	   (uintptr_t)-1);
	EQ(errno, EINVAL);
	q = mmap(NULL, 1ul << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(q != MAP_FAILED);
	EQ(munmap(q, 1ul << 40), 0);
	EQ(munmap((void *)1, 4096), -1);
}

/* Address space reserved at low addresses, as sanitizers and managed runtimes want it. */
CASE(fixed_places)
{
	static const uintptr_t places[] = { 0x7fff8000,	 0x600000000000, 0x10007fff8000,
					    0x100000000, 0x4000000000,	 0xc000000000,
					    0x70000000,	 0x50000000 };

	for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
		char *p = mmap((void *)places[i], 1 << 20, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE,
			       -1, 0);

		CHECK(p == (char *)places[i]);
		p[5] = 1;
	}
}

NOINLINE static uint64_t grow(int n)
{
	char frame[10000];

	memset(frame, n, sizeof frame);
	__asm__ volatile("" : : "r"(frame) : "memory");
	return n ? grow(n - 1) + (uint64_t)frame[n] : 0;
}

CASE(stack_growth)
{
	struct rlimit r;

	getrlimit(RLIMIT_STACK, &r);
	printf("%ld %llu\n", (long)(r.rlim_cur >> 20), (unsigned long long)grow(700));
}

/* Descriptors. */
static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 2000; fd++)
		if (fcntl(fd, F_GETFD) >= 0) {
			if (fd > 2)
				printf("fd %d is open\n", fd);
			n++;
		}
	return n;
}

CASE(descriptors)
{
	open_descriptors();
	int fd = open("/dev/null", O_RDONLY);
	printf("the next is %d\n", fd);
}

CASE(descriptors_listed)
{
	DIR *d = opendir("/proc/self/fd");
	int own = dirfd(d);

	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.' && atoi(e->d_name) != own)
			printf("fd %s\n", e->d_name);
	closedir(d);
}

CASE(close_range)
{
	int before[2];

	EQ(pipe(before), 0);
	EQ(syscall(SYS_close_range, 3, ~0u, 0), 0);
	CHECK(open_descriptors() == 3);
	printf("%d\n", open("/dev/null", O_RDONLY));
	printf("%s", slurp("/proc/self/comm", NULL));
	if (!fork())
		_exit(5);
	wait(NULL);
	for (int i = 0; i < 3; i++)
		printf("%.3f\n", i / 7.);
}

CASE(close_range_on_exec)
{
	char exe[4096] = "";

	CHECK(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	EQ(open("/dev/null", O_RDONLY) >= 0, 1);
	EQ(syscall(SYS_close_range, 3, ~0u, 4), 0); /* CLOSE_RANGE_CLOEXEC */
	execl(exe, exe, "descriptors", (char *)NULL);
}

CASE(close_range_unshare)
{
	EQ(open("/dev/null", O_RDONLY) >= 0, 1);
	EQ(syscall(SYS_close_range, 3, ~0u, 2), 0);
	CHECK(open_descriptors() == 3);
}

CASE(close_all)
{
	struct rlimit r;
	char exe[4096] = "";

	getrlimit(RLIMIT_NOFILE, &r);
	for (int fd = 3; fd < (int)(r.rlim_cur < 100000 ? r.rlim_cur : 100000); fd++)
		close(fd);
	CHECK(open_descriptors() == 3);
	CHECK(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	if (!fork()) {
		execl(exe, exe, "descriptors", (char *)NULL);
		_exit(9);
	}
	int status;
	wait(&status);
	EQ(status, 0);
}

CASE(close_listed)
{
	DIR *d = opendir("/proc/self/fd");

	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.' && atoi(e->d_name) > 2 && atoi(e->d_name) != dirfd(d))
			close(atoi(e->d_name));
	closedir(d);
	CHECK(open_descriptors() == 3);
}

CASE(dup2_over_all)
{
	struct rlimit r;
	char text[10];

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max < 2000 ? r.rlim_max : 2000;
	setrlimit(RLIMIT_NOFILE, &r);
	for (int fd = 3; fd <= 1100; fd++) {
		EQ(dup2(2, fd), fd);
		EQ(fcntl(fd, F_GETFD), 0);
	}
	EQ(snprintf(text, sizeof text, "%d", 5), 1);
	if (!fork())
		_exit(fcntl(1100, F_GETFD));
	int status;
	wait(&status);
	EQ(status, 0);
	char exe[4096] = "";
	CHECK(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	for (int fd = 3; fd <= 1100; fd++)
		if (fd != 500)
			EQ(close(fd), 0);
	execl(exe, exe, "descriptors", (char *)NULL);
}

CASE(every_descriptor) /* until there are no more */
{
	struct rlimit r = { 200, 200 };
	int n = 0, last = 0;

	EQ(syscall(SYS_close_range, 3, ~0u, 0), 0);
	EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
	for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0; n++)
		last = fd;
	EQ(errno, EMFILE);
	printf("%d, the last %d\n", n, last);
	if (!fork())
		_exit(7);
	int status;
	wait(&status);
	EQ(WEXITSTATUS(status), 7);
	getrlimit(RLIMIT_NOFILE, &r);
	printf("%ld %ld\n", (long)r.rlim_cur, (long)r.rlim_max);
}

CASE(limit_of_zero)
{
	struct rlimit none = { 0, 0 };

	EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	EQ(open("/dev/null", O_RDONLY), -1);
	EQ(errno, EMFILE);
	puts("still prints");
	EQ(raise(0), 0);
}

CASE(limit_of_memory)
{
	struct rlimit r = { 400 << 20, 400 << 20 };
	int n = 0;

	EQ(setrlimit(RLIMIT_DATA, &r), 0);
	while (n < 100 && mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0) != MAP_FAILED)
		n++;
	CHECK(n < 30 && n > 15);
	printf("%.3f\n", n * 0 + 1. / 3);
}

/* The address space as a limit: the instrumenter's own share is reported. */
CASE(may_limit_of_address_space)
{
	struct rlimit r = { 300 << 20, 300 << 20 };
	int n = 0;

	EQ(setrlimit(RLIMIT_AS, &r), 0);
	while (n < 100 && mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0) != MAP_FAILED)
		n++;
	printf("%d\n", n);
}

CASE(limit_of_processes)
{
	struct rlimit r;

	getrlimit(RLIMIT_CORE, &r);
	printf("%ld\n", (long)r.rlim_cur);
	getrlimit(RLIMIT_STACK, &r);
	printf("%ld\n", (long)r.rlim_cur);
	getrlimit(RLIMIT_MEMLOCK, &r);
	printf("%ld\n", (long)r.rlim_cur);
	getrlimit(RLIMIT_NOFILE, &r);
	printf("%ld %ld\n", (long)r.rlim_cur, (long)r.rlim_max);
}

CASE(closed_streams)
{
	close(0);
	close(2);
	printf("%d\n", open("/dev/null", O_RDONLY));
	printf("%d\n", open("/dev/null", O_RDONLY));
	printf("%d\n", open("/dev/null", O_RDONLY) >= 3);
}

/* Time. */
CASE(clocks)
{
	static const clockid_t ids[] = { CLOCK_REALTIME,	 CLOCK_MONOTONIC,
					 CLOCK_BOOTTIME,	 CLOCK_MONOTONIC_RAW,
					 CLOCK_REALTIME_COARSE,	 CLOCK_PROCESS_CPUTIME_ID,
					 CLOCK_THREAD_CPUTIME_ID };
	struct timeval tv;

	for (unsigned i = 0; i < sizeof ids / sizeof *ids; i++) {
		struct timespec last = { 0 }, t;

		for (int j = 0; j < 3000; j++) {
			EQ(clock_gettime(ids[i], &t), 0);
			CHECK(t.tv_sec > last.tv_sec ||
			      (t.tv_sec == last.tv_sec && t.tv_nsec >= last.tv_nsec));
			last = t;
		}
		struct timespec by_call;
		EQ(syscall(SYS_clock_gettime, ids[i], &by_call), 0);
		CHECK(by_call.tv_sec - t.tv_sec <= 1);
	}
	EQ(gettimeofday(&tv, NULL), 0);
	CHECK(time(NULL) - tv.tv_sec <= 1);
	CHECK(times(&(struct tms){ 0 }) != (clock_t)-1);
}

CASE(timestamp_counter)
{
	uint64_t last = 0;

	for (int i = 0; i < 3000; i++) {
		uint32_t low, high, aux;

		if (i % 2)
			__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
		else
			__asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(aux));
		uint64_t now = low | (uint64_t)high << 32;
		CHECK(now >= last);
		last = now;
	}
}

/* The old fixed page of system calls, where the kernel still has it. */
CASE(vsyscall)
{
	time_t (*old_time)(time_t *) = (void *)0xffffffffff600400;
	int (*old_gettimeofday)(struct timeval *, void *) = (void *)0xffffffffff600000;
	struct timeval tv;

	CHECK(old_time(NULL) - time(NULL) <= 1);
	EQ(old_gettimeofday(&tv, NULL), 0);
}

/* Every function of the vdso, by its own symbol table. */
CASE(vdso)
{
	ElfW(Ehdr) *e = (void *)getauxval(AT_SYSINFO_EHDR);
	ElfW(Phdr) *p = e ? (void *)((char *)e + e->e_phoff) : NULL;
	char *strings = NULL;
	ElfW(Sym) *symbols = NULL;
	uint32_t *hash = NULL;
	unsigned n = 0;

	CHECK(e && !memcmp(e->e_ident, ELFMAG, 4));
	for (int i = 0; e && i < e->e_phnum; i++)
		if (p[i].p_type == PT_DYNAMIC)
			for (ElfW(Dyn) *d = (void *)((char *)e + p[i].p_offset); d->d_tag; d++) {
				if (d->d_tag == DT_STRTAB)
					strings = (char *)e + d->d_un.d_ptr;
				if (d->d_tag == DT_SYMTAB)
					symbols = (void *)((char *)e + d->d_un.d_ptr);
				if (d->d_tag == DT_HASH)
					hash = (void *)((char *)e + d->d_un.d_ptr);
			}
	if (!symbols || !hash) {
		puts("no symbols");
		return;
	}
	for (unsigned i = 1; i < hash[1]; i++) {
		const char *name = strings + symbols[i].st_name;
		long (*f)(long, void *) = (void *)((char *)e + symbols[i].st_value);
		uint64_t out[8] = { 0 };
		unsigned cpu = ~0u;

		if (!strcmp(name, "__vdso_clock_gettime"))
			n += f(CLOCK_MONOTONIC, out) == 0 && out[0] > 0;
		if (!strcmp(name, "__vdso_gettimeofday"))
			n += f((long)out, NULL) == 0 && out[0] > 0;
		if (!strcmp(name, "__vdso_time"))
			n += f(0, NULL) > 1000000;
		if (!strcmp(name, "__vdso_getcpu"))
			n += f((long)&cpu, NULL) == 0 && cpu < 10000;
		if (!strcmp(name, "__vdso_clock_getres"))
			n += f(CLOCK_REALTIME, out) == 0;
	}
	printf("%u called\n", n);
}

/* Segment bases. */
static uint64_t segment[8] = { 0x1122334455667788, 2, 3, 4 };

CASE(may_gs_base)
{
	uint64_t v, base = 1;

	EQ(syscall(SYS_arch_prctl, ARCH_SET_GS, segment), 0);
	__asm__ volatile("mov %%gs:0, %0" : "=r"(v));
	EQ(v, segment[0]);
	for (int i = 0; i < 100; i++)
		getppid();
	__asm__ volatile("mov %%gs:8(,%1,8), %0" : "=r"(v) : "r"(1l));
	EQ(v, 3);
	EQ(syscall(SYS_arch_prctl, ARCH_GET_GS, &base), 0);
	EQ(base, (uint64_t)segment);
	if (!fork()) {
		__asm__ volatile("mov %%gs:16, %0" : "=r"(v));
		_exit((int)v);
	}
	int status;
	wait(&status);
	EQ(WEXITSTATUS(status), 3);
	EQ(syscall(SYS_arch_prctl, ARCH_GET_FS, &base), 0);
	EQ(base, (uint64_t)__builtin_thread_pointer());
	EQ(syscall(SYS_arch_prctl, ARCH_SET_FS, 1ul << 63), -1);
	EQ(errno, EPERM);
}

CASE(fs_base) /* another thread pointer for a while: no library call in between */
{
	uint64_t old = (uint64_t)__builtin_thread_pointer(), v, w;
	static uint64_t other[4] = { 0xabcdef, 5, 6, 7 };

	__asm__ volatile(
		"mov %[set], %%eax\n\tmov %[fs], %%edi\n\tmov %[other], %%rsi\n\tsyscall\n\t"
		"mov %%fs:0, %[v]\n\tmov %%fs:8, %[w]\n\t"
		"mov %[set], %%eax\n\tmov %[fs], %%edi\n\tmov %[old], %%rsi\n\tsyscall"
		: [v] "=&r"(v), [w] "=&r"(w)
		:
		[set] "i"(SYS_arch_prctl), [fs] "i"(ARCH_SET_FS), [other] "r"(other), [old] "r"(old)
		: "rax", "rdi", "rsi", "rcx", "r11", "memory");
	EQ(v, 0xabcdef);
	EQ(w, 5);
	EQ(old, (uint64_t)__builtin_thread_pointer());
}

#define HWCAP2_FSGSBASE 2
CASE(may_segment_instructions)
{
	uint64_t old, v;

	if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE)) {
		puts("done");
		return;
	}
	__asm__ volatile("rdfsbase %0" : "=r"(old));
	EQ(old, (uint64_t)__builtin_thread_pointer());
	__asm__ volatile("wrfsbase %[seg]\n\tmov %%fs:0, %[v]\n\twrfsbase %[old]"
			 : [v] "=&r"(v)
			 : [seg] "r"(segment), [old] "r"(old));
	EQ(v, segment[0]);
	__asm__ volatile("wrgsbase %[seg]\n\tmov %%gs:16, %[v]"
			 : [v] "=&r"(v)
			 : [seg] "r"(segment));
	EQ(v, 3);
	__asm__ volatile("rdgsbase %0" : "=r"(v));
	EQ(v, (uint64_t)segment);
	puts("done");
}

/* System calls by their old door: reported. */
CASE(may_int80)
{
	int r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "r8", "r9", "r10", "r11"); /* getpid */
	CHECK(r == getpid());
}

CASE(unknown_calls)
{
	EQ(syscall(1000), -1);
	EQ(errno, ENOSYS);
	EQ(syscall(-1), -1);
	EQ(errno, ENOSYS);
	EQ(syscall(SYS_read, -1, NULL, 0), -1);
	EQ(errno, EBADF);
}

/* Bad pointers are the kernel's to refuse. */
CASE(bad_pointers)
{
	EQ(syscall(SYS_write, 1, (void *)8, 10), -1);
	EQ(errno, EFAULT);
	EQ(syscall(SYS_rt_sigprocmask, SIG_BLOCK, (void *)8, NULL, 8), -1);
	EQ(errno, EFAULT);
	EQ(syscall(SYS_rt_sigaction, SIGUSR1, NULL, (void *)8, 8), -1);
	EQ(errno, EFAULT);
	EQ(syscall(SYS_sigaltstack, (void *)8, NULL), -1);
	EQ(errno, EFAULT);
	EQ(syscall(SYS_readlink, "/proc/self/exe", (void *)8, 100), -1);
	EQ(errno, EFAULT);
	EQ(syscall(SYS_readlink, (void *)8, (void *)8, 100), -1);
	EQ(errno, EFAULT);
	EQ(syscall(SYS_open, (void *)8, O_RDONLY), -1);
	EQ(errno, EFAULT);
	EQ(syscall(SYS_mmap, NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), -1);
	EQ(errno, EINVAL);
	EQ(syscall(SYS_clone3, (void *)8, 64), -1);
	EQ(errno, EFAULT);
	EQ(syscall(SYS_clone3, (void *)8, 1), -1);
	EQ(errno, EINVAL);
	EQ(syscall(SYS_arch_prctl, ARCH_GET_GS, (void *)8), -1);
	EQ(errno, EFAULT);
}

/* Descriptors over a socket, and vectors. */
CASE(passing)
{
	int pair[2], ends[2];
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, c = 'p';
	struct iovec io = { &c, 1 };
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof control };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	EQ(pipe(ends), 0);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &ends[1], sizeof(int));
	EQ(sendmsg(pair[0], &m, 0), 1);
	EQ(recvmsg(pair[1], &m, 0), 1);
	int received;
	memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof received);
	printf("%d %d\n", received, ends[1]);
	EQ(write(received, "z", 1), 1);
	EQ(read(ends[0], &c, 1), 1);
	EQ(c, 'z');
}

CASE(may_process_vm) /* reads itself as a debugger would */
{
	char to[8] = "";
	struct iovec local = { to, 5 }, remote = { "hello", 5 };

	EQ(process_vm_readv(getpid(), &local, 1, &remote, 1, 0), 5);
	puts(to);
	int fd = open("/proc/self/mem", O_RDWR);
	static char word[8] = "before";
	EQ(pwrite(fd, "after", 6, (off_t)(uintptr_t)word), 6);
	puts(word);
}

CASE(personality_and_names)
{
	printf("%d %d %d\n", prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
	       prctl(PR_GET_KEEPCAPS));
	printf("%d\n", prctl(PR_GET_PDEATHSIG, &(int){ 0 }));
	cpu_set_t set;
	EQ(sched_getaffinity(0, sizeof set, &set), 0);
	printf("%d CPUs, policy %d, priority %d, umask %o\n", CPU_COUNT(&set),
	       sched_getscheduler(0), getpriority(PRIO_PROCESS, 0), umask(022));
	CHECK(getpgid(0) == getpgrp());
	CHECK(getsid(0) >= 0);
}

CASE(stdin_kept)
{
	char c;

	printf("%zd\n", read(0, &c, 1));
}
