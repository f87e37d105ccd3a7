/* SPDX-License-Identifier: MIT */
/* The table of procedures. */
(() => {
const columns = [
	['share', D.exact ? 'Executed' : 'Time', 'num', p => p.share],
	['bound', '\u00b1', 'num', p => p.bound],
	['all', 'With calls', 'num', p => p.all],
	['count', D.exact ? 'Instructions' : 'Samples', 'num', p => p.count],
	['image', 'Image', '', p => p.image],
	['name', 'Procedure', '', p => p.name],
].filter(c => (c[0] !== 'bound' || !D.exact) && (c[0] !== 'all' || D.procs.some(p => p.all !== null)));
let by = 'share', down = true, at = 0, rows = [];

function cell(p, key) {
	switch (key) {
	case 'share': return el('td', { class: 'num' }, el('span', { class: 'meter' }, el('i', { style: { width: 100 * p.share / (D.procs[0].share || 1) + '%' } })), el('span', { class: 'figure' }, pct(p.share) + ' %'));
	case 'bound': return el('td', { class: 'num soft' }, pct(p.bound));
	case 'all': return el('td', { class: 'num' }, p.all === null ? '' : pct(p.all) + ' %');
	case 'count': return el('td', { class: 'num' }, count(p.count));
	case 'name': return el('td', { class: 'name', title: p.name }, marked(p.name), p.listing >= 0 ? el('span', { class: 'go' }, 'annotate \u203a') : null);
	default: return el('td', { title: p.image }, p.image);
	}
}
function fill() {
	const value = columns.find(c => c[0] === by)[3], query = state.query;
	const list = D.procs.filter(p => !query || matches(p.name, query) || matches(p.image, query));
	list.sort((a, b) => { const x = value(a), y = value(b), o = x < y ? -1 : x > y ? 1 : 0; return down ? -o : o; });
	at = Math.min(at, Math.max(list.length - 1, 0));
	rows = list.map((p, i) => {
		const tr = el('tr', { onclick() { at = i; open(p); } }, columns.map(c => cell(p, c[0])));
		tr.proc = p;
		return tr;
	});
	const head = el('tr', {}, columns.map(c => el('th', { class: c[2], scope: 'col', 'aria-sort': by === c[0] ? (down ? 'descending' : 'ascending') : null, onclick() { down = by === c[0] ? !down : c[2] === 'num'; by = c[0]; fill(); } }, c[1])));
	const hidden = D.procs_total - D.procs.length;
	$('view-procs').replaceChildren(el('table', {}, el('thead', {}, head), el('tbody', {}, rows)),
		el('div', { class: 'more' }, list.length === 0 ? 'Nothing matches.' : `${hidden > 0 ? `${count(hidden)} more procedures with less time are not in this page. ` : ''}${lacks()}`));
	choose(at);
}
function choose(i) {
	if (!rows.length) return;
	if (rows[at]) rows[at].classList.remove('on');
	at = Math.max(0, Math.min(i, rows.length - 1));
	rows[at].classList.add('on');
}
function go(i) {
	choose(i);
	if (rows[at]) rows[at].scrollIntoView({ block: 'nearest' });
}
function open(p) {
	if (p.listing >= 0) openListing(p.name, p.image);
	else if (!views.flame.hidden) { search(p.name); show('flame'); }
}
views.procs = {
	title: 'Procedures', hidden: !D.procs.length, start: fill, show() { $('view-procs').focus(); }, search: fill, resize() {}, reset() { search(''); },
	keys: {
		ArrowDown: () => go(at + 1), ArrowUp: () => go(at - 1), j: () => go(at + 1), k: () => go(at - 1),
		PageDown: () => go(at + 20), PageUp: () => go(at - 20), Home: () => go(0), End: () => go(rows.length - 1),
		Enter() { if (rows[at]) open(rows[at].proc); },
	},
	help: [['\u2191 \u2193 j k', 'move'], ['Enter', 'annotate the procedure']],
};
})();
