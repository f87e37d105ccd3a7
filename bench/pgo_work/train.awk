# SPDX-License-Identifier: MIT
# What bench/pgo trains gawk on: counting words and lengths, numbers.
{
	lines[length($0) % 80]++
	for (i = 1; i <= NF; i++)
		words[$i]++
	if ($0 ~ /^(static|int|void)[ \t]/)
		procedures++
	sub(/[ \t]+$/, "")
	size += length($0)
}
END {
	for (w in words)
		if (words[w] > most) {
			most = words[w]
			which = w
		}
	for (i = 0; i < 300000; i++)
		x = (x * 31 + i) % 65537
	print NR, size, procedures, which, most, length(lines), x
}
