/* SPDX-License-Identifier: MIT */
/* Data, text and state that all views share. Text from the recording only ever becomes text: textContent, fillText. */
'use strict';
const D = JSON.parse(document.getElementById('data').textContent);
for (const l of D.listings || []) for (const r of l.rows) {
	r.s = r.s || 0; r.n = r.n || 0;
	r.v = (r.v || []).map(([name, known, address, values]) => ({ name, known, address, values }));
	if (r.dy) r.dy = { cycles: r.dy[0], unexplained: r.dy[1], culprits: r.dy[2].map(([culprit, min, max, expected, fault, store]) => ({ culprit, min, max, expected, fault, store })) };
}
const $ = id => document.getElementById(id);
const views = {};
const state = { view: 'procs', query: '' };

function el(tag, attrs, ...kids) {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(attrs || {})) {
		if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
		else if (k === 'class') e.className = v;
		else if (k === 'style') for (const [p, x] of Object.entries(v)) e.style.setProperty(p, x);
		else if (v !== null && v !== undefined) e.setAttribute(k, v);
	}
	for (const kid of kids.flat(Infinity)) if (kid !== null && kid !== undefined) e.append(kid);
	return e;
}
function svg(tag, attrs, ...kids) {
	const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
	for (const [k, v] of Object.entries(attrs || {})) e.setAttribute(k, v);
	e.append(...kids);
	return e;
}
const count = n => Math.round(n).toLocaleString('en-US');
const pct = x => { const p = 100 * x; return p >= 99.95 ? '100' : p >= 9.995 ? p.toFixed(1) : p >= 0.095 || p === 0 ? p.toFixed(p ? 1 : 0) : p >= 0.005 ? p.toFixed(2) : '<0.01'; };
function short(n) {
	for (const [by, unit] of [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
		if (n >= by) return (n / by).toFixed(n >= 100 * by ? 0 : 1) + unit;
	return n >= 10 || n === Math.round(n) ? n.toFixed(0) : n.toFixed(1);
}
function seconds(ms) {
	return ms >= 1e3 ? (ms / 1e3).toFixed(ms >= 1e5 ? 0 : 2) + ' s' : ms >= 1 ? ms.toFixed(ms >= 100 ? 0 : 1) + ' ms' : (1e3 * ms).toFixed(0) + ' \u00b5s';
}
/* What the page lacks of a view, because of its size. */
const lacks = view => (D.notes || []).filter(n => !view || n[0] === view || !n[0]).map(n => n[1]).join(' ');
const unit = D.exact ? 'instructions' : 'samples';
const dark = () => document.documentElement.dataset.theme === 'dark';
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
function hash(s) {
	let h = 2166136261;
	for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
	return h >>> 0;
}
const matches = (name, query) => query !== '' && name.toLowerCase().includes(query.toLowerCase());

/* The name with what was searched for marked. */
function marked(name) {
	const at = state.query ? name.toLowerCase().indexOf(state.query.toLowerCase()) : -1;
	if (at < 0) return [name];
	return [name.slice(0, at), el('mark', {}, name.slice(at, at + state.query.length)), name.slice(at + state.query.length)];
}

/* Canvases in the pixels of the screen. */
function fit(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(height * ratio);
	canvas.style.height = height + 'px';
	const g = canvas.getContext('2d');
	g.setTransform(ratio, 0, 0, ratio, 0, 0);
	return g;
}

function tip(x, y, text, head) {
	const t = $('tip');
	t.hidden = !text && !head;
	if (t.hidden) return;
	t.replaceChildren(head ? el('b', {}, head) : '', head && text ? '\n' : '', text || '');
	const box = t.getBoundingClientRect();
	t.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + 'px';
	t.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 8 : y + 18) + 'px';
}
