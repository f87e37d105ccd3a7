/* SPDX-License-Identifier: MIT */
#include "base/privilege.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NOBODY 65534

bool privilege_has(cap_value_t cap)
{
	cap_flag_value_t v = CAP_CLEAR;
	cap_t now = cap_get_proc();

	if (now)
		cap_get_flag(now, cap, CAP_EFFECTIVE, &v);
	cap_free(now);
	return v == CAP_SET;
}

static long id_of(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long v;

	if (!text || !*text)
		return -1;
	v = strtol(text, &end, 10);
	return *end || v <= 0 || v > 0x7fffffff ? -1 : v;
}

/* Adds those of keep[0 .. n) that the process has to the set `want`. */
static int add_held(cap_t want, const cap_value_t *keep, size_t n, bool effective)
{
	cap_t now = cap_get_proc();
	int rc = now ? 0 : -1;

	for (size_t i = 0; !rc && i < n; i++) {
		cap_flag_value_t v = CAP_CLEAR;

		cap_get_flag(now, keep[i], CAP_PERMITTED, &v);
		if (v != CAP_SET)
			continue;
		rc = cap_set_flag(want, CAP_PERMITTED, 1, &keep[i], CAP_SET);
		if (effective && !rc)
			rc = cap_set_flag(want, CAP_EFFECTIVE, 1, &keep[i], CAP_SET);
	}
	cap_free(now);
	return rc;
}

/* Makes use[0 .. nuse) effective, keeps reserve[0 .. n) permitted only, and drops all other
 * capabilities. */
static int keep_only(const cap_value_t *use, size_t nuse, const cap_value_t *reserve, size_t n)
{
	cap_t want = cap_init();
	int rc = want && !add_held(want, use, nuse, true) && !add_held(want, reserve, n, false)
			 ? cap_set_proc(want)
			 : -1;

	cap_free(want);
	return rc;
}

static int set_groups(uid_t uid, gid_t gid)
{
	const struct passwd *pw = getpwuid(uid);

	return pw ? initgroups(pw->pw_name, gid) : setgroups(1, &gid);
}

/* True if the process is root for a user who called sudo. */
static bool privilege_caller(void)
{
	return getuid() == 0 && id_of("SUDO_UID") > 0 && id_of("SUDO_GID") > 0;
}

static bool is_caller;

bool privilege_became_caller(void)
{
	return is_caller;
}

/* Capabilities survive the change of users; privilege_drop() says which stay. */
static int become_caller(struct err *err)
{
	long uid = id_of("SUDO_UID"), gid = id_of("SUDO_GID");

	if (!privilege_caller())
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || set_groups((uid_t)uid, (gid_t)gid) ||
	    setresgid((gid_t)gid, (gid_t)gid, (gid_t)gid) ||
	    setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid))
		return err_sys(err, "cannot become user %ld, who called sudo", uid);
	is_caller = true;
	return 0;
}

static int give_up(const cap_value_t *use, size_t nuse, const cap_value_t *reserve, size_t n,
		   struct err *err)
{
	return keep_only(use, nuse, reserve, n) ? err_sys(err, "cannot give up capabilities") : 0;
}

int privilege_keep(const cap_value_t *keep, size_t n, struct err *err)
{
	return give_up(keep, n, NULL, 0, err);
}

int privilege_drop(const cap_value_t *keep, size_t n, struct err *err)
{
	cap_value_t use[PRIVILEGE_KEEPS + 1];

	if (become_caller(err))
		return -1;
	for (size_t i = 0; i < n; i++)
		use[i] = keep[i];
	if (getuid() == 0)
		use[n++] = CAP_DAC_OVERRIDE;
	return give_up(use, n, NULL, 0, err);
}

int privilege_none(struct err *err)
{
	static const cap_value_t use[] = { CAP_DAC_OVERRIDE },
				 reserve[] = { CAP_SETUID, CAP_SETGID };
	bool root;

	if (become_caller(err))
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_sys(err, "cannot give up privileges");
	root = getuid() == 0;
	return give_up(use, root, reserve, root ? 2 : 0, err);
}

/* A user namespace of one user has no user nobody (EINVAL), and its root is an ordinary user
 * outside. */
static bool become_nobody(void)
{
	static const cap_value_t change[] = { CAP_SETUID, CAP_SETGID };

	if (keep_only(change, 2, NULL, 0))
		return false;
	if (setresgid(NOBODY, NOBODY, NOBODY))
		return errno == EINVAL;
	return !setgroups(0, NULL) && !setresuid(NOBODY, NOBODY, NOBODY);
}

bool privilege_become_nobody(void)
{
	if (getuid() == 0 && !become_nobody())
		return false;
	return !keep_only(NULL, 0, NULL, 0);
}
