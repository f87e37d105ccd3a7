-- SPDX-License-Identifier: MIT
-- What bench/pgo trains Lua on: numbers, tables, strings, sorting.
local n = 60000
local t = {}
local seed = 42
local function random()
	seed = (seed * 1103515245 + 12345) % 2147483648
	return seed
end
for i = 1, n do t[i] = random() % 100000 end
table.sort(t)
table.sort(t, function(a, b) return a > b end)
local words = {}
for i = 1, n do
	local w = "w" .. (t[i] % 997)
	words[w] = (words[w] or 0) + 1
end
local parts = {}
for w, c in pairs(words) do parts[#parts + 1] = string.format("%s=%d", w, c) end
local s = table.concat(parts, ",")
local k = 0
for name, count in s:gmatch("(%w+)=(%d+)") do k = k + tonumber(count) end
local function fib(x) if x < 2 then return x end return fib(x - 1) + fib(x - 2) end
print(k, fib(25))
local x, y = 0.0, 0.0
for i = 1, 600000 do
	x = x + math.sin(i) * 0.5
	y = y + (x * x) % 3.7
end
print(x, y)
local sieve = {}
for i = 2, 300000 do sieve[i] = true end
for i = 2, 547 do
	if sieve[i] then for j = i * i, 300000, i do sieve[j] = false end end
end
local primes = 0
for i = 2, 300000 do if sieve[i] then primes = primes + 1 end end
print(primes)
