-- SPDX-License-Identifier: MIT
-- What bench/pgo evaluates Lua on: objects, closures, coroutines, patterns, garbage, errors, loading code.
local Shape = {} Shape.__index = Shape
function Shape.new(w, h) return setmetatable({ w = w, h = h }, Shape) end
function Shape:area() return self.w * self.h end
local Square = setmetatable({}, { __index = Shape }) Square.__index = Square
function Square.new(w) return setmetatable({ w = w, h = w }, Square) end
Shape.__add = function(a, b) return Shape.new(a.w + b.w, a.h + b.h) end
Shape.__eq = function(a, b) return a.w == b.w end
local sum, acc = 0, Shape.new(0, 0)
for i = 1, 60000 do
	local s = i % 2 == 0 and Square.new(i) or Shape.new(i, 2)
	sum = sum + s:area()
	if i % 2 == 1 then acc = acc + s end
end
print(sum, acc.w)
local function numbers(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
local total = 0
for i in numbers(60000) do total = total + i end
print(total)
local text = string.rep("The quick brown fox, jumps over the lazy dog; 0x1F and 42 times. ", 300)
print((text:gsub("%a+", function(w) return w:upper():reverse() end)):len())
print(select(2, text:gsub("(%w+)%s+(%w+)", "%2 %1")))
local found = 0
local from = 1
while true do
	local a, b = text:find("0x%x+", from)
	if not a then break end
	found, from = found + 1, b + 1
end
print(found, text:byte(10, 14))
local queens = 0
local function place(row, cols, d1, d2, n)
	if row > n then queens = queens + 1 return end
	for c = 1, n do
		if not (cols[c] or d1[row + c] or d2[row - c + n]) then
			cols[c], d1[row + c], d2[row - c + n] = true, true, true
			place(row + 1, cols, d1, d2, n)
			cols[c], d1[row + c], d2[row - c + n] = nil, nil, nil
		end
	end
end
place(1, {}, {}, {}, 7)
print(queens)
local caught = 0
for i = 1, 8000 do
	local ok = pcall(function() if i % 3 == 0 then error({ code = i }) end return i // 7 | i << 2 end)
	if not ok then caught = caught + 1 end
end
print(caught)
for i = 1, 400 do
	local f = load("local a, b = ... ; local t = {a, b, x = a .. b} ; for k, v in pairs(t) do a = a .. tostring(v) end return #a + " .. i)
	total = total + f("p", "q" .. i)
end
print(total)
local tree
local function build(d) if d == 0 then return {} end return { build(d - 1), build(d - 1) } end
for i = 1, 6 do tree = build(12) end
local function count(t) return t[1] and 1 + count(t[1]) + count(t[2]) or 1 end
print(count(tree), string.pack("<i4z", 77, "abc"):len(), utf8.len("äöü"))
table.insert(parts or {}, 1)
local q = {}
for i = 1, 20000 do q[#q + 1] = i if #q > 50 then table.remove(q, 1) end end
print(#q, table.unpack(q, 1, 3))
