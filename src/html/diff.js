/* SPDX-License-Identifier: MIT */
/* The table of a difference. */
const amount = x => D.unit === 's' ? seconds(1e3 * x) : D.unit === 'share' ? pct(x) + ' %' : count(x);
(() => {
const SAME = 4, has = key => D.rows.some(r => r[key]);
const ratio = x => x === null ? '' : x < 10 ? x.toFixed(2) : x < 1000 ? x.toFixed(1) : count(x);
const within = r => r.low === null || D.exact && !D.between ? '' : r.high === null ? `above ${ratio(r.low)}` : `${ratio(r.low)}\u2013${ratio(r.high)}`;
const columns = [
	['Base', 'num', r => amount(r.base), r => r.base], ['New', 'num', r => amount(r.new), r => r.new],
	['Change', 'num', r => (r.new > r.base ? '+' : r.new < r.base ? '\u2212' : '') + amount(Math.abs(r.new - r.base)), r => r.new - r.base],
	['Ratio', 'num', r => ratio(r.base > 0 && r.new > 0 ? r.ratio : null), r => r.base > 0 ? r.new / r.base : Infinity],
	['Within', 'num soft', within, null], ['Image', '', r => r.image, r => r.image],
	['Line', '', r => r.line, r => r.line], ['Procedure', 'name', r => r.name, r => r.name],
].filter(c => (c[0] !== 'Line' || has('line')) && (c[0] !== 'Procedure' || has('name')) && (c[0] !== 'Within' || !D.exact || D.between));
let by = null, down = true, at = 0, rows = [];

function line(r) {
	const tr = el('tr', { class: 'v' + r.verdict, title: r.name, onclick() { choose(rows.indexOf(tr)); open(); } },
		columns.map(c => el('td', { class: c[1] }, c[1] === 'name' ? marked(c[2](r)) : c[2](r))));
	tr.row = r;
	return tr;
}
function group(v) {
	const text = v === SAME ? D.exact ? 'same' : 'same: chance could have made these differences' : D.verdicts[v];
	return el('tr', { class: 'group v' + v }, el('td', { colspan: columns.length }, el('i', { class: 'key key' + (v === SAME ? 2 : v === 0 || v === 2 ? 1 : 0) }), text));
}
function order(a, b) {
	const x = by(a), y = by(b), o = x < y ? -1 : x > y ? 1 : 0;
	return down ? -o : o;
}
function fill() {
	const list = D.rows.filter(r => !state.query || matches(r.name, state.query) || matches(r.image, state.query) || matches(r.line, state.query)), body = [];
	if (by) list.sort(order);
	rows = list.map(line);
	rows.forEach((tr, i) => {
		if (!by && (!i || rows[i - 1].row.verdict !== tr.row.verdict)) body.push(group(tr.row.verdict));
		body.push(tr);
	});
	const head = columns.map(c => el('th', { class: c[1].split(' ')[0] === 'num' ? 'num' : '', scope: 'col', 'aria-sort': by && by === c[3] ? down ? 'descending' : 'ascending' : null,
		onclick() { if (!c[3]) return; down = by === c[3] ? !down : c[1].startsWith('num'); by = c[3]; fill(); } }, c[0]));
	const hidden = D.rows_total - D.rows.length;
	$('view-procs').replaceChildren(el('table', {}, el('thead', {}, el('tr', {}, head)), el('tbody', {}, body)), el('div', { class: 'more' }, notes(list.length, hidden)));
	choose(Math.min(at, Math.max(rows.length - 1, 0)));
}
function notes(shown, hidden) {
	const say = [];
	if (!shown) say.push('Nothing matches.');
	if (hidden > 0) say.push(`${count(hidden)} more rows are not in this page.`);
	if (!D.exact) say.push(`Within: where the ratio of new to base lies with 95 % confidence. Of all rows that are said to differ, at most ${100 * D.false} % are expected to do so by chance.`);
	if (!D.exact && !D.between) say.push('One run a side tells nothing of how runs differ among themselves: three recordings a side measure that.');
	if (D.unmatched) say.push('Stripped files of different builds are not matched: their procedures are new and gone.');
	if (D.flat) say.push('Recordings with call stacks on both sides have a flame graph here.');
	return say.map(t => el('div', {}, t));
}
function choose(i) {
	if (rows[at]) rows[at].classList.remove('on');
	at = Math.max(0, Math.min(i, rows.length - 1));
	if (rows[at]) rows[at].classList.add('on');
}
function go(i) {
	choose(i);
	if (rows[at]) rows[at].scrollIntoView({ block: 'nearest' });
}
function open() {
	if (!rows[at] || views.flame.hidden || !rows[at].row.name) return;
	search(rows[at].row.name);
	show('flame');
}
views.procs = {
	title: 'Differences', hidden: false, start: fill, show() { $('view-procs').focus(); }, search: fill, resize() {},
	reset() { by = null; fill(); },
	keys: {
		ArrowDown: () => go(at + 1), ArrowUp: () => go(at - 1), j: () => go(at + 1), k: () => go(at - 1),
		PageDown: () => go(at + 20), PageUp: () => go(at - 20), Home: () => go(0), End: () => go(rows.length - 1), Enter: open,
	},
	help: [['\u2191 \u2193 j k', 'move'], ['Enter', 'find in the flame graph'], ['Esc', 'in groups again']],
};
})();
