-- Counts the words of a text and prints the most frequent: patterns, tables of strings, sorting.
local counts, list = {}, {}
for line in io.lines(arg[1]) do
  for word in line:lower():gmatch("%a+") do
    if not counts[word] then
      counts[word] = 0
      list[#list + 1] = word
    end
    counts[word] = counts[word] + 1
  end
end
table.sort(list, function(a, b)
  if counts[a] ~= counts[b] then
    return counts[a] > counts[b]
  end
  return a < b
end)
print(#list .. " words")
for i = 1, math.min(40, #list) do
  print(string.format("%5d %s", counts[list[i]], list[i]))
end
