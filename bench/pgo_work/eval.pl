# SPDX-License-Identifier: MIT
# What bench/pgo evaluates Perl on: objects, closures, references, formats, local, eval, substr, tr, pack, join and split.
use strict;
package Shape; sub new { my ($c, %a) = @_; return bless {%a}, $c } sub area { my $s = shift; return $s->{w} * $s->{h} }
package Square; our @ISA = ('Shape'); sub new { my ($c, $w) = @_; return Shape::new($c, w => $w, h => $w) }
package main;
my $sum = 0; for my $i (1 .. 20000) { my $s = $i % 2 ? Square->new($i) : Shape->new(w => $i, h => 2); $sum += $s->area } print "$sum\n";
my @subs = map { my $k = $_; sub { my $n = 0; $n += $_ * $k for @_; return $n } } 1 .. 50; my $t = 0; for my $r (1 .. 60) { $t += $_->(1 .. 10) for @subs } print "$t\n";
my %tree; for my $i (1 .. 15000) { my @p = split //, sprintf '%05d', $i * 7919 % 100003; my $at = \%tree; $at = $at->{$_} ||= {} for @p }
sub depth { my $h = shift; my $d = 0; for (values %$h) { my $k = depth($_); $d = $k if $k > $d } return $d + 1 } print depth(\%tree), "\n";
my $bad = 0; for my $i (1 .. 6000) { eval { die { code => $i } if $i % 3 == 0; local $_ = $i; 1 } or $bad += $@->{code} } print "$bad\n";
my $s = join ',', map { sprintf '%x:%.2f', $_, $_ / 3 } 1 .. 9000; my %h = map { split /:/, $_, 2 } split /,/, $s; print scalar(keys %h), "\n";
(my $u = $s) =~ tr/a-f0-9/A-F9876543210/; print substr($u, 100, 30), index($u, 'FFF'), rindex($u, 'A'), "\n";
print unpack('%32C*', $u), length(pack('w*', 1 .. 5000)), "\n"; my @q; for (1 .. 20000) { push @q, $_; shift @q if @q > 20; splice @q, 3, 1, $_, $_ if $_ % 97 == 0 } print scalar(@q), "\n";
my $c = 0; while ($s =~ /(?<a>[0-9a-f]{2,3}):(\d+)\.(?:33|67)(?=,)/g) { $c += length $+{a} } print "$c\n"; print join(' ', (reverse sort { $a <=> $b } map { ord } split //, $s)[0 .. 5]), "\n";
my @m = map { [map { $_ % 7 } 1 .. 40] } 1 .. 40; my $tr = 0; for my $i (0 .. 39) { for my $j (0 .. 39) { $tr += $m[$i][$_] * $m[$_][$j] for 0 .. 39 } } print "$tr\n";
my $str = ""; $str .= sprintf "%-10s|%5d|%e\n", "x$_", $_, $_ / 7 for 1 .. 6000; print length $str, "\n"; print ucfirst(lc('HELLO')) . ('ab' x 5) . join('', map { chr(65 + $_ % 26) } 1 .. 2000), "\n";
