#!/bin/bash
# SPDX-License-Identifier: MIT
# The layering check holds for the tree, and fails for each kind of trespass.
. "$(dirname "$0")/lib.sh"

both='/* SPDX-License-Identifier: MIT OR GPL-2.0-only */'

tree() { # FILE LINE…: a tree of that file with those includes
	local file=$1
	shift
	rm -rf src
	mkdir -p src/base src/x86 src/sampler/bpf src/runahead "src/$(dirname "$file")"
	touch src/base/err.h src/x86/insn.h src/sampler/sampler.h
	echo "$both" | tee src/x86/uop.h > src/runahead/interp.h
	printf '%s\n' "$@" > "src/$file"
}

refused() { # NAME REGEX
	run "$ROOT/tools/layers" src
	is "$1: refused" "$status" 1
	like "$1: said" "$err" "$2"
}

ok "the tree" "$ROOT/tools/layers"

tree x86/lift.c '#include "x86/insn.h"' '#include "base/err.h"' '#include <stdio.h>'
ok "its own and above" "$ROOT/tools/layers" src
tree base/err.c '#include "x86/insn.h"'
refused "below" 'base/err.c includes x86/insn.h: x86 is below base'
tree base/err.c '  #  include	"x86/insn.h"'
refused "below, in disguise" 'base/err.c includes x86/insn.h'
tree base/err.c '#include <x86/insn.h>'
refused "angle brackets" 'base/err.c includes <x86/insn.h>'
tree base/err.c '#include "err.h"'
refused "no folder" 'name its folder'
tree x86/lift.c '#include "../base/err.h"'
refused "by way of .." 'of no known folder'
tree gadget/gadget.c '#include "base/err.h"'
refused "unknown folder" 'folder gadget is not in the list'
tree stray.c ''
refused "no folder at all" 'stray.c'
tree sampler/bpf/sampler.bpf.c "$both" '#include "runahead/interp.h"' '#include "x86/uop.h"' '#include <bpf/bpf_helpers.h>'
ok "the kernel side: what is made for both" "$ROOT/tools/layers" src
tree sampler/bpf/sampler.bpf.c "$both" '#include "base/err.h"'
refused "the kernel side: user space" 'runs in the kernel and includes base/err.h'
tree runahead/interp.h "$both" '#include "x86/insn.h"'
refused "… by way of a shared header" 'runahead/interp.h runs in the kernel and includes x86/insn.h'
tree sampler/bpf/sampler.bpf.c '#include "x86/uop.h"'
refused "… without its license" 'has to say MIT OR GPL-2.0-only'
tree base/err.c '#include "sampler.skel.h"'
refused "a skeleton elsewhere" 'includes sampler.skel.h'
rm -rf src; mkdir src
refused "nothing to check" 'no sources'

done_testing
