# SPDX-License-Identifier: MIT
#
# make            build/assay, its manual pages and completion
# make demo       installs packages, builds, records a compressor at work and prints what it found
# make check      installs packages, builds with gcc and clang, runs every check and test
# make quick      the quick tests, under two minutes      make long   those and the long ones
# make help       the other targets
#
# CC=gcc|clang    SAN=1 adds AddressSanitizer and UBSan      V=1 shows the commands
# Each combination of CC and SAN has a build folder of its own: build, build-asan, build-clang, …

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:

VERSION := 0.1.0
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG := clang
CLANG_FORMAT := clang-format-14
BPFTOOL := $(firstword $(wildcard /usr/sbin/bpftool /usr/bin/bpftool) bpftool)
PREFIX := /usr/local
DESTDIR :=
BUILD := build$(if $(SAN),-asan)$(if $(findstring clang,$(CC)),-clang)
Q := $(if $(V),,@)
, := ,

PACKAGES := libbpf libelf libdw sqlite3 jansson libzstd zlib libcap libb2
CFLAGS := -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef \
	-Wvla -Werror
# AddressSanitizer's mark, which gcc sets itself.
CLANG_ADDRESS := -D__SANITIZE_ADDRESS__=1
SANITIZE := $(if $(SAN),-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined \
	-fno-omit-frame-pointer $(if $(findstring clang,$(CC)),$(CLANG_ADDRESS)))
CPPFLAGS = -std=gnu11 -D_GNU_SOURCE -DHASH_NONFATAL_OOM=1 $(if $(SAN),-DASSAY_CHECKS) -DASSAY_VERSION='"$(VERSION)"' -Isrc -I$(BUILD)/gen
COMPILE = $(CC) $(CPPFLAGS) $(CFLAGS) $(WARNINGS) $(SANITIZE) -MMD -MP
# Zydis, GLPK have no .pc file in Debian
LDLIBS = -lZydis $(shell pkg-config --libs $(PACKAGES)) -lglpk -liberty -lm -lpthread

LIB_SRC := $(filter-out src/cmd/%,$(wildcard src/*/*.c))
CMD_SRC := $(wildcard src/cmd/*.c)
BPF_SRC := $(wildcard src/sampler/bpf/*.bpf.c)
HELPER_SRC := $(wildcard tests/oracle/*.c tests/support/*.c)
TEST_BPF_SRC := $(wildcard tests/bpf/*.bpf.c)

LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/o/%.o)
CMD_OBJ := $(CMD_SRC:%.c=$(BUILD)/o/%.o)
HELPER_OBJ := $(HELPER_SRC:%.c=$(BUILD)/o/%.o)
SKEL := $(BPF_SRC:src/sampler/bpf/%.bpf.c=$(BUILD)/gen/%.skel.h)
TEST_SKEL := $(TEST_BPF_SRC:tests/bpf/%.bpf.c=$(BUILD)/gen/%.skel.h)

TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*.c tests/long/*.c))
PROGS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/progs/*.c))
# The programs the exact engine is judged with: dynamic and position independent, and in other forms.
EXACT_DIR := $(BUILD)/tests/progs/exact
EXACT := $(addprefix $(BUILD)/,$(basename $(wildcard tests/progs/exact/*.c tests/progs/exact/*.cc)))
EXACT_FORMS := $(foreach form,static static-pie no-pie,$(EXACT:$(EXACT_DIR)/%=$(EXACT_DIR)/$(form)/%))
EXACT_OTHER := $(EXACT_DIR)/stripped/faults $(EXACT_DIR)/bare $(EXACT_DIR)/static-pie/bare
EXACT_PLUGINS := $(patsubst tests/progs/exact/plugins/%.c,$(EXACT_DIR)/%.so,$(wildcard tests/progs/exact/plugins/*.c))
EXACT_TOOLS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/exact/*.c))
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/*.c))

.PHONY: all
all: $(BUILD)/assay $(BUILD)/assay-exact man completion

$(BUILD)/assay: $(CMD_OBJ) $(BUILD)/libassay.a
	@echo "  LINK $@"
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -o $@ $^ $(LDLIBS)

$(BUILD)/libassay.a: $(LIB_OBJ)
$(BUILD)/libtest.a: $(HELPER_OBJ)
%.a:
	@mkdir -p $(@D)
	@echo "  AR   $@"
	$(Q)rm -f $@ && ar rcs $@ $^

$(BUILD)/o/src/%.o: src/%.c
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(COMPILE) -c -o $@ $<

# The page's parts are put into the program as they are.
$(BUILD)/o/src/html/html.o $(BUILD)/o/fuzz/src/html/html.o: $(wildcard src/html/*.html src/html/*.css src/html/*.js)

# The kernel side: objects, then skeletons that user space includes.
$(BUILD)/gen/%.bpf.o: src/sampler/bpf/%.bpf.c
	$(BUILD_BPF)
$(BUILD)/gen/%.bpf.o: tests/bpf/%.bpf.c
	$(BUILD_BPF)
define BUILD_BPF
@mkdir -p $(@D)
@echo "  BPF  $<"
$(Q)$(CLANG) -target bpf -mcpu=v3 -O2 -g -Wall -Werror -Isrc -Itests \
	-I/usr/include/$(shell uname -m)-linux-gnu -MMD -MP -c -o $@ $<
endef

$(BUILD)/gen/%.skel.h: $(BUILD)/gen/%.bpf.o
	@echo "  SKEL $@"
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

$(filter $(BUILD)/o/src/sampler/%,$(LIB_OBJ)): | $(SKEL)

# What runs in the program's process: no libc, general registers only, all at one fixed address.
RT_SRC := $(wildcard src/engine/*/*.c src/engine/*/*.S)
RT_OBJ := $(RT_SRC:%=$(BUILD)/o/%.o)
RT_FLAGS := -O2 -g -fvisibility=hidden -ffreestanding -fno-builtin -fno-stack-protector -fPIC -mgeneral-regs-only \
	-fasynchronous-unwind-tables
RT_BASE := $(shell sed -n 's/^.define ENGINE_BASE //p' src/engine/core/layout.h)
RT_CONTEXT := $(shell sed -n 's/^.define CONTEXT //p' src/engine/core/layout.h)
$(BUILD)/o/src/engine/%.o: src/engine/%
	@mkdir -p $(@D)
	@echo "  RT   $<"
	$(Q)$(CC) $(CPPFLAGS) $(RT_FLAGS) $(WARNINGS) -MMD -MP -c -o $@ $<
$(BUILD)/assay-exact: $(RT_OBJ)
	@echo "  LINK $@"
	$(Q)$(CC) -static -nostdlib -Wl,-Ttext-segment=$(RT_BASE) -Wl,--defsym=rt_context=$(RT_CONTEXT) -Wl,-z,noexecstack \
		-Wl,--build-id -o $@ $^

# What the option tables generate.
.PHONY: man completion
man: $(BUILD)/man/assay.1
completion: $(BUILD)/completion/assay.bash
$(BUILD)/man/assay.1: $(BUILD)/assay
	@mkdir -p $(@D)
	$(Q)$< help --man-all $(@D)
$(BUILD)/completion/assay.bash: $(BUILD)/assay
	@mkdir -p $(@D)
	$(Q)$< completion zsh > $(@D)/_assay
	$(Q)$< completion fish > $(@D)/assay.fish
	$(Q)$< completion bash > $@

.PHONY: install
install: all
	install -D -m 755 $(BUILD)/assay $(DESTDIR)$(PREFIX)/bin/assay
	install -D -m 755 $(BUILD)/assay-exact $(DESTDIR)$(PREFIX)/libexec/assay/assay-exact
	install -d $(DESTDIR)$(PREFIX)/share/assay/coproc
	install -m 644 src/coproc/programs/*.uc $(DESTDIR)$(PREFIX)/share/assay/coproc
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(BUILD)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 $(BUILD)/completion/assay.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/assay
	install -D -m 644 $(BUILD)/completion/_assay $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_assay
	install -D -m 644 $(BUILD)/completion/assay.fish \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/assay.fish

# Tests.
$(BUILD)/o/tests/%.o: tests/%.c | $(TEST_SKEL)
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(COMPILE) -Itests -c -o $@ $<

# Tests with tests/support/no_memory.h have functions of their own before those that allocate.
NO_MEMORY := $(addprefix $(BUILD)/tests/unit/,no_memory no_memory_exact)
$(NO_MEMORY): private LDLIBS += $(addprefix -Wl$(,)--wrap=,malloc calloc realloc reallocarray strdup strndup)
$(BUILD)/tests/unit/no_memory_exact: private LDLIBS += -Wl,--wrap=mmap
# The test of scales has schedules and facts of its own.
$(BUILD)/tests/unit/culprit_scale: private LDLIBS += $(addprefix -Wl$(,)--wrap=,culprits_least culprits_find_paths paths_placed carried_cycles carried_to_itself)
# How samples are added up is the recorder's, which is in no library.
$(BUILD)/tests/unit/exact_samples: $(BUILD)/o/src/cmd/exact_samples.o
$(TESTS): $(BUILD)/%: $(BUILD)/o/%.o $(BUILD)/libtest.a $(BUILD)/libassay.a
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcmocka $(LDLIBS)

$(PROGS): $(BUILD)/%: %.c
	@mkdir -p $(@D)
	@echo "  PROG $@"
	$(Q)$(CC) -O2 -g -o $@ $< -lpthread

# NAME from NAME.c or NAME.cc, and NAME_asm.S where there is one; in a folder named after the linker's option.
EXACT_PARTS = $$(wildcard $$(addprefix tests/progs/exact/$$(@F),.c .cc _asm.S)) \
	$(wildcard tests/progs/exact/*.h tests/progs/exact/*.inc)
EXACT_BUILD = @mkdir -p $(@D); echo "  PROG $@"; $(if $(V),set -x;) \
	$(if $(filter %.cc,$^),g++ -std=gnu++17 -fnon-call-exceptions,gcc) -D_GNU_SOURCE -O2 -g -Wall -Werror -Itests/progs/exact \
	-Wa,-Itests/progs/exact $1 -o $@ $(filter %.c %.cc %.S,$^) -lpthread -ldl -lrt
.SECONDEXPANSION:
$(EXACT): $(EXACT_PARTS)
	$(call EXACT_BUILD,)
$(EXACT_FORMS): $(EXACT_PARTS)
	$(call EXACT_BUILD,-$(notdir $(@D)) -DFORM_$(subst -,_,$(notdir $(@D))))
$(EXACT_DIR)/stripped/%: $(EXACT_DIR)/%
	@mkdir -p $(@D)
	$(Q)strip -o $@ $<
$(EXACT_DIR)/bare: tests/progs/exact/bare.S
	$(call EXACT_BUILD,-nostdlib -static)
$(EXACT_DIR)/static-pie/bare: tests/progs/exact/bare.S
	@mkdir -p $(@D)
	$(call EXACT_BUILD,-nostdlib -static-pie)
$(EXACT_PLUGINS): $(EXACT_DIR)/%.so: tests/progs/exact/plugins/%.c tests/progs/exact/plugins/plugin.h
	@mkdir -p $(@D)
	@echo "  PROG $@"
	$(Q)gcc -O2 -fPIC -shared -Wall -Werror -o $@ $<
$(EXACT_TOOLS): $(BUILD)/%: $(BUILD)/o/%.o $(BUILD)/libtest.a $(BUILD)/libassay.a
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -o $@ $^ $(LDLIBS)

# Fuzzers have objects of their own, since the coverage is compiled in.
FUZZ_FLAGS := -O1 -g -DASSAY_CHECKS -fno-sanitize-recover=undefined -fno-omit-frame-pointer $(CLANG_ADDRESS)
FUZZ_OBJ := $(patsubst %.c,$(BUILD)/o/fuzz/%.o,$(LIB_SRC) $(wildcard tests/support/*.c))
$(BUILD)/o/fuzz/%.o: %.c | $(SKEL)
	@mkdir -p $(@D)
	@echo "  FUZZ $<"
	$(Q)$(CLANG) $(CPPFLAGS) -Itests $(WARNINGS) $(FUZZ_FLAGS) \
		-fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<
$(BUILD)/libfuzz.a: $(FUZZ_OBJ)
$(FUZZERS): $(BUILD)/%: $(BUILD)/o/fuzz/%.o $(BUILD)/libfuzz.a
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LDLIBS)

FUZZ_SECONDS := 60
RUN := tests/run --build $(BUILD)
.PHONY: packages tests fuzzers unit quick long fuzz rebase check
packages:
	@tools/install-packages build test lint
tests: all $(TESTS) $(PROGS) exact-programs
.PHONY: exact-programs
exact-programs: $(EXACT) $(EXACT_FORMS) $(EXACT_OTHER) $(EXACT_PLUGINS) $(EXACT_TOOLS)
fuzzers: $(FUZZERS)
unit: tests
	@$(RUN) unit
quick: tests fuzzers
	@$(RUN) --fuzz-seconds 1 quick fuzz
long: tests fuzzers
	@$(RUN) --fuzz-seconds $(FUZZ_SECONDS) quick long fuzz
fuzz: fuzzers
	@$(RUN) --fuzz-seconds $(FUZZ_SECONDS) fuzz
rebase: tests
	@REBASE=1 $(RUN) quick
check: packages
	@tests/check

# Form.
SOURCES = $(shell find src tests bench demo -name '*.[ch]')
.PHONY: format format-check layers lint
format:
	$(Q)$(CLANG_FORMAT) -i $(SOURCES)
format-check:
	@$(CLANG_FORMAT) --dry-run --Werror $(SOURCES)
layers:
	@tools/layers
lint: $(SKEL)
	@tools/lint $(BUILD)

.PHONY: demo clean help
demo:
	@tools/install-packages build
	@$(MAKE) all
	@demo/run $(BUILD)/assay
clean:
	rm -rf build build-asan build-clang build-asan-clang
help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile
	@echo 'make unit · fuzz FUZZ_SECONDS=60 · rebase (accept golden text) · packages'
	@echo 'make format · format-check · lint · layers · install PREFIX= DESTDIR= · clean'

-include $(shell find $(BUILD)/o $(BUILD)/gen -name '*.d' 2>/dev/null)
