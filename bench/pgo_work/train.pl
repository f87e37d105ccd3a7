# SPDX-License-Identifier: MIT
# What bench/pgo trains Perl on: counting words of text, numbers, sorting.
use strict; my (%n, %len); my $calls = 0;
for my $round (1 .. 3) {
	open my $f, '<', $ARGV[0] or die;
	while (<$f>) {
		$calls++ while /\b[a-z_]+\s*\(/g;
		$n{lc $_}++ for /[A-Za-z_]\w+/g;
		s/\s+/ /g;
		$len{length $_}++;
	}
}
my @top = sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n;
print "$_ $n{$_}\n" for @top[0 .. 20];
my $x = 0; for my $i (1 .. 300000) { $x = ($x * 31 + $i) % 65537 } print "$calls $x\n";
