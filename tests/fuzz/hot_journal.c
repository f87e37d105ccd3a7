/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the rollback journal beside a recording. The seed is the journal of a transaction that was going on. Neither
 * file changes, nothing else in the folder goes away, and what is not read is refused with a message.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/recording.h"
#include "support/recordings.h"

#define PAGE 512

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64], file[96], journal[112], seeds[96], victim[96];
static struct stat was;

static void must(int rc)
{
	if (rc)
		abort();
}

static void remove_all(void)
{
	char seed[128];

	snprintf(seed, sizeof(seed), "%s/journal", seeds);
	unlink(seed);
	rmdir(seeds);
	unlink(file);
	unlink(journal);
	unlink(victim);
	rmdir(folder);
}

/* The database and its journal as the system has them now, to other names. */
static void copy(const char *from, const char *to)
{
	static uint8_t data[4 << 20];
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	size_t n;

	must(!in || !out);
	n = fread(data, 1, sizeof(data), in);
	must(n == sizeof(data) || fwrite(data, 1, n, out) != n);
	fclose(in);
	must(fclose(out));
}

static void make(void)
{
	char db_name[96], side[112], seed[128];
	struct profile p;
	struct err err;
	sqlite3 *db;

	snprintf(db_name, sizeof(db_name), "%s/y.db", folder);
	snprintf(side, sizeof(side), "%s-journal", db_name);
	snprintf(seed, sizeof(seed), "%s/journal", seeds);
	must(profile_init(&p, &err));
	recordings_empty(&p);
	must(recording_write(db_name, &p, &err));
	profile_fini(&p);
	must(sqlite3_open(db_name, &db));
	must(sqlite3_exec(
		db,
		"PRAGMA page_size=512; VACUUM; PRAGMA synchronous=OFF; PRAGMA cache_size=1;"
		"BEGIN; UPDATE run SET command = hex(randomblob(3000));"
		"INSERT INTO image(id, kind, path) VALUES(7, 'file', hex(randomblob(3000)))",
		NULL, NULL, NULL));
	copy(db_name, file);
	copy(side, seed);
	sqlite3_close(db);
	unlink(db_name);
	copy(file, victim);
	must(stat(file, &was));
}

/* Adds the folder of the seed, and a length at which it fits, to libFuzzer's arguments. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char length[] = "-max_len=32768";
	char **all = calloc((size_t)*argc + 3, sizeof(*all));

	snprintf(folder, sizeof(folder), "/dev/shm/assay-fuzz-XXXXXX");
	must(!all || !mkdtemp(folder));
	atexit(remove_all);
	snprintf(file, sizeof(file), "%s/assay.db", folder);
	snprintf(journal, sizeof(journal), "%s-journal", file);
	snprintf(seeds, sizeof(seeds), "%s/seeds", folder);
	snprintf(victim, sizeof(victim), "%s/victim", folder);
	must(mkdir(seeds, 0700));
	make();
	memcpy(all, *argv, (size_t)*argc * sizeof(*all));
	all[(*argc)++] = length;
	all[(*argc)++] = seeds;
	*argv = all;
	return 0;
}

static void check_files(size_t size)
{
	struct stat st;

	must(stat(file, &st) || st.st_ino != was.st_ino || st.st_size != was.st_size ||
	     st.st_mtim.tv_sec != was.st_mtim.tv_sec || st.st_mtim.tv_nsec != was.st_mtim.tv_nsec);
	must(stat(journal, &st) || (size_t)st.st_size != size);
	must(access(victim, F_OK));
}

/* Ends as a journal that names the victim as its super-journal does, on every other length. */
static size_t name_victim(uint8_t *end)
{
	uint32_t n = (uint32_t)strlen(victim), sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (uint8_t)victim[i];
	memset(end, 0, 4);
	end[1] = 0x20; /* page 0x40000000 / 512 + 1 */
	end[3] = 1;
	memcpy(end + 4, victim, n);
	for (unsigned i = 0; i < 4; i++) {
		end[4 + n + i] = (uint8_t)(n >> (24 - 8 * i));
		end[8 + n + i] = (uint8_t)(sum >> (24 - 8 * i));
	}
	memcpy(end + 12 + n, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
	return 20 + n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = open(journal, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct err err = { 0 };
	uint8_t end[128];
	struct profile p;

	must(fd < 0 || write(fd, data, size) != (ssize_t)size);
	if (size % 2) {
		size_t n = name_victim(end);

		must(write(fd, end, n) != (ssize_t)n);
		size += n;
	}
	close(fd);
	if (profile_init(&p, &err))
		return 0;
	must(recording_read(file, &p, &err) && (!err.code || !err.msg[0]));
	profile_fini(&p);
	check_files(size);
	return 0;
}
