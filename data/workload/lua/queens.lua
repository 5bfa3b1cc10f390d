-- Counts the ways to set n queens on a board, and prints the first one: recursion and integers.
local size = 7
local columns, falling, rising, place = {}, {}, {}, {}
local count, first = 0, nil

local function try(row)
  if row > size then
    count = count + 1
    first = first or table.concat(place, " ")
    return
  end
  for column = 1, size do
    local f, r = row + column, row - column
    if not (columns[column] or falling[f] or rising[r]) then
      columns[column], falling[f], rising[r] = true, true, true
      place[row] = column
      try(row + 1)
      columns[column], falling[f], rising[r] = nil, nil, nil
    end
  end
end

try(1)
print(size .. " queens: " .. count .. " ways, the first: " .. first)
