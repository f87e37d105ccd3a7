/* SPDX-License-Identifier: MIT */
/* One procedure: its source and its instructions side by side, and what is known of the instruction that is chosen. */
(() => {
const ROW = 20, LANE = 9, LANES = 10;
let listing, rows = [], byAddress, lines, at = -1, hottest = -1, order = [];
const culprits = { dcache: 'D-cache', dtlb: 'DTLB', contended: 'contended line', forwarding: 'store forwarding', alias: '4K alias', store_buffer: 'store buffer', branch: 'mispredict', icache: 'I-cache', itlb: 'ITLB', front_end: 'front end', divider: 'divider', multiplier: 'multiplier', serialization: 'serialisation', string: 'string', latency: 'latency' };
const hex = a => a.replace(/^0x/, '');
const jump = i => { const m = /^(?:j\w+|loop\w*) (0x[0-9a-f]+)/.exec(i || ''); return m && m[1]; };
const expected = c => c.expected > 0 ? c.expected : 0;

/* Jumps within the procedure get lanes: the shortest first, each the nearest lane that is free along its way. */
function lanes() {
	const jumps = [], taken = Array.from({ length: LANES }, () => []);
	listing.rows.forEach((r, i) => {
		const to = byAddress.get(jump(r.i));
		if (to !== undefined) jumps.push({ from: i, to, low: Math.min(i, to), high: Math.max(i, to), share: r.t ? r.t[0] : 1, known: !!r.t || r.n > 0 });
	});
	jumps.sort((a, b) => a.high - a.low - (b.high - b.low));
	let used = 0;
	for (const j of jumps) {
		j.lane = taken.findIndex(l => l.every(k => k.high < j.low || k.low > j.high));
		if (j.lane < 0) continue;
		taken[j.lane].push(j);
		used = Math.max(used, j.lane + 1);
	}
	return { jumps: jumps.filter(j => j.lane >= 0), used };
}
function drawLanes({ jumps, used }, left) {
	const width = used * LANE + 12, right = left + width;
	const group = svg('svg', { id: 'lanes', width: right + 2, height: (listing.rows.length + 1) * ROW, 'aria-hidden': 'true' });
	for (const j of jumps) {
		const x = right - 9 - j.lane * LANE, y = (j.from + 1.5) * ROW, z = (j.to + 1.5) * ROW, back = j.to <= j.from;
		const colour = j.from === at || j.to === at ? css('--accent') : back ? css('--good') : css('--soft');
		const style = { fill: 'none', stroke: colour, 'stroke-width': 0.8 + 1.4 * j.share, opacity: j.known ? 0.35 + 0.6 * j.share : 0.25 };
		if (!j.known) style['stroke-dasharray'] = '2 2';
		group.append(svg('path', { ...style, d: `M${right} ${y}H${x + 3}Q${x} ${y} ${x} ${y + (z > y ? 3 : -3)}V${z + (z > y ? -3 : 3)}Q${x} ${z} ${x + 3} ${z}H${right}` }),
			svg('path', { d: `M${right - 4} ${z - 3}L${right + 1} ${z}L${right - 4} ${z + 3}Z`, fill: colour, opacity: style.opacity }));
	}
	return group;
}

/* Constants by construction, what the stack does, and addresses say nothing beside an instruction: choosing it lists them. */
const trivial = i => /^(push|pop|leave|ret|call|mov \w+, 0x|lea \w+, \[0x)/.test(i) || /^(xor|sub|sbb) (\w+), \2$/.test(i);
function chips(r) {
	const out = [];
	for (const v of trivial(r.i || '') ? [] : r.v) {
		const best = v.values[0];
		if (best && !v.address && best[1] - best[2] >= 0.05) out.push(el('span', { class: 'chip v' }, `${v.name} = ${best[0]} ${pct(best[1])} %`));
	}
	if (r.st && r.st.cycles >= 0.3) out.push(el('span', { class: 'chip' }, `static ${r.st.cycles.toFixed(1)}${r.st.fault ? ' @' + hex(r.st.fault) : ''}`));
	if (r.dy && r.dy.cycles >= 0.3 && r.n >= 5) {
		const c = [...r.dy.culprits].sort((a, b) => expected(b) - expected(a))[0];
		out.push(el('span', { class: 'chip w', onclick(e) { if (c && c.fault) { e.stopPropagation(); jumpTo(c.fault); } } }, `stall ${r.dy.cycles.toFixed(1)}${c ? `: ${culprits[c.culprit] || c.culprit} ${expected(c).toFixed(1)}${c.fault ? ' @' + hex(c.fault) : ''}` : ''}`));
	}
	return out;
}
function text(i) {
	if (!i) return [el('span', { class: 'soft' }, '(not decoded)')];
	const m = /^(\S+)(.*?)(<.*>)?$/.exec(i) || [0, i, '', ''];
	return [el('b', {}, m[1]), m[2], m[3] ? el('i', {}, m[3]) : ''];
}
function row(r, i, most) {
	const heat = most > 0 ? r.s / most : 0;
	const e = el('div', { class: 'a', role: 'row', onclick: () => choose(i, true) },
		el('span', { class: 'p', style: { background: heat > 0 ? `rgba(var(--heat), ${(0.07 + 0.6 * heat).toFixed(3)})` : 'none' } }, r.n ? pct(r.s) : ''),
		el('span', { class: 'c' }, r.n ? short(r.n) : ''),
		D.exact ? null : el('span', { class: 'r' }, r.e ? short(r.e) : ''),
		D.exact ? null : el('span', { class: 'e' + (r.c >= 4 && r.s > 0.01 ? ' slow' : '') }, r.c !== undefined && r.c !== null ? (r.c < 99.95 ? r.c.toFixed(1) : r.c.toFixed(0)) + ({ medium: '~', low: '?' }[r.k] || '') : ''),
		el('span', { class: 'lane' }), el('span', { class: 'ad' }, hex(r.a)),
		el('span', { class: 'in', title: r.i || '' }, text(r.i)), el('span', { class: 'tk' }, r.t ? pct(r.t[0]) + ' %' : ''),
		el('span', { class: 'x' }, chips(r)));
	return e;
}
const head = () => el('div', { class: 'a head' }, el('span', { class: 'p' }, 'share %'), el('span', { class: 'c' }, D.exact ? 'runs' : 'samples'),
	D.exact ? null : el('span', { class: 'r' }, 'runs'), D.exact ? null : el('span', { class: 'e', title: 'Cycles per execution' }, 'CPI'),
	el('span', { class: 'lane' }), el('span', { class: 'ad' }, 'address'), el('span', { class: 'in' }, 'instruction'), el('span', { class: 'tk' }, 'taken'), el('span', { class: 'x' }, 'values and stalls'));

/* Source: the lines around those that instructions are of. */
function source() {
	const box = $('source'), files = new Map();
	lines = new Map();
	box.replaceChildren();
	listing.rows.forEach((r, i) => {
		if (!r.l) return;
		const cut = r.l.lastIndexOf(':'), file = r.l.slice(0, cut), line = +r.l.slice(cut + 1);
		if (!files.has(file)) files.set(file, new Map());
		const f = files.get(file);
		if (!f.has(line)) f.set(line, { share: 0, rows: [] });
		f.get(line).share += r.s;
		f.get(line).rows.push(i);
	});
	const weight = f => [...f[1].values()].reduce((a, l) => a + l.share, 0);
	const shown = [...files].filter(f => D.sources[f[0]]).sort((a, b) => weight(b) - weight(a));
	box.classList.toggle('none', !shown.length);
	for (const [file, used] of shown) {
		const most = Math.max(...[...used.values()].map(l => l.share), 1e-9);
		box.append(el('div', { class: 'file', title: file }, file.split('/').pop()));
		D.sources[file].forEach(([first, texts], k) => {
			if (k) box.append(el('div', { class: 'gap' }, '\u22ee'));
			texts.forEach((t, j) => {
				const n = first + j, l = used.get(n);
				const e = el('div', { class: 's' + (l ? '' : ' cold') },
					el('span', { class: 'h', style: { background: l && l.share > 0 ? `rgba(var(--heat), ${(0.07 + 0.6 * l.share / most).toFixed(3)})` : 'none' } }, l && l.share > 0 ? pct(l.share) : ''),
					el('span', { class: 'n' }, String(n)), el('span', {}, t));
				if (l) e.addEventListener('click', () => { const best = l.rows.reduce((a, b) => listing.rows[b].s > listing.rows[a].s ? b : a); choose(best, true, false); });
				lines.set(file + ':' + n, e);
				box.append(e);
			});
		});
	}
}

/* The chosen instruction. */
function values(v) {
	return el('div', {}, el('h3', {}, 'Values of ', el('code', {}, v.name), v.known < 0.995 ? ` (known in ${pct(v.known)} %)` : ''),
		el('table', {}, el('tbody', {}, v.values.slice(0, 6).map(x => el('tr', {}, el('td', {}, x[0]),
			el('td', {}, el('span', { class: 'range' }, el('i', { style: { left: 0, width: 100 * x[1] + '%' } }))),
			el('td', {}, `${pct(x[1])} %`, x[2] > 0 ? el('span', { class: 'soft' }, ` \u00b1 ${pct(x[2])}`) : ''))))));
}
const link = a => a ? el('a', { class: 'at', onclick: () => jumpTo(a) }, hex(a)) : '';
function stalls(r) {
	const list = [...r.dy.culprits].sort((a, b) => expected(b) - expected(a) || b.max - a.max), most = Math.max(...list.map(c => c.max), r.dy.cycles, 1e-9);
	return el('div', {}, el('h3', {}, `Stall of ${r.dy.cycles.toFixed(1)} cycles an execution: what can have caused it`),
		el('table', {}, el('tbody', {}, list.slice(0, 6).map(c => el('tr', {}, el('td', {}, culprits[c.culprit] || c.culprit),
			el('td', {}, el('span', { class: 'range' }, el('i', { style: { left: 100 * c.min / most + '%', width: 100 * (c.max - c.min) / most + '%' } }), el('b', { style: { left: Math.min(97, 100 * expected(c) / most) + '%' } }))),
			el('td', {}, `${expected(c).toFixed(1)} (${c.min.toFixed(1)}\u2013${c.max.toFixed(1)})`), el('td', {}, c.fault ? '@' : '', link(c.fault), c.store ? ' store ' : '', link(c.store)))))),
		r.dy.unexplained >= 0.05 ? el('div', { class: 'soft' }, `unexplained ${r.dy.unexplained.toFixed(1)}`) : null);
}
const whyStatic = { dependence: 'waits for what is computed at', unit: 'waits for a unit that is used by', latency: 'latency of the instruction' };
function detail(r) {
	const list = [];
	const item = (k, ...v) => list.push(el('dt', {}, k), el('dd', {}, ...v));
	item(D.exact ? 'executions' : 'samples', count(r.n) + (r.n ? ` (${pct(r.s)} % of the procedure)` : ''));
	if (r.e) item('executions', `${short(r.e)}, ${r.k || 'no'} confidence`);
	if (r.c !== undefined && r.c !== null) item('cycles each', r.c.toFixed(2) + (r.ns ? ` (${r.ns.toFixed(2)} ns)` : ''));
	if (r.t) item('taken', `${pct(r.t[0])} %`, r.t[1] > 0 ? ` \u00b1 ${pct(r.t[1])}` : '');
	if (r.st && r.st.cycles > 0.05) item('static stall', `${r.st.cycles.toFixed(1)} cycles: ${whyStatic[r.st.why] || r.st.why} `, link(r.st.fault));
	if (r.m) item('misses', r.m);
	if (r.l) item('line', r.l);
	$('detail').replaceChildren(el('div', { class: 'lead' }, el('h3', {}, el('code', {}, hex(r.a) + '  ' + (r.i || ''))), el('dl', {}, list)),
		r.dy && r.dy.cycles >= 0.1 && r.dy.culprits.length ? stalls(r) : '', ...r.v.map(values));
}
function choose(i, scroll, follow) {
	if (i < 0 || i >= rows.length) return;
	const r = listing.rows[i];
	document.querySelectorAll('#asm .on, #source .on').forEach(e => e.classList.remove('on'));
	at = i;
	rows[i].classList.add('on');
	if (r.l) listing.rows.forEach((o, k) => { if (o.l === r.l) rows[k].classList.add('on'); });
	const s = lines.get(r.l);
	if (s) { s.classList.add('on'); if (follow !== false) s.scrollIntoView({ block: 'center' }); }
	if (scroll) {
		const box = $('asm'), y = (i + 1) * ROW;
		if (y < box.scrollTop + ROW || y + 2 * ROW > box.scrollTop + box.clientHeight) box.scrollTop = y - box.clientHeight / 2;
	}
	detail(r);
	const old = $('lanes');
	if (old) old.replaceWith(drawLanes(lanes(), old.left));
	if ($('lanes')) $('lanes').left = old.left;
}
function jumpTo(address) {
	const i = byAddress.get(address);
	if (i !== undefined) choose(i, true);
}
function next(step) {
	if (!order.length) return;
	hottest = (hottest + step + order.length) % order.length;
	choose(order[hottest], true);
}
function summary() {
	const l = listing, w = l.why, parts = [`${pct(l.share)} % of ${D.exact ? 'the executed instructions' : 'the time'}, ${count(l.count)} ${unit}`];
	if (w && w.cpi) parts.push(`CPI ${w.cpi.toFixed(2)} (${w.cpi_min.toFixed(2)}\u2013${w.cpi_max.toFixed(2)})`);
	if (w && w.execution !== undefined) parts.push(`execution ${pct(w.execution)} %, static ${pct(w.static)}, dynamic ${pct(w.dynamic)}, unexplained ${pct(w.unexplained)}`);
	if (!l.rows.some(r => r.i)) parts.push('instructions are not shown: the file was not there as it was recorded');
	if (l.cut) parts.push(`${count(l.cut)} cold instructions left out`);
	$('procsum').textContent = parts.join('  \u00b7  ');
}
function open(k) {
	listing = D.listings[k];
	if (!listing) return;
	$('proc').value = String(k);
	byAddress = new Map(listing.rows.map((r, i) => [r.a, i]));
	order = listing.rows.map((r, i) => i).filter(i => listing.rows[i].s > 0).sort((a, b) => listing.rows[b].s - listing.rows[a].s);
	hottest = at = -1;
	const most = Math.max(...listing.rows.map(r => r.s), 0), l = lanes();
	rows = listing.rows.map((r, i) => row(r, i, most));
	$('asm').style.setProperty('--lanes', l.used * LANE + 20 + 'px');
	$('asm').replaceChildren(head(), ...rows);
	$('asm').scrollTop = 0;
	const pad = rows[0] ? rows[0].querySelector('.lane').offsetLeft : 206, drawing = drawLanes(l, pad);
	drawing.left = pad;
	$('asm').append(drawing);
	source();
	summary();
	next(1);
}
window.openListing = (name, image) => {
	const k = D.listings.findIndex(l => l.name === name && l.image === image);
	if (k < 0) { $('status').textContent = `${name}: not among the ${D.listings.length} hottest procedures, which alone are annotated here`; return false; }
	show('annotate');
	open(k);
	return true;
};
views.annotate = {
	title: 'Annotate',
	hidden: !D.listings.length,
	start() {
		D.listings.forEach((l, k) => $('proc').append(el('option', { value: k }, `${pct(l.share)} %  ${l.name} (${l.image})`)));
		$('proc').addEventListener('change', e => open(+e.target.value));
		$('hottest').addEventListener('click', () => next(1));
	},
	show() { if (!listing) open(0); $('asm').focus({ preventScroll: true }); },
	search() { const k = D.listings.findIndex(l => matches(l.name, state.query)); if (k >= 0) open(k); },
	resize() {}, reset() {},
	get info() { return { procedure: listing && listing.name, at: at >= 0 ? listing.rows[at].a : null, rows: rows.length, lanes: document.querySelectorAll('#lanes path').length / 2, line: at >= 0 ? listing.rows[at].l : null }; },
	keys: {
		n: () => next(1), p: () => next(-1), ArrowDown: () => choose(at + 1, true), ArrowUp: () => choose(at - 1, true), j: () => choose(at + 1, true), k: () => choose(at - 1, true),
		Enter() { const to = jump(listing.rows[at] && listing.rows[at].i); if (to) jumpTo(to); },
		'[': () => open((D.listings.indexOf(listing) + D.listings.length - 1) % D.listings.length), ']': () => open((D.listings.indexOf(listing) + 1) % D.listings.length),
	},
	help: [['n p', 'next hottest instruction, the one before'], ['\u2191 \u2193 j k', 'move'], ['Enter', 'follow the jump'], ['[ ]', 'hotter, colder procedure']],
};
})();
