-- Conway's game of life on a torus, from a seed: tables of tables.
local width, height, rounds = 32, 16, 6
local seed = 20061023
local function draw(below)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % below
end

local world = {}
for y = 1, height do
  world[y] = {}
  for x = 1, width do
    world[y][x] = draw(3) == 0 and 1 or 0
  end
end
for _ = 1, rounds do
  local after = {}
  for y = 1, height do
    local up, here, down = world[(y - 2) % height + 1], world[y], world[y % height + 1]
    local row = {}
    for x = 1, width do
      local l, r = (x - 2) % width + 1, x % width + 1
      local near = up[l] + up[x] + up[r] + here[l] + here[r] + down[l] + down[x] + down[r]
      row[x] = (near == 3 or near == 2 and here[x] == 1) and 1 or 0
    end
    after[y] = row
  end
  world = after
end
for y = 1, height do
  print((table.concat(world[y]):gsub(".", { ["0"] = ".", ["1"] = "#" })))
end
