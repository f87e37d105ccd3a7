# SPDX-License-Identifier: MIT
# What bench/pgo evaluates gawk on: fields of another separator, functions, recursion, formats, substitutions, sorted arrays.
function depth(s, n, k) {
	if (s == "")
		return n
	k = index("({[", substr(s, 1, 1)) ? n + 1 : index(")}]", substr(s, 1, 1)) ? n - 1 : n
	return depth(substr(s, 2), k)
}
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
function join(a, n, sep,   i, s) {
	for (i = 1; i <= n; i++)
		s = s (i > 1 ? sep : "") a[i]
	return s
}
BEGIN { FS = "[(,;]"; print fib(20) }
FNR % 5 == 0 { nest[depth(substr($0, 1, 40), 0)]++ }
/[A-Za-z_]+\(.*\);/ {
	text = $0
	n = gsub(/[a-z]+_/, "<&>", text)
	changed += n
	upper = toupper(substr(text, 3, 20))
	seen[upper] = sprintf("%-12s|%5d|%08x|%.3e", upper, n, length(text) * 2654435761 % 4294967296, n / 7)
}
NF > 2 {
	k = split($0, part, /[ \t]+/)
	total += length(join(part, k, "-"))
	pair[k, NF]++
	if (match($0, /0x[0-9a-fA-F]+/))
		hex += strtonum(substr($0, RSTART, RLENGTH))
}
END {
	n = asorti(seen, order)
	for (i = 1; i <= n && i <= 5; i++)
		print order[i], seen[order[i]]
	m = asort(nest)
	print changed, total, hex, n, m, length(pair)
	for (i = 0; i < 20000; i++)
		s = substr(s sprintf("%c", 65 + i % 26), length(s) > 60 ? 2 : 1)
	print s, tolower(s), int(atan2(1, 2) * 1e6), and(12345, 54321), lshift(3, 7)
}
