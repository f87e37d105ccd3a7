/* SPDX-License-Identifier: MIT */
/* The flame graph: a tree in columns of numbers, drawn from the root down, whose rows are as wide as their samples. */
(() => {
const ROW = 19, LEAST = 0.4, SAME = 4, compared = !!D.trees, none = [];
const nodes = D.nodes, N = nodes ? nodes.p.length : 0, buckets = D.buckets || 1;
/* The file has differences, which are shorter; thread and time once for all samples of a thread at a time; and counts other than 1. */
const samples = (({ g, n, c }) => {
	const s = { n: [], t: [], b: [], c: new Array(n.length).fill(1) };
	let node = 0, thread = 0, bucket = 0, k = -1, last = -1;
	for (let i = 0; i < g.length; i += 3) {
		thread += g[i]; bucket += g[i + 1];
		for (let j = 0; j < g[i + 2]; j++) { s.n.push(node += n[++k]); s.t.push(thread); s.b.push(bucket); }
	}
	for (let i = 0; i < c.length; i += 2) s.c[last += c[i]] = c[i + 1];
	return s;
})(D.samples || { g: [], n: [], c: [] });
if (nodes) nodes.p = nodes.p.map((d, i) => i - d);
let tree, root = 0, over = -1, cursor = 0, reversed = false, thread = -1, from = 0, to = buckets, drawn = [], deep = 0, wide = 2, last = [];
const nameOf = f => f < 0 ? 'all' : D.funcs[f][0];
const passes = i => (thread < 0 || samples.t[i] === thread) && samples.b[i] >= from && samples.b[i] < to;
const kidsOf = i => tree.kids[i] || (tree.grow ? tree.grow(i) : none);

/* Sums of a tree whose parents have smaller numbers; children in the order of what they hold. */
function sum(t) {
	t.all = new Float64Array(t.p.length);
	t.all.set(t.self);
	for (let i = t.p.length - 1; i > 0; i--) t.all[t.p[i]] += t.all[i];
	return link(t, t.all);
}
function link(t, by) {
	const n = t.p.length;
	t.kids = new Array(n);
	for (let i = 1; i < n; i++) if (by[i] > 0) (t.kids[t.p[i]] || (t.kids[t.p[i]] = [])).push(i);
	for (const kids of t.kids) if (kids) kids.sort((a, b) => by[b] - by[a] || a - b);
	return t;
}
function selfTimes() {
	const self = new Float64Array(N);
	for (let i = 0; i < samples.n.length; i++) if (passes(i)) self[samples.n[i]] += samples.c[i];
	return self;
}
function forward() {
	return sum({ p: nodes.p, f: nodes.f, self: selfTimes() });
}
/* Each stack from its end. A node's children are made when they are asked for, so only what is wide enough to be seen is built. */
function backward() {
	const self = selfTimes(), t = { p: [0], f: [-1], all: [0], self: [0], kids: [], end: [], at: [], ended: self };
	const ends = Int32Array.from(self.keys()).filter(i => i > 0 && self[i] > 0);
	t.end[0] = t.at[0] = ends; /* nodes where stacks ended; how far they have been followed */
	t.all[0] = ends.reduce((a, i) => a + self[i], self[0]);
	t.self[0] = self[0];
	t.grow = i => {
		const end = t.end[i], at = t.at[i], size = new Map(), kids = t.kids[i] = [], next = new Map(), fill = [];
		for (const a of at) if (a) size.set(nodes.f[a], (size.get(nodes.f[a]) || 0) + 1);
		for (const [f, n] of size) {
			const k = t.p.length;
			next.set(f, k);
			kids.push(k);
			t.p.push(i); t.f.push(f); t.all.push(0); t.self.push(0);
			t.end[k] = new Int32Array(n); t.at[k] = new Int32Array(n);
			fill[k] = 0;
		}
		for (let e = 0; e < end.length; e++) {
			const a = at[e];
			if (!a) continue;
			const k = next.get(nodes.f[a]), up = nodes.p[a], n = fill[k]++;
			t.end[k][n] = end[e];
			t.at[k][n] = up;
			t.all[k] += self[end[e]];
			if (!up) t.self[k] += self[end[e]];
		}
		return kids.sort((a, b) => t.all[b] - t.all[a] || a - b);
	};
	return t;
}
/* Both sides of a difference, as wide as the base, the new side, or both together. */
function both() {
	const t = Object.assign({}, D.trees[+reversed]), n = t.p.length, sides = t.base.map((x, i) => x + t.new[i]);
	t.all = [t.base, t.new, sides][wide];
	t.self = Float64Array.from(t.all);
	for (let i = 1; i < n; i++) t.self[t.p[i]] -= t.all[i];
	return link(t, sides);
}
function rebuild() {
	const path = tree ? pathOf(root).map(i => tree.f[i]) : [];
	tree = compared ? both() : reversed ? backward() : forward();
	root = 0;
	for (const f of path) {
		const next = kidsOf(root).find(k => tree.f[k] === f);
		if (next === undefined) break;
		root = next;
	}
	cursor = root;
	layout();
}
function pathOf(i) {
	const path = [];
	for (; i > 0; i = tree.p[i]) path.push(i);
	return path.reverse();
}

/* What is wide enough to be seen, below the root and its own callers. */
function layout() {
	const width = $('flamebox').clientWidth || 800, path = [0, ...pathOf(root)], total = tree.all[root];
	drawn = path.map((i, depth) => ({ i, x: 0, w: width, y: depth, above: i !== root }));
	deep = path.length;
	const stack = [];
	const push = (i, x, y) => {
		for (const k of kidsOf(i)) {
			const w = tree.all[k] / total * width;
			if (w < LEAST) { if (compared) continue; break; }
			stack.push({ i: k, x, w, y });
			x += w;
		}
	};
	if (total > 0) push(root, 0, path.length);
	while (stack.length) {
		const box = stack.pop();
		drawn.push(box);
		deep = Math.max(deep, box.y + 1);
		push(box.i, box.x, box.y + 1);
	}
	draw();
	crumbs();
}
/* More is red, less is blue, the full colour from four times on; what chance could have made is grey. */
function change(i) {
	const more = tree.new[i] > tree.base[i], much = Math.min(1, Math.abs(Math.log2(tree.new[i] / tree.base[i])) / 2);
	if (tree.v[i] === SAME) return dark() ? '#4a4e55' : '#d9d9d5';
	return dark() ? `hsl(${more ? 6 : 214} ${40 + 30 * much}% ${32 + 12 * much}%)` : `hsl(${more ? 8 : 212} ${70 + 15 * much}% ${86 - 24 * much}%)`;
}
function colour(i) {
	const f = tree.f[i];
	if (compared) return change(i);
	if (f < 0) return dark() ? '#3a3f46' : '#dcdcd8';
	const [name, image, kind] = D.funcs[f], h = hash(name) % 100;
	if (kind === 2) return dark() ? '#565b63' : '#b9bcc2';
	const hue = kind === 1 ? 205 : [28, 42, 14, 52, 355, 85, 165, 260, 320][hash(D.images[image]) % 9];
	return dark() ? `hsl(${hue} ${38 + h % 14}% ${30 + h % 9}%)` : `hsl(${hue} ${62 + h % 18}% ${70 + h % 12}%)`;
}
function draw() {
	const box = $('flamebox'), canvas = $('flame'), width = box.clientWidth || 800, height = box.clientHeight || 400;
	const g = fit(canvas, width, height), top = box.scrollTop;
	box.style.setProperty('--rows', deep);
	spacer.style.height = Math.max(0, deep * ROW - height) + 'px';
	g.clearRect(0, 0, width, height);
	g.font = '11px ' + css('--mono');
	g.textBaseline = 'middle';
	const cw = g.measureText('mmmmmmmmmm').width / 10, ink = dark() ? '#f0efec' : '#1c1e21', mark = css('--mark');
	for (const b of drawn) {
		const y = b.y * ROW - top;
		if (y + ROW < 0 || y > height) continue;
		const f = tree.f[b.i], hit = f >= 0 && matches(nameOf(f), state.query), faded = state.query && !hit;
		g.globalAlpha = b.above ? 0.55 : faded ? 0.42 : 1;
		g.fillStyle = hit ? mark : colour(b.i);
		g.fillRect(b.x, y, Math.max(b.w - (b.w > 3 ? 1 : 0), 0.4), ROW - 1);
		if (b.w > 3 * cw + 6) {
			const text = nameOf(f), room = Math.floor((b.w - 7) / cw);
			g.fillStyle = hit ? '#000' : ink;
			g.fillText(text.length > room ? text.slice(0, room - 1) + '\u2026' : text, b.x + 4, y + ROW / 2);
		}
		g.globalAlpha = 1;
		if (b.i === cursor && document.activeElement === box || b.i === over) {
			g.strokeStyle = css('--accent');
			g.lineWidth = 1.5;
			g.strokeRect(b.x + 0.75, y + 0.75, Math.max(b.w - 2.5, 1), ROW - 2.5);
		}
	}
	matched();
}
/* What the search found: samples below any match, each once. */
function found(i) {
	const hit = D.funcs.map(f => matches(f[0], state.query)), stack = [i];
	let sum = 0;
	if (tree.grow) {
		const path = new Uint8Array(N);
		for (let k = 1; k < N; k++) path[k] = hit[nodes.f[k]] || path[nodes.p[k]];
		if (pathOf(i).some(k => hit[tree.f[k]])) return tree.all[i];
		tree.end[i].forEach((e, k) => { if (path[tree.at[i][k]]) sum += tree.ended[e]; });
		return sum;
	}
	while (stack.length) {
		const k = stack.pop();
		if (hit[tree.f[k]]) sum += tree.all[k];
		else stack.push(...kidsOf(k));
	}
	return sum;
}
function matched() {
	if (last[0] === tree && last[1] === root && last[2] === state.query) return;
	last = [tree, root, state.query];
	$('matched').textContent = state.query ? `${pct(tree.all[root] ? found(root) / tree.all[root] : 0)} % matches` : '';
}
function describe(i) {
	const f = tree.f[i], image = f >= 0 && D.funcs[f][2] !== 2 ? D.images ? D.images[D.funcs[f][1]] : D.funcs[f][1] : '';
	const where = image ? '; ' + image : '';
	if (compared) return `${D.verdicts[tree.v[i]]}${tree.v[i] === SAME ? D.exact ? '' : ' (the difference could be chance)' : ''}: ${amount(tree.base[i])} \u2192 ${amount(tree.new[i])}${tree.base[i] > 0 && tree.new[i] > 0 ? `, ratio ${(tree.new[i] / tree.base[i]).toFixed(2)}` : ''}${where}`;
	return `${pct(tree.all[0] ? tree.all[i] / tree.all[0] : 0)} % of all, ${count(tree.all[i])} ${unit}; itself ${count(tree.self[i])}${where}`;
}
function status(i) {
	$('status').textContent = i >= 0 ? `${nameOf(tree.f[i])}  ${describe(i)}` : lacks('flame');
}
function crumbs() {
	const path = pathOf(root).map(i => nameOf(tree.f[i]));
	$('crumbs').textContent = path.length > 4 ? '\u2026 \u203a ' + path.slice(-4).join(' \u203a ') : path.join(' \u203a ');
	$('unzoom').disabled = root === 0;
}
function zoom(i) {
	root = cursor = i;
	$('flamebox').scrollTop = 0;
	layout();
	status(i);
}
function at(e) {
	const r = $('flame').getBoundingClientRect(), x = e.clientX - r.left, y = Math.floor((e.clientY - r.top + $('flamebox').scrollTop) / ROW);
	return drawn.find(b => b.y === y && x >= b.x && x < b.x + b.w);
}
/* To the box beside the cursor in its row, above or below it. */
function move(key) {
	const here = drawn.find(b => b.i === cursor) || drawn[0];
	let next;
	if (key === 'ArrowUp') next = tree.p[cursor];
	else if (key === 'ArrowDown') next = kidsOf(cursor)[0];
	else {
		const row = drawn.filter(b => b.y === here.y).sort((a, b) => a.x - b.x), k = row.indexOf(here) + (key === 'ArrowLeft' ? -1 : 1);
		next = row[k] && row[k].i;
	}
	if (next === undefined || !drawn.some(b => b.i === next)) return;
	cursor = next;
	const y = drawn.find(b => b.i === next).y * ROW, box = $('flamebox');
	if (y < box.scrollTop || y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = y - box.clientHeight / 2;
	draw();
	status(cursor);
}

/* Load over time. */
function timeline() {
	const canvas = $('timeline'), width = canvas.clientWidth || 800, height = 54, g = fit(canvas, width, height);
	const load = new Float64Array(buckets), w = width / buckets;
	for (let i = 0; i < samples.n.length; i++) if (thread < 0 || samples.t[i] === thread) load[samples.b[i]] += samples.c[i];
	const most = Math.max(1, ...load);
	g.clearRect(0, 0, width, height);
	g.fillStyle = `rgba(${css('--heat')}, .75)`;
	for (let b = 0; b < buckets; b++) {
		const h = load[b] / most * (height - 16);
		g.globalAlpha = b >= from && b < to ? 1 : 0.28;
		g.fillRect(b * w, height - h, Math.max(w - (w > 4 ? 1 : 0), 0.7), h);
	}
	g.globalAlpha = 1;
	g.fillStyle = css('--soft');
	g.font = '11px system-ui, sans-serif';
	const whole = from === 0 && to === buckets;
	g.fillText(whole ? `${seconds(buckets * D.width)} \u2014 drag to select` : `${seconds(from * D.width)} \u2013 ${seconds(to * D.width)}`, 6, 12);
}
function range(a, b) {
	from = Math.max(0, Math.min(a, b));
	to = Math.min(buckets, Math.max(a, b, from + 1));
	timeline();
	rebuild();
}
function drag() {
	const canvas = $('timeline');
	let start = -1;
	const bucket = e => Math.floor((e.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth * buckets);
	canvas.addEventListener('pointerdown', e => { start = bucket(e); canvas.setPointerCapture(e.pointerId); });
	canvas.addEventListener('pointermove', e => {
		if (start < 0) return;
		const b = bucket(e);
		from = Math.max(0, Math.min(start, b)); to = Math.min(buckets, Math.max(start, b) + 1);
		timeline();
	});
	canvas.addEventListener('pointerup', e => {
		const b = bucket(e), a = start;
		start = -1;
		if (a === b) range(0, buckets);
		else range(Math.min(a, b), Math.max(a, b) + 1);
	});
}
function setThread(n) {
	thread = n;
	$('thread').value = String(n);
	timeline();
	rebuild();
}
function reverse() {
	reversed = !reversed;
	root = 0;
	$('reverse').setAttribute('aria-pressed', reversed);
	rebuild();
}
const spacer = el('div', {});
function setWide(n) {
	wide = n;
	$('wide').value = String(n);
	rebuild();
}
/* The controls of a difference, and what the colours mean. */
function legend() {
	const mark = (n, text) => [el('i', { class: 'key key' + n }), text + ' '];
	$('thread').after(el('select', { id: 'wide', 'aria-label': 'Widths', onchange: e => setWide(+e.target.value) }, ['Widths: base', 'Widths: new', 'Widths: both'].map((t, i) => el('option', { value: i }, t))));
	$('wide').value = wide;
	$('timeline').after(el('div', { id: 'legend' }, mark(0, D.verdicts[1]), mark(1, D.verdicts[0]), '(full colour from four times on) ', mark(2, D.exact ? D.verdicts[SAME] : `chance could have made the difference: of the coloured frames, at most ${100 * D.false} % are expected to be wrong`)));
}
function threads() {
	const totals = new Float64Array(D.threads.length);
	for (let i = 0; i < samples.n.length; i++) totals[samples.t[i]] += samples.c[i];
	const order = [...totals.keys()].sort((a, b) => totals[b] - totals[a]), all = totals.reduce((a, b) => a + b, 0);
	$('thread').append(el('option', { value: -1 }, `All threads (${count(D.threads.reduce((a, t) => a + t[3], 0))})`));
	for (const t of order) {
		const [pid, tid, comm, together] = D.threads[t];
		$('thread').append(el('option', { value: t }, `${pct(totals[t] / all)} %  ${comm}${tid ? ` (${pid}/${tid})` : together > 1 ? ` (${count(together)} threads)` : ''}`));
	}
	$('thread').hidden = order.length < 2;
	$('thread').addEventListener('change', e => setThread(+e.target.value));
}
function start() {
	const box = $('flamebox');
	if (compared) legend(); else threads();
	if (compared) $('thread').hidden = true;
	$('timeline').hidden = buckets < 2;
	box.append(spacer);
	$('reverse').addEventListener('click', reverse);
	$('unzoom').addEventListener('click', () => zoom(0));
	box.addEventListener('scroll', draw);
	box.addEventListener('focus', draw);
	box.addEventListener('blur', draw);
	box.addEventListener('mousemove', e => {
		const b = at(e);
		if ((b ? b.i : -1) !== over) { over = b ? b.i : -1; draw(); }
		status(over);
		tip(e.clientX, e.clientY, b && describe(b.i), b && nameOf(tree.f[b.i]));
	});
	box.addEventListener('mouseleave', () => { over = -1; tip(0, 0); draw(); status(-1); });
	box.addEventListener('click', e => { const b = at(e); box.focus(); if (b) zoom(b.i); });
	box.addEventListener('dblclick', e => { const b = at(e); if (b) annotate(b.i); });
	drag();
	rebuild();
	status(-1);
}
function annotate(i) {
	while (!reversed && i && D.funcs[tree.f[i]][2] === 3) i = tree.p[i]; /* inlined code is in the listing of its procedure */
	const f = tree.f[i];
	if (f >= 0 && window.openListing) openListing(D.funcs[f][0], D.images[D.funcs[f][1]]);
}
views.flame = {
	title: 'Flame graph', hidden: D.flat || !(compared || samples.n.length), start,
	show() { if (!compared) timeline(); layout(); $('flamebox').focus(); },
	resize() { if (!compared) timeline(); layout(); },
	search: draw,
	reset() { if (root) zoom(0); else if (!compared) range(0, buckets); },
	/* For tests, and for who looks from the console. */
	get info() { return { nodes: tree.p.length, root, rootName: nameOf(tree.f[root]), total: tree.all[0], drawn: drawn.length, reversed, thread, from, to, matched: $('matched').textContent, wide }; },
	colourOf(name) { const b = drawn.find(x => nameOf(tree.f[x.i]) === name); return b && colour(b.i); },
	zoomTo(name) { const b = drawn.find(x => nameOf(tree.f[x.i]) === name); if (b) zoom(b.i); return !!b; },
	keys: {
		i: reverse,
		...(compared ? { w() { setWide((wide + 1) % 3); } } : {
			t() { const o = [...$('thread').options]; if (o.length > 2) setThread(+o[(o.findIndex(x => x.selected) + 1) % o.length].value); },
			a() { annotate(cursor); },
			'[': () => range(from + Math.ceil(buckets / 20), Math.max(to, from + Math.ceil(buckets / 20) + 1)),
			']': () => range(from, to - Math.ceil(buckets / 20)),
		}),
		ArrowUp: () => move('ArrowUp'), ArrowDown: () => move('ArrowDown'), ArrowLeft: () => move('ArrowLeft'), ArrowRight: () => move('ArrowRight'),
		Enter: () => zoom(cursor), '+': () => zoom(cursor), '-': () => zoom(tree.p[root]),
	},
	help: [['\u2190 \u2191 \u2193 \u2192', 'move between frames'], ['Enter +', 'zoom in'], ['-', 'zoom out'], ['Esc', 'whole graph, then whole time'], ['i', 'reversed: from where samples are to their callers'], 
		...(compared ? [['w', 'widths: base, new, both']] : [['t', 'next thread'], ['[ ]', 'begin later, end earlier'], ['a', 'annotate']])],
};
})();
