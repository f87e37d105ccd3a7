/* SPDX-License-Identifier: MIT */
/* Plots; and what holds the views together: tabs, search, keys. */
(() => {
function ticks(low, high, log) {
	const out = [];
	if (log) {
		for (let e = Math.floor(Math.log2(low)); e <= Math.ceil(Math.log2(high)); e += Math.max(1, Math.round(Math.log2(high / low) / 8))) if (2 ** e >= low && 2 ** e <= high) out.push(2 ** e);
		return out;
	}
	const step = 10 ** Math.floor(Math.log10((high - low) / 4 || 1)), by = [1, 2, 5, 10].map(k => k * step).find(s => (high - low) / s <= 6) || step;
	for (let v = Math.ceil(low / by) * by; v <= high + by / 1e6; v += by) out.push(v);
	return out;
}
const said = { bytes: v => v >= 2 ** 30 ? +(v / 2 ** 30).toFixed(1) + ' GiB' : v >= 2 ** 20 ? +(v / 2 ** 20).toFixed(1) + ' MiB' : v >= 1024 ? +(v / 1024).toFixed(1) + ' KiB' : v + ' B', share: v => pct(v) + ' %', count: short, ms: seconds };
function plot(p) {
	const W = 520, H = 240, L = 62, B = 30, xs = p.series.flatMap(s => s.x), ys = p.series.flatMap(s => s.y);
	const x0 = Math.min(...xs), x1 = Math.max(...xs), y1 = Math.max(...ys, 1e-12), lx = v => p.log ? Math.log2(v) : v;
	const X = v => L + (lx(v) - lx(x0)) / (lx(x1) - lx(x0) || 1) * (W - L - 12), Y = v => H - B - v / y1 * (H - B - 12);
	const g = svg('svg', { viewBox: `0 0 ${W} ${H}`, role: 'img' });
	for (const t of ticks(0, y1)) g.append(svg('path', { d: `M${L} ${Y(t)}H${W - 12}`, stroke: 'currentColor', opacity: .12 }), svg('text', { x: L - 6, y: Y(t) + 4, 'text-anchor': 'end' }, said[p.yunit](t)));
	for (const t of ticks(x0, x1, p.log)) g.append(svg('text', { x: X(t), y: H - 10, 'text-anchor': 'middle' }, said[p.xunit](t)));
	p.series.forEach((s, k) => {
		g.append(svg('path', { fill: 'none', stroke: `hsl(${(22 + 140 * k) % 360} 75% 48%)`, 'stroke-width': 2, d: s.x.map((x, i) => `${i ? 'L' : 'M'}${X(x).toFixed(1)} ${Y(s.y[i]).toFixed(1)}`).join('') }));
		if (p.series.length > 1) g.append(svg('text', { x: W - 16, y: 22 + 15 * k, 'text-anchor': 'end', style: `fill: hsl(${(22 + 140 * k) % 360} 75% 48%)` }, s.name));
	});
	return el('figure', {}, el('figcaption', {}, p.title), g);
}
views.plots = {
	title: 'Plots', hidden: !D.plots.length,
	start() { $('view-plots').append(...D.plots.map(plot)); }, show() { $('view-plots').focus(); },
	search() {}, resize() {}, reset() {}, keys: {}, help: [],
};

const order = ['procs', 'flame', 'annotate', 'plots'].filter(v => views[v] && !views[v].hidden), started = {};
window.show = name => {
	if (!order.includes(name)) return;
	state.view = name;
	tip(0, 0);
	for (const v of order) {
		$('view-' + v).hidden = v !== name;
		$('tab-' + v).setAttribute('aria-selected', v === name);
	}
	if (!started[name]) { started[name] = true; views[name].start(); }
	views[name].show();
};
window.search = text => {
	$('search').value = state.query = text;
	if (started[state.view]) views[state.view].search();
	for (const v of ['procs', 'flame']) if (v !== state.view && started[v]) views[v].search();
};
function theme(dark) {
	document.documentElement.dataset.theme = dark ? 'dark' : 'light';
	if (started[state.view]) views[state.view].resize();
}
function help() {
	const all = [['/', 'search'], ['1 \u2026 ' + order.length, 'views'], ['d', 'light or dark'], ['?', 'this list'], ['Esc', 'back']];
	const list = keys => el('dl', {}, keys.map(([k, what]) => [el('dt', {}, ...k.split(' ').flatMap((x, i) => i ? [' ', el('kbd', {}, x)] : [el('kbd', {}, x)])), el('dd', {}, what)]));
	const view = views[state.view];
	$('keys').replaceChildren(el('h2', {}, 'Everywhere'), list(all), ...(view.help.length ? [el('h2', {}, view.title), list(view.help)] : []));
	$('keys').showModal();
}
function key(e) {
	if (e.ctrlKey || e.metaKey || e.altKey) return;
	if ($('keys').open) { if (e.key === '?') $('keys').close(); return; }
	if (e.target === $('search')) {
		if (e.key === 'Escape') { search(''); views[state.view].show(); }
		else if (e.key === 'Enter') views[state.view].show();
		return;
	}
	if (e.target.tagName === 'SELECT' && e.key.length > 1 && e.key !== 'Escape') return;
	if ((e.key === 'Enter' || e.key === ' ') && e.target.tagName === 'BUTTON') return;
	const act = { '/': () => { $('search').focus(); $('search').select(); }, '?': help, d: () => theme(!dark()), Escape: () => state.query ? search('') : views[state.view].reset() }[e.key]
		|| (/^[1-9]$/.test(e.key) && order[e.key - 1] && (() => show(order[e.key - 1]))) || views[state.view].keys[e.key];
	if (!act) return;
	e.preventDefault();
	act();
}
function heading() {
	const item = (label, value, bad) => $('summary').append(el('span', { class: bad ? 'bad' : '' }, label + ' ', el('b', {}, value)));
	document.title = D.command + ' \u2014 Assay';
	$('command').textContent = $('command').title = D.command;
	for (const [label, value, bad] of D.summary) item(label, value, bad);
}
theme(matchMedia('(prefers-color-scheme: dark)').matches);
order.forEach((v, i) => $('tabs').append(el('button', { id: 'tab-' + v, role: 'tab', 'aria-selected': false, 'aria-controls': 'view-' + v, onclick: () => show(v) }, views[v].title, el('kbd', {}, String(i + 1)))));
heading();
$('search').addEventListener('input', e => search(e.target.value));
$('theme').addEventListener('click', () => theme(!dark()));
$('help').addEventListener('click', help);
$('keys').addEventListener('click', e => { if (e.target === $('keys')) $('keys').close(); });
document.addEventListener('keydown', key);
let waiting;
addEventListener('resize', () => { clearTimeout(waiting); waiting = setTimeout(() => views[state.view].resize(), 60); });
window.assay = { views, state, show, search };
show(order[0]);
document.body.dataset.ready = 'yes';
})();
