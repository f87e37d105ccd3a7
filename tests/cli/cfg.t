#!/bin/bash
# SPDX-License-Identifier: MIT
# Control-flow graphs as `annotate --cfg` shows them, of a program whose graphs are known by hand.
. "$(dirname "$0")/lib.sh"

cat > flow.s <<'ASM'
	.intel_syntax noprefix
	.macro procedure name
	.globl \name
	.type \name, @function
\name:
	.endm
	.text
	procedure stop			# does not return
	mov eax, 231
	syscall
	hlt
	.size stop, . - stop
	procedure loops			# two nested loops: entry, outer, inner, outer's end, return
	mov ecx, 10
1:	mov edx, 5
2:	dec edx
	jnz 2b
	dec ecx
	jnz 1b
	ret
	.size loops, . - loops
	procedure pick			# a table of four, bounded
	cmp edi, 3
	ja 9f
	mov edi, edi
	lea rdx, [rip+table]
	movsxd rax, dword ptr [rdx+rdi*4]
	add rax, rdx
	jmp rax
1:	mov eax, 1
	ret
2:	mov eax, 2
	ret
3:	call stop			# what follows is not reached from here
9:	xor eax, eax
	ret
	.size pick, . - pick
	procedure unknown		# a jump within a frame, by a pointer
	push rbx
	jmp [rdi]
1:	pop rbx
	ret
	.size unknown, . - unknown
	procedure tail			# the same without a frame
	jmp rax
	.size tail, . - tail
	procedure idle			# never ends
	test edi, edi
	jz 8f
7:	inc eax
	pause
	jmp 7b
8:	ret
	.size idle, . - idle
	procedure overlap		# a jump behind a prefix, as libraries have it
	test edi, edi
	jz 1f
	.byte 0xf0
1:	add dword ptr [rsp-8], 1
	ret
	.size overlap, . - overlap
	procedure _start
	call loops
	xor edi, edi
1:	mov ebx, edi
	call pick
	lea edi, [rbx+1]
	cmp edi, 6
	je 2f
	cmp edi, 2
	jne 1b
	inc edi				# 2 is left out: it would stop
	jmp 1b
2:	lea rdi, [rip+pointer]
	call unknown
	lea rax, [rip+done]
	call tail
	xor edi, edi
	call idle
	call overlap
	mov edi, 1
	call overlap
	xor edi, edi
	call stop
	ud2
	.size _start, . - _start
	procedure done
	ret
	.size done, . - done
	.section .rodata
table:	.long 1b, 2b, 3b, 9b
	.data
pointer: .quad 1b
ASM
# local labels of their procedures
sed -i 's/^1:	mov eax, 1$/first: mov eax, 1/; s/^2:	mov eax, 2$/second: mov eax, 2/; s/^3:	call stop/third: call stop/
	s/^9:	xor eax, eax/ninth: xor eax, eax/; s/ja 9f/ja ninth/; s/\.long 1b, 2b, 3b, 9b/.long first - table, second - table, third - table, ninth - table/
	s/^1:	pop rbx/inside: pop rbx/; s/^pointer: \.quad 1b/pointer: .quad inside/' flow.s
ok "a program is assembled" gcc -nostdlib -static -Wl,--build-id=0x0123456701234567 -o flow flow.s
ok "it is recorded" "$ASSAY" record --exact --observe values -- ./flow
cp assay.db values.db
ok "it is recorded without values" "$ASSAY" record --exact -o counts.db -- ./flow

graph() { "$ASSAY" annotate --cfg --json -i "$1" "$2"; }
blocks() { jq -r '.blocks[] | select(.address) | .ends' <<< "$1" | tr '\n' ' '; }
classes() { jq -r '.blocks[] | select(.address) | .class' <<< "$1" | tr '\n' ' '; }

g=$(graph values.db loops)
is "loops: blocks" "$(blocks "$g")" "next next branch branch return "
is "loops: the entry and the return are one class, the outer loop is one" "$(classes "$g")" "0 1 2 1 0 "
is "loops: executions" "$(jq -r '.blocks[] | select(.address) | .executions' <<< "$g" | tr '\n' ' ')" "1 10 50 10 1 "
is "loops: edges' counts add up" "$(jq '[.blocks[4].edges[] | .count] | add' <<< "$g")" 50

g=$(graph counts.db pick)
is "pick: blocks" "$(blocks "$g")" "branch table return return noreturn return "
is "pick: the table has four targets" "$(jq '.blocks[] | select(.ends == "table") | .edges | length' <<< "$g")" 4
is "pick: nothing is missing" "$(jq .missing <<< "$g")" false
is "pick: the call that does not return leads to the exit" \
	"$(jq -r '.blocks[] | select(.ends == "noreturn") | .edges[] | "\(.to) \(.kind)"' <<< "$g")" "exit stop"

g=$(graph counts.db unknown)
is "unknown: edges are missing" "$(jq -c '[.missing, .unknown]' <<< "$g")" "[true,1]"
is "unknown: each block has a class of its own" "$(classes "$g" | tr ' ' '\n' | sort -u | grep -c .)" \
	"$(blocks "$g" | wc -w)"
g=$(graph values.db unknown)
like "unknown: a recording with values adds its target" \
	"$(jq -r '.blocks[] | select(.ends == "unknown") | .edges[] | .kind' <<< "$g")" '^case$'
like "unknown: it is said" "$("$ASSAY" annotate --cfg -i counts.db unknown)" 'edges are missing'

g=$(graph counts.db tail)
is "tail: leaves the procedure" "$(blocks "$g")" "tail "
g=$(graph counts.db idle)
like "idle: the loop that never ends has a virtual edge" "$(jq -r '.blocks[].edges[].kind' <<< "$g")" '^virtual$'
g=$(graph counts.db overlap)
is "overlap: a block each way" "$(blocks "$g")" "branch next next return "
is "overlap: nothing is missing" "$(jq .missing <<< "$g")" false

text=$("$ASSAY" annotate --cfg -i values.db loops)
like "text: the first line of the graph" "$text" '^5 blocks, 8 edges, 5 classes'
like "text: a block" "$text" '^ +4 .* 50 .* branch +5 fall 10, 4 taken 40$'
dot=$("$ASSAY" annotate --dot -i values.db loops)
like "dot: a graph" "$dot" '^digraph "loops" \{$'
like "dot: an edge with its count" "$dot" 'b4 -> b4 \[label="taken 40"\]'
is "dot: as many edges" "$(grep -c -- '->' <<< "$dot")" 8
"$ASSAY" annotate --dot --json -i values.db loops > out 2> errors
is "dot and JSON at once are refused" $? 2

gcc -nostdlib -static -Wl,--build-id=0x89abcdef89abcdef -o flow flow.s
"$ASSAY" annotate --cfg -i values.db loops > out 2> errors
is "another file: refused" $? 1
like "another file: why" "$(cat errors)" 'not the file that was recorded'
like "another file: what to do" "$(cat errors)" 'put back the file that was recorded, or record again'
rm flow
"$ASSAY" annotate --cfg -i values.db loops > out 2> errors
is "no file: refused" $? 1

# Position independent, wherever it was mapped: targets are recorded as they were at run time.
cat > threaded.c <<'C'
#include <stdlib.h>
static int run(void **pc, void *(*give)(int))
{
	static void *const to[] = { &&add, &&twice, &&stop };
	int a = 1;

	if (give) {
		for (int i = 0; i < 3; i++)
			pc[i] = to[i];
		pc = give(3) ? pc : NULL;
	}
	goto **pc++;
add:	a += 3; goto **pc++;
twice:	a *= 2; goto **pc++;
stop:	return a;
}
static void *five(int n) { return malloc((size_t)n); }
int main(void)
{
	void **code = malloc(3 * sizeof(*code));
	return run(code, five) != 8;
}
C
ok "a program that jumps by pointers is compiled" gcc -O1 -fno-inline -fPIE -pie -o threaded threaded.c
ok "it is recorded with values" "$ASSAY" record --exact --observe values -o threaded.db -- ./threaded
g=$(graph threaded.db run)
is "threaded: edges are missing" "$(jq .missing <<< "$g")" true
is "threaded: its jumps' targets are edges all the same" \
	"$(jq '[.blocks[] | select(.ends == "unknown") | .edges[] | select(.kind == "case")] | length' <<< "$g")" 3
is "threaded: nothing that ran is left out" \
	"$(jq '[.blocks[] | select(.executions > 0 and (.reached | not))] | length' <<< "$g")" 0
done_testing
