-- Writes a tree of values as JSON, reads it again and compares: strings, coroutines, error handling.
local seed = 42
local function draw(below)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % below
end

local function grow(depth)
  local kind = depth == 0 and draw(3) or draw(5)
  if kind == 0 then
    return draw(100000) - 50000
  elseif kind == 1 then
    return draw(2) == 0
  elseif kind == 2 then
    return ("\"x\\\n" .. draw(1000)):rep(draw(3))
  end
  local list = {}
  for i = 1, 1 + draw(5) do
    list[i] = grow(depth - 1)
  end
  return list
end

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n" }
local function write(value)
  if type(value) == "table" then
    local parts = {}
    for i, each in ipairs(value) do
      parts[i] = write(each)
    end
    return "[" .. table.concat(parts, ",") .. "]"
  elseif type(value) == "string" then
    return '"' .. value:gsub('["\\\n]', escapes) .. '"'
  end
  return tostring(value)
end

local function tokens(text)
  return coroutine.wrap(function()
    local at = 1
    while at <= #text do
      local first, last = text:find("^-?%d+", at)
      if not first then
        first, last = text:find("^%a+", at)
      end
      if not first and text:sub(at, at) == '"' then
        last = at
        repeat
          last = text:find('["\\]', last + 1)
          local is_escape = text:sub(last, last) == "\\"
          if is_escape then
            last = last + 1
          end
        until not is_escape
        first = at
      end
      last = last or at
      coroutine.yield(text:sub(at, last))
      at = last + 1
    end
  end)
end

local unescapes = { ['\\"'] = '"', ["\\\\"] = "\\", ["\\n"] = "\n" }
local function read(next_token, token)
  if token == "[" then
    local list = {}
    repeat
      list[#list + 1] = read(next_token, next_token())
      local mark = next_token()
      assert(mark == "," or mark == "]", "expected `,` or `]`")
    until mark == "]"
    return list
  elseif token == "true" or token == "false" then
    return token == "true"
  elseif token:sub(1, 1) == '"' then
    return (token:sub(2, -2):gsub('\\.', unescapes))
  end
  return math.tointeger(tonumber(token)) or error("found `" .. token .. "`", 0)
end

local total = 0
for round = 1, 12 do
  local text = write(grow(4))
  local next_token = tokens(text)
  assert(write(read(next_token, next_token())) == text)
  total = total + #text
  print(round, #text, text:sub(1, 40):gsub("\n", " "))
end
print(total .. " bytes", pcall(read, nil, "?"))
