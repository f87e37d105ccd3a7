#!/bin/bash
# SPDX-License-Identifier: MIT
# The page of `assay html` in a real browser: it opens without an error, searches, switches views, marks the next hottest
# instruction, changes its theme, and takes a hostile name as text. A script at the end of a copy of the page does what a
# user does and writes what it saw into the document, which the browser prints.
. "$(dirname "$0")/../cli/lib.sh"

browser=$(command -v chromium || command -v chromium-browser)
if [ -z "$browser" ]; then
	echo "1..0 # SKIP chromium is not installed"
	exit 0
fi

cat > busy.c <<'C'
#include <stdio.h>
int hostile(int n) __asm__("\"</script><img src=x onerror=owned=1>&\"");
__attribute__((noinline)) int hostile(int n)
{
	int t = 0;

	for (int i = 0; i < n; i++)
		t = t * 31 + (i & 3 ? i : -i);
	return t;
}
__attribute__((noinline)) static int other(int n)
{
	int t = 1;

	for (int i = 1; i < n; i++)
		t += i / (t | 1);
	return t;
}
int main(void)
{
	printf("%d\n", hostile(200000) + other(20000));
	return 0;
}
C
gcc -O1 -g -o busy busy.c || exit 1
ok "an exact recording" "$ASSAY" record --exact --observe values -q -o busy.db -- ./busy
ok "its page" "$ASSAY" html -i busy.db -o page.html
is "the page is its owner's alone" "$(stat -c %a page.html)" 600
unlike "the page asks for nothing from elsewhere" "$(grep -oE '(src|href)="?[a-z]+:' page.html)" .
own() { sed '/^<script id="data"/,/^<\/script>/d' "$1" | wc -c; }
is "the page's own text is at most 60 KB" "$(($(own page.html) <= 61440))" 1
is "no name ends the element that holds the data" "$(grep -c "owned=1>" page.html)" 0

cat > act.js <<'JS'
const said = [], say = (k, v) => said.push(k + ' = ' + v);
const rows = () => [...document.querySelectorAll('#view-procs tbody tr')];
const press = key => document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
setTimeout(() => {
	say('ready', document.body.dataset.ready);
	say('first', rows()[0].querySelector('.name').title);
	say('count', rows().length > 1);
	assay.search('other');
	say('found', rows().length + ' ' + rows()[0].querySelector('.name').title);
	assay.search('no such name');
	say('nothing', rows().length);
	press('Escape');
	assay.search('');
	press('Enter');
	say('view', assay.state.view);
	say('instructions', /imul|shl|lea/.test(document.getElementById('asm').textContent));
	say('source', document.getElementById('source').textContent.includes('t * 31'));
	press('n');
	say('detail', document.getElementById('detail').textContent.length > 0);
	const lanes = document.getElementById('lanes'), view = document.getElementById('asm').getBoundingClientRect();
	const paths = [...lanes.querySelectorAll('path')].map(p => p.getBoundingClientRect());
	say('lanes', paths.some(p => p.bottom > view.top && p.top < view.bottom && p.left > view.left && p.right < view.right));
	const before = document.documentElement.dataset.theme;
	press('d');
	say('theme', before !== document.documentElement.dataset.theme);
	press('1');
	say('back', assay.state.view);
	press('?');
	say('keys', document.getElementById('keys').open + ' ' + document.getElementById('keys').querySelectorAll('dl dd').length);
	say('owned', typeof owned + ' ' + document.images.length);
	say('errors', errors.length + ' ' + errors.join('; '));
	document.body.dataset.said = btoa(unescape(encodeURIComponent(said.join('\n'))));
}, 50);
JS
# A page with a script at its end that acts; prints what the script saw.
act() { # PAGE SCRIPT [SCRIPT-BEFORE]
	{
		echo '<script>const errors = []; addEventListener("error", e => errors.push(e.message));'
		echo 'for (const k of ["error", "warn"]) console[k] = (...a) => errors.push(a.join(" "));'
		[ -z "${3:-}" ] || cat "$3"
		echo '</script>'
	} > hook.html
	awk -v hook="$(cat hook.html)" -v script="$2" '/<style>/ && !done { print hook; done = 1 } /^<\/body>/ { print "<script>"; while ((getline line < script) > 0) print line; print "</script>" } { print }' \
		"$1" > acted.html
	HOME=$TMP timeout 600 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$TMP/chromium" \
		--virtual-time-budget=4000 --window-size=1400,900 --dump-dom "file://$TMP/acted.html" > dom.html 2> browser.err
	sed -n 's/.*data-said="\([^"]*\)".*/\1/p' dom.html | head -1 | base64 -d
}
said=$(act page.html act.js)
[ -n "$said" ] || diag "$(tail -5 browser.err)"
like "the page opens" "$said" '^ready = yes$'
like "a hostile name is text" "$said" '^first = </script><img src=x onerror=owned=1>&$'
like "the table has procedures" "$said" '^count = true$'
like "search finds a procedure" "$said" '^found = 1 other'
like "search says where there is none" "$said" '^nothing = 0$'
like "Enter annotates" "$said" '^view = annotate$'
like "instructions are shown" "$said" '^instructions = true$'
like "source is shown" "$said" '^source = true$'
like "the next hottest instruction has details" "$said" '^detail = true$'
like "lanes of branches stand beside the instructions" "$said" '^lanes = true$'
like "a key changes the theme" "$said" '^theme = true$'
like "a key leads back to the table" "$said" '^back = procs$'
like "a key lists the keys" "$said" '^keys = true [1-9][0-9]*$'
like "nothing of a name runs" "$said" '^owned = undefined 0$'
like "there is no error in the console" "$said" '^errors = 0 $'

# The flame graph, of made-up stacks whose names are hostile.
"$BUILD/tests/unit/report_recordings" . && "$ASSAY" html -i hostile.db -o stacks.html 2>/dev/null
cat > act.js <<'JS'
const said = [], say = (k, v) => said.push(k + ' = ' + v);
const press = key => document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
const info = () => assay.views.flame.info, $$ = id => document.getElementById(id);
const mouse = (type, node, x, y) => node.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, bubbles: true, pointerId: 1 }));
setTimeout(() => {
	Element.prototype.setPointerCapture = () => {}; // a pointer that is made up cannot be captured
	show('flame');
	say('all', info().total + ' ' + info().nodes);
	const g = $$('flame').getContext('2d'), seen = new Set(g.getImageData(0, 0, 600, 60).data);
	say('drawn', seen.size > 5);
	say('zoom', assay.views.flame.zoomTo('deflate') + ' ' + info().rootName + ' ' + info().total);
	press('Escape');
	say('whole', info().rootName);
	press('ArrowDown'); press('ArrowDown'); press('Enter');
	say('keyboard', info().rootName);
	press('Escape');
	assay.search('longest');
	say('matched', info().matched);
	assay.search('');
	press('i');
	say('reversed', info().reversed + ' ' + info().total);
	say('reversed root', assay.views.flame.zoomTo('longest_match') + ' ' + info().rootName);
	press('Escape'); press('i');
	press('t');
	say('thread', info().thread + ' ' + info().total);
	$$('thread').value = '-1'; $$('thread').dispatchEvent(new Event('change'));
	const t = $$('timeline').getBoundingClientRect();
	mouse('pointerdown', $$('timeline'), t.left + 1, t.top + 9);
	mouse('pointermove', $$('timeline'), t.left + t.width / 2 - 4, t.top + 9);
	mouse('pointerup', $$('timeline'), t.left + t.width / 2 - 4, t.top + 9);
	say('range', (info().total > 80 && info().total < 120) + ' ' + (info().to < 20));
	press('Escape');
	say('whole time', info().total);
	const b = $$('flamebox').getBoundingClientRect();
	$$('flamebox').dispatchEvent(new MouseEvent('mousemove', { clientX: b.left + 40, clientY: b.top + 30, bubbles: true }));
	say('tip', $$('tip').textContent);
	say('owned', document.images.length);
	say('errors', errors.length + ' ' + errors.join('; '));
	document.body.dataset.said = btoa(unescape(encodeURIComponent(said.join('\n'))));
}, 50);
JS
said=$(act stacks.html act.js)
[ -n "$said" ] || diag "$(tail -5 browser.err)"
like "flame graph: all samples" "$said" '^all = 200 7$'
like "... is drawn" "$said" '^drawn = true$'
like "... zooms" "$said" '^zoom = true deflate 200$'
like "... and back" "$said" '^whole = all$'
like "... by keyboard" "$said" '^keyboard = deflate$'
like "... search says how much matches" "$said" '^matched = 60.0 % matches$'
like "... reversed" "$said" '^reversed = true 200$'
like "... reversed: what samples end in" "$said" '^reversed root = true longest_match$'
like "... of a thread" "$said" '^thread = 0 167$'
like "... of a stretch of time" "$said" '^range = true true$'
like "... and of all of it again" "$said" '^whole time = 200$'
like "... tells of the frame under the mouse" "$said" '^tip = main'
like "... hostile names are text" "$said" '^owned = 0$'
like "... without an error in the console" "$said" '^errors = 0 $'

# A flame graph of 100,000 nodes, whose stacks have much in common at their ends: reversed, few of its millions of nodes are built.
cat > many.js <<'JS'
{
	const parse = JSON.parse;
	JSON.parse = text => {
		const D = parse(text), N = 100000, p = [0], f = [-1], n = [], c = [];
		let seed = 1;
		const random = k => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0, (seed >>> 8) % k);
		D.funcs = Array.from({ length: 2000 }, (_, i) => ['proc' + i, 0, 0]);
		for (let i = 1; i < N; i++) { p.push(i < 50 ? 1 : Math.min(i, 1 + random(2000))); f.push(random(2000)); }
		for (let i = 1; i < N; i++) { n.push(1); c.push(1, 2 + random(9)); }
		return Object.assign(D, { nodes: { p, f }, samples: { g: [0, 0, N - 1], n, c }, threads: [[1, 1, 'x', 1]], buckets: 1, flat: false });
	};
}
JS
cat > act.js <<'JS'
setTimeout(() => {
	const said = [], say = (k, v) => said.push(k + ' = ' + v), info = () => assay.views.flame.info;
	show('flame');
	const total = info().total, depth = [0];
	let all = 0;
	for (let i = 1; i < D.nodes.p.length; i++) all += depth[i] = depth[D.nodes.p[i]] + 1;
	document.getElementById('reverse').click();
	say('built', (info().nodes > 2000 && info().nodes < all / 10) + ' ' + info().nodes + ' of at most ' + all);
	say('total', info().total === total && total > 4e5);
	const at = info().nodes;
	assay.search('proc7');
	say('search', /^[1-9][0-9.]* % matches$/.test(info().matched) + ' ' + info().matched + ' ' + (info().nodes === at));
	document.getElementById('reverse').click();
	say('forward', info().matched);
	say('errors', errors.length + ' ' + errors.join('; '));
	document.body.dataset.said = btoa(unescape(encodeURIComponent(said.join('\n'))));
}, 50);
JS
said=$(act stacks.html act.js many.js)
like "100,000 nodes, reversed: what is seen is built" "$said" '^built = true'
like "... all samples are there" "$said" '^total = true$'
like "... search says how much matches, without building more" "$said" '^search = true .* true$'
is "... as it does the other way round" "$(sed -n 's/^forward = //p' <<< "$said")" "$(sed -n 's/^search = true \(.*\) true$/\1/p' <<< "$said")"
like "... without an error" "$said" '^errors = 0 $'

# The page of a difference: what became slower, what chance could have made, both flame graphs, and hostile names.
ok "a difference as a page" "$ASSAY" diff hostile.db slower.db --html diff.html
is "... its own text is at most 60 KB" "$(($(own diff.html) <= 61440))" 1
is "... its owner's alone" "$(stat -c %a diff.html)" 600
cat > act.js <<'JS'
const said = [], say = (k, v) => said.push(k + ' = ' + v), info = () => assay.views.flame.info;
const press = key => document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
const rows = () => [...document.querySelectorAll('#view-procs tbody tr')];
const colour = name => { const c = assay.views.flame.colourOf(name) || 'none'; return /hsl\(8 /.test(c) ? 'red' : /hsl\(212 /.test(c) ? 'blue' : c[0] === '#' ? 'grey' : c; };
setTimeout(() => {
	say('view', assay.state.view + ' ' + document.body.dataset.ready);
	document.documentElement.dataset.theme = 'light';
	say('first', rows()[0].textContent + ' ' + rows()[1].lastChild.textContent);
	say('same', rows().some(r => r.textContent.startsWith('same: chance')));
	assay.search('longest');
	say('found', rows().filter(r => r.row).length);
	assay.search('');
	press('ArrowUp'); press('Enter');
	say('to the graph', assay.state.view + ' ' + assay.state.query);
	assay.search('');
	say('colours', ['main', 'deflate'].map(colour) + ' ' + colour(D.funcs.find(f => f[0].includes('script'))[0]));
	say('both', info().total.toFixed(2) + ' ' + info().nodes);
	press('w'); say('base', info().total.toFixed(2));
	press('w'); say('new', info().total.toFixed(2));
	press('i');
	say('reversed', info().reversed + ' ' + info().total.toFixed(2) + ' ' + colour('longest_match'));
	say('zoom', assay.views.flame.zoomTo('longest_match') + ' ' + info().rootName);
	press('Escape');
	const b = document.getElementById('flamebox').getBoundingClientRect();
	document.getElementById('flamebox').dispatchEvent(new MouseEvent('mousemove', { clientX: b.left + 40, clientY: b.top + 30, bubbles: true }));
	say('tip', document.getElementById('tip').textContent.replace('\n', ': '));
	say('legend', document.getElementById('legend').textContent);
	press('?');
	say('keys', document.getElementById('keys').textContent.includes('widths'));
	say('owned', typeof owned + ' ' + document.images.length);
	say('errors', errors.length + ' ' + errors.join('; '));
	document.body.dataset.said = btoa(unescape(encodeURIComponent(said.join('\n'))));
}, 50);
JS
said=$(act diff.html act.js)
[ -n "$said" ] || diag "$(tail -5 browser.err)"
like "difference: the page opens" "$said" '^view = procs yes$'
like "... what became slower comes first" "$said" '^first = slower longest_match$'
like "... what chance could have made is marked" "$said" '^same = true$'
like "... search" "$said" '^found = 1$'
like "... a row leads to the flame graph" "$said" '^to the graph = flame longest_match$'
like "... red is slower, grey is the same" "$said" '^colours = red,red grey$'
like "... widths are of both sides" "$said" '^both = 0.70 7$'
like "... of the base" "$said" '^base = 0.20$'
like "... of the new side" "$said" '^new = 0.50$'
like "... reversed" "$said" '^reversed = true 0.50 red$'
like "... reversed: zooms" "$said" '^zoom = true longest_match$'
like "... tells of the frame under the mouse" "$said" '^tip = longest_match: slower: 1[0-9][0-9] ms → 4[0-9][0-9] ms, ratio '
like "... the colours are explained" "$said" '^legend = .*faster.*slower.*chance'
like "... a key lists the keys" "$said" '^keys = true$'
like "... hostile names are text" "$said" '^owned = undefined 0$'
like "... without an error" "$said" '^errors = 0 $'
ok "exact recordings differ on a page, too" "$ASSAY" diff busy.db busy.db --html exact.html
data() { sed -n '/^<script id="data"/,/^<\/script>/p' "$1" | sed '1s/^[^>]*>//; $s/<.*//'; }
is "... executions are counted to the last one" "$(data exact.html | jq -c '[.rows[] | .base, .new] | sort | .[-4:]')" \
	"$("$ASSAY" report -i busy.db --json -n 0 | jq -c '[.procedures[].executions | ., .] | sort | .[-4:]')"
is "... and so in the page of one recording" "$(data page.html | jq -c '[.listings[0].rows[].n // 0] | add')" \
	"$("$ASSAY" annotate -i busy.db --json | jq '[.instructions[].executions] | add')"
like "... without a flame graph" "$(cat exact.html)" '"flat":true'
run "$ASSAY" diff busy.db busy.db --html x.html --json
is "not as JSON at once" "$status" 2

ok "two recordings added up" "$ASSAY" merge -o both.db busy.db busy.db
ok "their page" "$ASSAY" html -i both.db -o both.html
like "it has the procedures of both" "$(cat both.html)" '"name":"other'
cp busy.db none.db
sqlite3 none.db 'DELETE FROM site' 2> /dev/null
"$ASSAY" html -i none.db -o none.html > out 2> err
is "a recording without samples has no page" "$(test -e none.html && echo page; grep -c 'holds no' err)" 1

for kind in truncated text; do
	case $kind in
	truncated) head -c 5000 busy.db > bad.db ;;
	text) echo hello > bad.db ;;
	esac
	"$ASSAY" html -i bad.db -o bad.html > out 2> err
	is "$kind: refused" "$?" 1
	like "$kind: why" "$(cat err)" "bad.db"
	ok "$kind: no page is left" test ! -e bad.html
done
done_testing
