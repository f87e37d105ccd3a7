/* SPDX-License-Identifier: MIT */
/* C++ exceptions: through many frames, with destructors, from libraries, in threads and handlers. */
#include "cases.h"

#include <csignal>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <execinfo.h>
#include <unwind.h>

static int alive;
struct guard {
	int n;
	explicit guard(int i) : n(i) { alive++; }
	~guard() { alive--; }
};

NOINLINE static int deep(int n, int where)
{
	guard g(n);
	std::string text(static_cast<size_t>(n % 40), 'x');

	if (n == where)
		throw std::runtime_error("at " + std::to_string(n));
	return deep(n + 1, where) + static_cast<int>(text.size());
}

CASE(many_frames)
{
	uint64_t h = 0;

	for (int i = 0; i < 300; i++)
		try {
			deep(0, i);
			CHECK(!"reached");
		} catch (const std::exception &e) {
			h = mix(h, strlen(e.what()));
			EQ(alive, 0);
		}
	printf("%#llx\n", static_cast<unsigned long long>(h));
}

NOINLINE static void rethrow(int n)
{
	try {
		if (n == 0)
			throw n;
		rethrow(n - 1);
	} catch (int &v) {
		v++;
		throw;
	}
}

CASE(rethrown)
{
	int got = 0;

	try {
		rethrow(100);
	} catch (int v) {
		got = v;
	}
	EQ(got, 101);
}

CASE(many_times)
{
	int caught = 0;

	for (int i = 0; i < 20000; i++)
		try {
			if (i % 3 == 0)
				throw i;
			if (i % 3 == 1)
				throw std::string("text");
			throw 1.5;
		} catch (int) {
			caught += 1;
		} catch (const std::string &) {
			caught += 2;
		} catch (...) {
			caught += 3;
		}
	printf("%d\n", caught);
}

CASE(from_library)
{
	int caught = 0;

	try {
		std::vector<int>().at(5);
	} catch (const std::out_of_range &) {
		caught++;
	}
	try {
		(void)std::stoi("no number");
	} catch (const std::invalid_argument &) {
		caught++;
	}
	try {
		std::regex bad("(unclosed");
	} catch (const std::regex_error &) {
		caught++;
	}
	try {
		std::function<void()>()();
	} catch (const std::bad_function_call &) {
		caught++;
	}
	EQ(caught, 4);
}

struct base {
	virtual ~base() = default;
	virtual int f(int x) { return x; }
};
template <int N> struct derived : base {
	int f(int x) override { return x * N + 1; }
};

CASE(virtual_calls)
{
	std::vector<std::unique_ptr<base>> v;
	int x = 1;

	v.push_back(std::make_unique<derived<2>>());
	v.push_back(std::make_unique<derived<3>>());
	v.push_back(std::make_unique<derived<5>>());
	v.push_back(std::make_unique<base>());
	for (int i = 0; i < 100000; i++)
		x = v[static_cast<size_t>(i * 7 % 4)]->f(x) & 0xffff;
	printf("%d\n", x);
}

CASE(in_threads)
{
	std::vector<std::thread> threads;
	std::mutex m;
	int caught = 0;

	for (int t = 0; t < 16; t++)
		threads.emplace_back([&, t] {
			for (int i = 0; i < 50; i++)
				try {
					deep(0, t + i);
				} catch (const std::runtime_error &) {
					std::lock_guard<std::mutex> lock(m);
					caught++;
				}
		});
	for (auto &t : threads)
		t.join();
	EQ(caught, 800);
}

/* Thrown through a signal frame: code compiled for it must catch it. */
static void thrower(int number)
{
	throw number;
}

NOINLINE static int divide(volatile int by)
{
	return 100 / by;
}

CASE(from_handler)
{
	int caught = 0;
	struct sigaction act = {};

	act.sa_handler = thrower;
	act.sa_flags = SA_NODEFER;
	sigaction(SIGFPE, &act, nullptr);
	for (int i = 0; i < 20; i++)
		try {
			divide(0);
		} catch (int number) {
			EQ(number, SIGFPE);
			caught++;
		}
	EQ(caught, 20);
}

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *, void *n)
{
	++*static_cast<int *>(n);
	return _URC_NO_REASON;
}

NOINLINE static int unwind_at(int n)
{
	volatile int extra = 1;

	if (n)
		return unwind_at(n - 1) + extra - 1;
	int frames = 0;
	_Unwind_Backtrace(count_frame, &frames);
	return frames;
}

/* Return addresses on the stack are the program's: the unwinder knows them all. */
CASE(backtrace)
{
	int shallow = unwind_at(0), deeper = unwind_at(50);
	void *addresses[100];

	EQ(deeper - shallow, 50);
	CHECK(::backtrace(addresses, 100) > 2);
	bool in_case = false;
	for (auto a : addresses)
		in_case |= a > reinterpret_cast<void *>(case_backtrace) && a < reinterpret_cast<char *>(case_backtrace) + 400;
	CHECK(in_case);
}

static void backtracer(int)
{
	int frames = 0;

	_Unwind_Backtrace(count_frame, &frames);
	printf("%d frames\n", frames > 3 ? 3 : frames);
}

CASE(backtrace_from_handler)
{
	signal(SIGUSR1, backtracer);
	raise(SIGUSR1);
}

CASE(streams)
{
	std::ostringstream out;
	std::map<std::string, int> words;
	std::istringstream in("the quick brown fox jumps over the lazy dog the end");
	std::string word;

	while (in >> word)
		words[word]++;
	for (const auto &[w, n] : words)
		out << w << '=' << n << ' ' << 1.0 / n << '\n';
	fputs(out.str().c_str(), stdout);
}

CASE(die_uncaught)
{
	throw std::runtime_error("nobody catches this");
}

CASE(die_in_noexcept)
{
	auto f = []() noexcept { deep(0, 5); };

	f();
}

CASE(terminate_handler)
{
	std::set_terminate([] {
		puts("terminating");
		_exit(33);
	});
	throw 1;
}
