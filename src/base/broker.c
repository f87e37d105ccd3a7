/* SPDX-License-Identifier: MIT */
#include "base/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/privilege.h"

enum request_kind {
	OPEN_MAPS,
	OPEN_MEMORY,
	OPEN_MAPPED,
	OPEN_PERF_MAP,
	SIGNAL
};

struct request {
	uint32_t kind;
	int32_t number; /* process id or signal number */
	uint64_t start, end;
};

/* The capabilities that the broker keeps. A recorder with none of them needs no broker. */
static const cap_value_t rights[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE,
				      CAP_KILL };
#define RIGHTS (sizeof(rights) / sizeof(rights[0]))

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

/* The five services, with the rights of the process that calls them. */

static int open_of(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int open_mapped(pid_t pid, uint64_t start, uint64_t end)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)start, (unsigned long long)end);
	/* A device may be mapped: opening it must not wait. */
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static int open_perf_map(pid_t pid, uint64_t inner)
{
	struct stat process, st;
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &process))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%llu.map", (int)pid,
		 (unsigned long long)inner);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (!st.st_uid || st.st_uid == process.st_uid))
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

static int send_signal(int command, int sig)
{
	return (int)syscall(SYS_pidfd_send_signal, command, sig, NULL, 0);
}

/* The broker's side of the socket. */

/* Sends errno, or 0 and the descriptor of the opened file (fd, -1 for none). */
static bool answer(int sock, int rc, int fd)
{
	int32_t why = rc < 0 ? errno : 0;
	struct iovec data = { &why, sizeof(why) };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };
	union control c = { .room = { 0 } };

	if (fd >= 0) {
		m.msg_control = c.room;
		m.msg_controllen = sizeof(c.room);
		c.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					   .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&c.head), &fd, sizeof(fd));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(why);
}

static bool serve(int sock, int command, const struct request *r)
{
	int fd = -1, rc;
	bool sent;

	switch (r->kind) {
	case OPEN_MAPS:
		rc = fd = open_of(r->number, "maps");
		break;
	case OPEN_MEMORY:
		rc = fd = open_of(r->number, "smaps_rollup");
		break;
	case OPEN_MAPPED:
		rc = fd = open_mapped(r->number, r->start, r->end);
		break;
	case OPEN_PERF_MAP:
		rc = fd = open_perf_map(r->number, r->start);
		break;
	case SIGNAL:
		rc = send_signal(command, r->number);
		break;
	default:
		errno = EINVAL;
		rc = -1;
	}
	sent = answer(sock, rc, fd);
	if (fd >= 0)
		close(fd);
	return sent;
}

/* Moves the two descriptors to numbers 0 and 1, and closes all others. */
static bool keep_descriptors(int sock, int command)
{
	int s = fcntl(sock, F_DUPFD, 3), c = command < 0 ? -1 : fcntl(command, F_DUPFD, 3);

	return s >= 0 && dup2(s, 0) == 0 && (command < 0 || dup2(c, 1) == 1) &&
	       !syscall(SYS_close_range, command < 0 ? 1U : 2U, ~0U, 0U);
}

static void run(int sock, int command)
{
	struct request r;
	struct err err;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "assay-broker");
	if (!keep_descriptors(sock, command) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    privilege_keep(rights, RIGHTS, &err))
		_exit(1);
	while (recv(0, &r, sizeof(r), 0) == (ssize_t)sizeof(r) && serve(0, 1, &r))
		;
	_exit(0);
}

/* The recorder's side of the socket. */

static bool has_rights(void)
{
	for (size_t i = 0; i < RIGHTS; i++)
		if (privilege_has(rights[i]))
			return true;
	return false;
}

int broker_start(struct broker *b, pid_t command, struct err *err)
{
	int pair[2];
	pid_t pid;

	*b = BROKER_NONE;
	if (command) {
		b->command = (int)syscall(SYS_pidfd_open, command, 0);
		if (b->command < 0)
			return err_sys(err, "cannot watch process %d", (int)command);
	}
	if (!has_rights())
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_sys(err, "cannot make a socket");
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		run(pair[1], b->command);
	}
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return err_sys(err, "cannot fork");
	}
	b->sock = pair[0];
	return 0;
}

void broker_end(struct broker *b)
{
	if (b->sock >= 0)
		close(b->sock);
	if (b->command >= 0)
		close(b->command);
	*b = BROKER_NONE;
}

/* Returns the answer's descriptor, 0 for an answer without one, -1 with errno set. */
static int take_answer(int sock)
{
	int32_t why = 0;
	struct iovec data = { &why, sizeof(why) };
	union control c = { .room = { 0 } };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = c.room,
			    .msg_controllen = sizeof(c.room) };
	const struct cmsghdr *head;
	ssize_t n;
	int fd = 0;

	do
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(why)) {
		errno = EPIPE;
		return -1;
	}
	head = CMSG_FIRSTHDR(&m);
	if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	errno = why;
	return why ? -1 : fd;
}

static int ask(const struct broker *b, const struct request *r)
{
	if (send(b->sock, r, sizeof(*r), MSG_NOSIGNAL) != (ssize_t)sizeof(*r))
		return -1;
	return take_answer(b->sock);
}

int broker_open_maps(const struct broker *b, pid_t pid)
{
	return !b || b->sock < 0 ? open_of(pid, "maps")
				 : ask(b, &(struct request){ .kind = OPEN_MAPS, .number = pid });
}

int broker_open_memory(const struct broker *b, pid_t pid)
{
	return !b || b->sock < 0 ? open_of(pid, "smaps_rollup")
				 : ask(b, &(struct request){ .kind = OPEN_MEMORY, .number = pid });
}

int broker_open_mapped(const struct broker *b, pid_t pid, uint64_t start, uint64_t end)
{
	const struct request r = { .kind = OPEN_MAPPED, .number = pid, .start = start, .end = end };

	return !b || b->sock < 0 ? open_mapped(pid, start, end) : ask(b, &r);
}

int broker_open_perf_map(const struct broker *b, pid_t pid, pid_t inner)
{
	const struct request r = { .kind = OPEN_PERF_MAP, .number = pid, .start = (uint64_t)inner };

	return !b || b->sock < 0 ? open_perf_map(pid, r.start) : ask(b, &r);
}

int broker_signal(const struct broker *b, int sig)
{
	return b->sock < 0 ? send_signal(b->command, sig)
			   : ask(b, &(struct request){ .kind = SIGNAL, .number = sig });
}
