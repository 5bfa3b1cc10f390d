-- Reads the first 2400 numbers of a file, keeps objects with methods, and prints their statistics: metatables, closures, floating point.
local Series = {}
Series.__index = Series

function Series.new(name)
  return setmetatable({ name = name, count = 0, sum = 0.0, squares = 0.0 }, Series)
end

function Series:add(value)
  self.count = self.count + 1
  self.sum = self.sum + value
  self.squares = self.squares + value * value
  self.least = math.min(self.least or value, value)
  self.most = math.max(self.most or value, value)
end

function Series:__tostring()
  local mean = self.sum / self.count
  local variance = self.squares / self.count - mean * mean
  return string.format("%-8s %5d values, %g to %g, mean %.3f, deviation %.3f", self.name, self.count, self.least,
    self.most, mean, variance ^ 0.5)
end

local function differences(next_value)
  local before
  return function()
    local value = next_value()
    if value == nil then
      return nil
    end
    local difference = before and value - before or 0
    before = value
    return value, difference
  end
end

local raw, steps = Series.new("samples"), Series.new("steps")
local file = assert(io.open(arg[1]))
for value, difference in differences(function()
  return file:read("n")
end) do
  raw:add(value)
  steps:add(difference)
  if raw.count == 2400 then
    break
  end
end
print(raw)
print(steps)
