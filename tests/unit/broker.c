/* SPDX-License-Identifier: MIT */
/* What the broker opens and whom it signals: with privileges a process of its own, without them the caller itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/broker.h"
#include "base/privilege.h"

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A broker where the process is privileged, none elsewhere: what it does is the same. */
static void start(struct broker *b, pid_t command)
{
	struct err err;

	assert_int_equal(broker_start(b, command, &err), 0);
	assert_int_equal(b->sock >= 0, privilege_has(CAP_SYS_PTRACE) || privilege_has(CAP_KILL));
}

static void maps_of_a_process_are_opened(void **state)
{
	pid_t pid = sleeper();
	struct broker b;
	char text[256];
	int fd;

	(void)state;
	start(&b, 0);
	fd = broker_open_maps(&b, pid);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(read(fd, text, sizeof(text)) > 0);
	assert_non_null(memchr(text, '-', sizeof(text)));
	close(fd);
	end(pid);
	assert_int_equal(broker_open_maps(&b, pid), -1);
	assert_int_equal(errno, ENOENT);
	broker_end(&b);
}

static void sums_over_memory_are_opened(void **state)
{
	struct broker b;
	char text[4096];
	ssize_t n;
	int fd;

	(void)state;
	start(&b, 0);
	fd = broker_open_memory(&b, getpid());
	if (fd < 0) {
		assert_int_equal(errno, ENOENT); /* Linux before 4.14 */
		broker_end(&b);
		skip();
	}
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = 0;
	assert_non_null(strstr(text, "\nAnonymous:"));
	close(fd);
	broker_end(&b);
}

static void a_mapped_file_is_opened_for_reading(void **state)
{
	char path[] = "/tmp/assay-broker-XXXXXX";
	int file = mkstemp(path), fd;
	struct stat st, got;
	struct broker b;
	void *p;

	(void)state;
	assert_int_equal(ftruncate(file, 4096), 0);
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(fstat(file, &st), 0);
	unlink(path); /* no path leads there any more */
	start(&b, 0);
	fd = broker_open_mapped(&b, getpid(), (uintptr_t)p, (uintptr_t)p + 4096);
	if (fd < 0 && !privilege_has(CAP_SYS_ADMIN) && !privilege_has(CAP_CHECKPOINT_RESTORE)) {
		assert_int_equal(errno, EPERM);
	} else {
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &got), 0);
		assert_true(got.st_ino == st.st_ino && got.st_dev == st.st_dev);
		assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
		close(fd);
	}
	assert_int_equal(broker_open_mapped(&b, getpid(), 4096, 8192), -1);
	broker_end(&b);
	munmap(p, 4096);
	close(file);
}

static void the_command_is_signalled_and_nobody_after_it(void **state)
{
	pid_t pid = sleeper();
	struct broker b;
	int status = 0;

	(void)state;
	start(&b, pid);
	assert_int_equal(broker_signal(&b, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	/* its number may be another process's by now */
	assert_int_equal(broker_signal(&b, SIGTERM), -1);
	assert_int_equal(errno, ESRCH);
	broker_end(&b);
}

static void it_ends_with_the_recorder(void **state)
{
	int status = -1;
	struct broker b;

	(void)state;
	start(&b, 0);
	if (b.sock < 0)
		skip();
	broker_end(&b);
	assert_true(waitpid(-1, &status, 0) > 0);
	assert_int_equal(status, 0);
}

/* What is no request ends it: the recorder sends nothing else. */
static void nonsense_is_refused(void **state)
{
	struct broker b;
	char c = 0;

	(void)state;
	start(&b, 0);
	if (b.sock < 0)
		skip();
	assert_int_equal(send(b.sock, "nonsense", 8, 0), 8);
	assert_int_equal(recv(b.sock, &c, 1, 0), 0);
	assert_int_equal(broker_open_maps(&b, getpid()), -1);
	broker_end(&b);
	wait(NULL);
}

static void the_effective_set_is_what_was_kept(void **state)
{
	static const cap_value_t keep[] = { CAP_KILL };
	pid_t pid = fork();
	int status = -1;

	(void)state;
	if (pid == 0) {
		bool had = privilege_has(CAP_KILL);
		struct err err;

		if (privilege_keep(keep, 1, &err) || privilege_has(CAP_KILL) != had ||
		    privilege_has(CAP_SYS_PTRACE))
			_exit(1);
		_exit(!privilege_become_nobody() || privilege_has(CAP_KILL) ? 2 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* root that may not change users does not pass for nobody */
	assert_int_equal(status, getuid() == 0 ? 2 << 8 : 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_of_a_process_are_opened),
		cmocka_unit_test(sums_over_memory_are_opened),
		cmocka_unit_test(a_mapped_file_is_opened_for_reading),
		cmocka_unit_test(the_command_is_signalled_and_nobody_after_it),
		cmocka_unit_test(it_ends_with_the_recorder),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(the_effective_set_is_what_was_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
